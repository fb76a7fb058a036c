package transport

import (
	"slices"
	"sync"
	"time"
)

// idleConns are the connections that no call uses. There are never more of
// them than calls have been under way at one time, since a call opens one only
// where none idles. The zero value is ready to use.
type idleConns struct {
	mu     sync.Mutex
	conns  []*plainConn // the longest idle first
	reaper *time.Timer  // set while any may idle
	renews int64        // how often they were renewed
}

// epoch is that of the connections that are opened now.
func (i *idleConns) epoch() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.renews
}

// renew closes them all, and those that are in use once they are not.
func (i *idleConns) renew() {
	i.mu.Lock()
	i.renews++
	i.mu.Unlock()
	i.drop()
}

// take returns the connection that idles for the shortest time and still
// stands, nil where there is none.
func (i *idleConns) take() *plainConn {
	for {
		c := i.last()
		if c == nil || time.Since(c.idleSince) < idlePatience && c.until.After(time.Now()) && quiet(c.Conn) {
			return c
		}
		_ = c.Close() // it is too old, or the endpoint closed it or said something that was not asked for
	}
}

func (i *idleConns) last() *plainConn {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := len(i.conns) - 1
	if n < 0 {
		return nil
	}
	c := i.conns[n]
	i.conns = slices.Delete(i.conns, n, n+1)
	return c
}

// keep lets a connection idle, unless it is too old or was opened before the
// latest renewal.
func (i *idleConns) keep(c *plainConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c.idleSince = time.Now()
	if c.epoch != i.renews || !c.until.After(c.idleSince) {
		_ = c.Close() // nobody uses it
		return
	}
	i.conns = append(i.conns, c)
	if i.reaper == nil {
		i.reaper = time.AfterFunc(idlePatience, i.reap)
	}
}

// reap closes the connections that nobody took in time.
func (i *idleConns) reap() {
	i.mu.Lock()
	defer i.mu.Unlock()
	young := 0
	for young < len(i.conns) && time.Since(i.conns[young].idleSince) >= idlePatience {
		_ = i.conns[young].Close() // nobody uses it
		young++
	}
	i.conns = slices.Delete(i.conns, 0, young)
	if len(i.conns) == 0 {
		i.reaper = nil
		return
	}
	i.reaper.Reset(idlePatience - time.Since(i.conns[0].idleSince))
}

// drop closes them all.
func (i *idleConns) drop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.conns {
		_ = c.Close() // nobody uses it
	}
	i.conns = nil
}
