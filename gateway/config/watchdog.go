package config

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// readPatience is how long reading all files may take. What takes longer hangs
// in the kernel: a mount whose server is gone, or a file that is none, such as
// /proc/kmsg. Nothing can end that but the end of the process.
const readPatience = 10 * time.Second

// watchdog gives up what hangs, so that neither a start, a reload nor an end
// waits for it (F11). The zero value is ready to use.
type watchdog struct {
	mu sync.Mutex
	// hung is what was given up and may still go on.
	hung *attempt
}

// attempt is one reading of all files.
type attempt struct {
	done chan struct{}
	set  *Set
	err  error
	at   whereabouts
}

// whereabouts is the path that is being read.
type whereabouts struct{ path atomic.Pointer[string] }

// reads notes that a path is about to be read.
func (p *whereabouts) reads(path string) {
	if p != nil {
		p.path.Store(&path)
	}
}

// watchdogOf is the one of a set, another where there is none.
func watchdogOf(s *Set) *watchdog {
	if s == nil {
		return &watchdog{}
	}
	return s.watchdog
}

// do has files read for at most a while. While what was given up goes on it
// begins nothing else: there is one goroutine that hangs, not one for each
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

// stuck is the mistake of what cannot be read to its end. It says the same as
// long as it lasts.
func (a *attempt) stuck() Errors {
	file := "the configuration"
	if path := a.at.path.Load(); path != nil {
		file = *path
	}
	return Errors{{Position{File: file}, fmt.Sprintf("could not be read within %v: check that its mount responds and that it is a regular file", readPatience)}}
}
