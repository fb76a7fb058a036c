package config

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// readPatience is the deadline for reading all files. A read that takes longer
// hangs in the kernel: a mount whose server is gone, or a file without an end
// such as /proc/kmsg. Only the end of the process can stop it.
const readPatience = 10 * time.Second

// watchdog abandons reads that hang, so that no start, reload or shutdown waits
// for them (F11). The zero value is ready to use.
type watchdog struct {
	mu sync.Mutex
	// hung is the abandoned attempt, which may still be running.
	hung *attempt
}

// attempt is one read of all files.
type attempt struct {
	done chan struct{}
	set  *Set
	err  error
	at   whereabouts
}

// whereabouts records the path that is being read.
type whereabouts struct{ path atomic.Pointer[string] }

// reads records that a path is about to be read.
func (p *whereabouts) reads(path string) {
	if p != nil {
		p.path.Store(&path)
	}
}

// watchdogOf returns the watchdog of a set, or a new one for nil.
func watchdogOf(s *Set) *watchdog {
	if s == nil {
		return &watchdog{}
	}
	return s.watchdog
}

// do runs read with a deadline. While an abandoned read is still running it
// starts no other one, so that at most one goroutine hangs, not one for each
// reload.
func (w *watchdog) do(patience time.Duration, read func(*whereabouts) (*Set, error)) (*Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hung != nil {
		select {
		case <-w.hung.done:
			w.hung = nil
		default:
			return nil, w.hung.stuck()
		}
	}
	a := &attempt{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.set, a.err = read(&a.at)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-a.done:
		return a.set, a.err
	case <-timer.C:
		w.hung = a
		return nil, a.stuck()
	}
}

// stuck returns the error of a read that hangs. Its text stays the same while
// the read hangs.
func (a *attempt) stuck() Errors {
	file := "the configuration"
	if path := a.at.path.Load(); path != nil {
		file = *path
	}
	return Errors{{Position{File: file}, fmt.Sprintf("could not be read within %v: check that its mount responds and that it is a regular file", readPatience)}}
}
