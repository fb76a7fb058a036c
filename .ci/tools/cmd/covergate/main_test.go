package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func profile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cover.out")
	text := "mode: atomic\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAGateIsHeldToTheStatement(t *testing.T) {
	most := []string{"example.test/a/x.go:1.1,2.2 9999 7", "example.test/a/y.go:3.1,4.2 1 0", "example.test/b/z.go:1.1,2.2 10 1"}
	for name, c := range map[string]struct {
		gate string
		want string // of the error; none if empty
	}{
		"one statement in ten thousand is missing": {"example.test/a=100", "below 100 %; not run:\n  example.test/a/y.go:3"},
		"enough is run":                   {"example.test/a=99", ""},
		"everything is run":               {"example.test/b=100", ""},
		"the package was not measured":    {"example.test/c=0", "knows no statement of it"},
		"the gate has no number":          {"example.test/a", "want PACKAGE=PERCENT"},
		"the gate asks for more than all": {"example.test/a=101", "want PACKAGE=PERCENT"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(&out, profile(t, most...), []string{c.gate})
			if c.want == "" && err != nil {
				t.Errorf("error %v, want none", err)
			}
			if c.want != "" && !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestAPlaceThatTwoTestBinariesRanCountsOnce(t *testing.T) {
	var out bytes.Buffer
	file := profile(t, "example.test/a/x.go:1.1,2.2 3 0", "example.test/a/x.go:1.1,2.2 3 1")
	if err := run(&out, file, []string{"example.test/a=100"}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "example.test/a: 3 of 3 statements run (100.00 %), 100 % asked\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestAProfileThatCannotBeReadHoldsNothing(t *testing.T) {
	for name, file := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "garbled": profile(t, "what?")} {
		if err := run(&bytes.Buffer{}, file, []string{"a=0"}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
