package main

import (
	"testing"
)

func TestWhatIsMoreThanItWasIsSaid(t *testing.T) {
	was := state{goroutines: 20, files: 12, memory: 30 << 20, children: 2}
	for name, c := range map[string]struct {
		change func(*state)
		want   string
	}{
		"the same":           {func(*state) {}, ""},
		"less":               {func(s *state) { s.goroutines, s.files, s.memory, s.children = 1, 1, 1, 1 }, ""},
		"a zombie":           {func(s *state) { s.zombies = 1 }, "there are zombies"},
		"a goroutine":        {func(s *state) { s.goroutines++ }, "there are more goroutines"},
		"a file":             {func(s *state) { s.files++ }, "there are more open files"},
		"a child":            {func(s *state) { s.children++ }, "there are more child processes"},
		"a little memory":    {func(s *state) { s.memory += 6 << 20 }, ""},
		"memory":             {func(s *state) { s.memory += 7 << 20 }, "it uses more memory"},
		"little of a little": {func(s *state) { s.memory = was.memory + 4<<20 }, ""},
	} {
		now := was
		c.change(&now)
		if got := now.beyond(was); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
