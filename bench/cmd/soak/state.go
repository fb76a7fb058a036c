package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hookgate/hookgate/bench/internal/lab"
)

// state is the resource usage of a gateway.
type state struct {
	goroutines, files, memory, children, zombies int
}

func (s state) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.1f MB, %d children, %d zombies", s.goroutines, s.files, float64(s.memory)/1e6, s.children, s.zombies)
}

// beyond describes what exceeds was, "" if nothing does. Memory may exceed it
// by a fifth or 4 MB, because it is returned with a delay.
func (s state) beyond(was state) string {
	switch {
	case s.zombies > 0:
		return "there are zombies"
	case s.goroutines > was.goroutines:
		return "there are more goroutines"
	case s.files > was.files:
		return "there are more open files"
	case s.children > was.children:
		return "there are more child processes"
	case s.memory > was.memory+max(was.memory/5, 4<<20):
		return "it uses more memory"
	}
	return ""
}

// settled waits until the gateway uses no more than was or, if was is nil,
// until its usage is stable.
func (s *soak) settled(ctx context.Context, was *state) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settle)
	defer cancel()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	last, err := s.look(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			if was == nil {
				return last, fmt.Errorf("the gateway does not settle: %s", last)
			}
			return last, fmt.Errorf("%v after the last call %s than before\n%s", s.settle, last.beyond(*was), s.goroutines(context.WithoutCancel(ctx)))
		case <-tick.C:
		}
		now, lookErr := s.look(ctx)
		if lookErr != nil {
			return last, lookErr
		}
		quiet := was == nil && now.goroutines == last.goroutines && now.files == last.files && now.children == last.children && now.zombies == 0
		if quiet || (was != nil && now.beyond(*was) == "") {
			return now, nil
		}
		last = now
	}
	return last, err
}

// look measures the gateway after a garbage collection.
func (s *soak) look(ctx context.Context) (state, error) {
	var now state
	if _, err := lab.Ask(ctx, http.MethodGet, s.gateway.Admin+"/debug/pprof/heap?gc=1", ""); err != nil {
		return now, err
	}
	text, err := lab.Ask(ctx, http.MethodGet, s.gateway.Admin+"/debug/pprof/goroutine?debug=1", "")
	if err != nil {
		return now, err
	}
	head, _, _ := strings.Cut(string(text), "\n")
	if now.goroutines, err = strconv.Atoi(strings.TrimPrefix(head, "goroutine profile: total ")); err != nil {
		return now, fmt.Errorf("the goroutine profile begins with %q: %w", head, err)
	}
	if now.files, err = s.gateway.Files(); err != nil {
		return now, err
	}
	if now.memory, err = s.gateway.Memory(); err != nil {
		return now, err
	}
	now.children, now.zombies, err = s.gateway.Children()
	return now, err
}

// goroutines returns the stacks of the gateway's goroutines, for a report.
func (s *soak) goroutines(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := lab.Ask(ctx, http.MethodGet, s.gateway.Admin+"/debug/pprof/goroutine?debug=1", "")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
