package transport

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// overTCP returns both ends of a loopback connection.
func overTCP(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

func TestQuiet_SeesWhateverHappensToAnIdleConnection(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(ours, theirs net.Conn)
		want      bool
	}{
		"nothing":                       {func(_, _ net.Conn) {}, true},
		"its last deadline passed":      {func(ours, _ net.Conn) { _ = ours.SetDeadline(time.Unix(1, 0)) }, true},
		"the endpoint said something":   {func(_, theirs net.Conn) { _, _ = io.WriteString(theirs, "x") }, false},
		"the endpoint closed it":        {func(_, theirs net.Conn) { _ = theirs.Close() }, false},
		"the endpoint ended its half":   {func(_, theirs net.Conn) { (&hookConn{Conn: theirs}).endHalf() }, false},
		"the endpoint reset it":         {func(_, theirs net.Conn) { (&hookConn{Conn: theirs}).reset() }, false},
		"it said something and closed":  {func(_, theirs net.Conn) { _, _ = io.WriteString(theirs, "x"); _ = theirs.Close() }, false},
		"we closed it":                  {func(ours, _ net.Conn) { _ = ours.Close() }, false},
		"it died of a question of ours": {func(ours, theirs net.Conn) { (&hookConn{Conn: theirs}).reset(); _, _ = io.WriteString(ours, "x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := overTCP(t)
			if !quiet(ours) {
				t.Error("before that it was not quiet")
			}
			c.meanwhile(ours, theirs)
			eventually(t, "as it should be", func() bool { return quiet(ours) == c.want })
		})
	}
}

func TestQuiet_SeesTheSameWhereThereIsNoSocket(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(theirs net.Conn)
		want      bool
	}{
		"nothing":                     {func(net.Conn) {}, true},
		"the endpoint said something": {func(theirs net.Conn) { _, _ = io.WriteString(theirs, "x") }, false},
		"the endpoint closed it":      {func(theirs net.Conn) { _ = theirs.Close() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := memoryPipe()
			c.meanwhile(theirs)
			if got := quiet(ours); got != c.want {
				t.Errorf("quiet is %v, want %v", got, c.want)
			}
		})
	}
}

func TestQuiet_LooksWithoutTakingAnythingAway(t *testing.T) {
	ours, theirs := overTCP(t)
	_, _ = io.WriteString(theirs, "answer")
	eventually(t, "it came", func() bool { return !quiet(ours) })
	got := make([]byte, 6)
	if _, err := io.ReadFull(ours, got); err != nil || string(got) != "answer" {
		t.Errorf("read %q, %v", got, err)
	}
	if !quiet(ours) {
		t.Error("it is not quiet again")
	}
}

func TestQuiet_RefusesWhatItCannotLookAt(t *testing.T) {
	if quiet(&net.TCPConn{}) {
		t.Error("a connection that is none is quiet")
	}
}

// idler puts connections into idleConns and tracks which are closed.
type idler struct {
	set   idleConns
	conns []*actingConn
}

func (i *idler) keep() *plainConn {
	ours, _ := memoryPipe()
	a := &actingConn{Conn: ours}
	i.conns = append(i.conns, a)
	c := newPlainConn(a, i.set.epoch(), time.Now().Add(time.Hour))
	i.set.keep(c)
	return c
}

func (i *idler) closed() (which []int) {
	for n, c := range i.conns {
		if c.closed.Load() {
			which = append(which, n)
		}
	}
	return which
}

func TestIdleConns_AreClosedEachInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i idler
		began := time.Now()
		var got []time.Duration
		watch := func(until time.Duration) {
			for time.Since(began) < until {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				for len(got) < len(i.closed()) {
					got = append(got, time.Since(began))
				}
			}
		}
		i.keep()
		watch(time.Second)
		i.keep()
		i.keep()
		watch(2 * time.Second)
		i.set.keep(i.set.take()) // used in the meantime
		watch(20 * time.Second)
		i.keep() // after a time without idle connections
		watch(30 * time.Second)
		want := []time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, 24 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("closed after (-want +got):\n%s", diff)
		}
	})
}

func TestIdleConns_GivesTheYoungestAndNoneThatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i idler
		old, young := i.keep(), i.keep()
		old.idleSince = time.Now().Add(-idlePatience) // expired, but not reaped yet
		if got := i.set.take(); got != young {
			t.Errorf("took %p, want the youngest %p", got, young)
		}
		if got := i.set.take(); got != nil {
			t.Errorf("took %p, want none", got)
		}
		if diff := cmp.Diff([]int{0}, i.closed()); diff != "" {
			t.Errorf("closed (-want +got):\n%s", diff)
		}
	})
}

func TestIdleConns_DropClosesThoseOfTheMomentAndOthersMayFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i idler
		i.set.drop() // without connections
		i.keep()
		i.keep()
		i.set.drop()
		if diff := cmp.Diff([]int{0, 1}, i.closed()); diff != "" {
			t.Errorf("closed (-want +got):\n%s", diff)
		}
		time.Sleep(time.Second)
		i.keep()
		for _, c := range []struct {
			after time.Duration
			want  []int
		}{
			{idlePatience - 1, []int{0, 1}}, {1, []int{0, 1, 2}},
		} {
			time.Sleep(c.after)
			synctest.Wait()
			if diff := cmp.Diff(c.want, i.closed()); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
		}
	})
}
