package transport

import (
	"slices"
	"sync"
	"time"
)

// idleConns are the connections that no call uses. They are never more than the
// largest number of concurrent calls so far, since a call opens a connection
// only if none is idle. The zero value is ready to use.
type idleConns struct {
	mu     sync.Mutex
	conns  []*plainConn // longest idle first
	reaper *time.Timer  // set while a connection may be idle
	renews int64        // incremented by renew
}

// epoch returns the epoch for connections that are opened now.
func (i *idleConns) epoch() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.renews
}

// renew closes all idle connections. Those in use are closed when they are
// returned.
func (i *idleConns) renew() {
	i.mu.Lock()
	i.renews++
	i.mu.Unlock()
	i.drop()
}

// take returns the most recently used connection that is still usable, or nil
// if there is none.
func (i *idleConns) take() *plainConn {
	for {
		c := i.last()
		if c == nil || time.Since(c.idleSince) < idlePatience && c.until.After(time.Now()) && quiet(c.Conn) {
			return c
		}
		_ = c.Close() // too old, closed by the endpoint, or with unsolicited bytes
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

// keep makes a connection idle, or closes it if it is too old or was opened
// before the latest renew.
func (i *idleConns) keep(c *plainConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c.idleSince = time.Now()
	if c.epoch != i.renews || !c.until.After(c.idleSince) {
		_ = c.Close() // unused
		return
	}
	i.conns = append(i.conns, c)
	if i.reaper == nil {
		i.reaper = time.AfterFunc(idlePatience, i.reap)
	}
}

// reap closes the connections that were idle for idlePatience.
func (i *idleConns) reap() {
	i.mu.Lock()
	defer i.mu.Unlock()
	young := 0
	for young < len(i.conns) && time.Since(i.conns[young].idleSince) >= idlePatience {
		_ = i.conns[young].Close() // unused
		young++
	}
	i.conns = slices.Delete(i.conns, 0, young)
	if len(i.conns) == 0 {
		i.reaper = nil
		return
	}
	i.reaper.Reset(idlePatience - time.Since(i.conns[0].idleSince))
}

// drop closes all idle connections.
func (i *idleConns) drop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.conns {
		_ = c.Close() // unused
	}
	i.conns = nil
}
