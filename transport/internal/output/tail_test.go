package output

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, to *Tail, said []byte) {
	t.Helper()
	if n, err := to.Write(said); n != len(said) || err != nil {
		t.Fatalf("it took %d bytes of %d: %v", n, len(said), err)
	}
}

func TestStderrIsShownOnOneLineWithoutTricks(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"nothing":            {"", ""},
		"blanks":             {" \r\n\t\u00a0\u2028", ""},
		"lines":              {"\nTraceback:\n  line 1\r\n\nKeyError: 'x'\n", "Traceback: line 1 KeyError: 'x'"},
		"colours":            {"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		"a carriage return":  {"error\rallow", "error allow"},
		"a bell and NUL":     {"a\a\x00b", `a\a\x00b`},
		"another direction":  {"a\u202eb", `a\u202eb`},
		"not UTF-8":          {"a\xff\xfeb", `a\xff\xfeb`},
		"another script":     {"Fehler: größer als ½ 界", "Fehler: größer als ½ 界"},
		"a quote":            {`it's "so"`, `it's "so"`},
		"a zero-width joint": {"a\u200bb", `a\u200bb`},
	} {
		t.Run(name, func(t *testing.T) {
			var l Tail
			write(t, &l, []byte(c.said))
			if got := l.String(); got != c.want {
				t.Errorf("shown as %s, want %s", got, c.want)
			}
		})
	}
}

func TestT3_TheTailIsBoundedHoweverItIsShown(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"exactly as much":                {strings.Repeat("x", Kept), strings.Repeat("x", Kept)},
		"one byte more":                  {"a" + strings.Repeat("x", Kept), "…" + strings.Repeat("x", Kept)},
		"a character cut in two":         {"界" + strings.Repeat("x", Kept-1), "…" + strings.Repeat("x", Kept-1)},
		"escapes that take more room":    {strings.Repeat("\x00", Kept), "…" + strings.Repeat(`\x00`, Kept/4)},
		"and characters next to them":    {strings.Repeat("\x00界", Kept/4), "…0界" + strings.Repeat(`\x00界`, Kept/7)},
		"and nothing but broken letters": {strings.Repeat("\xbf", Kept+1), "…"},
	} {
		t.Run(name, func(t *testing.T) {
			var l Tail
			for _, b := range []byte(c.said) {
				write(t, &l, []byte{b})
			}
			got := l.String()
			if len(got) > Kept+len("…") {
				t.Errorf("%d bytes", len(got))
			}
			if got != c.want {
				t.Errorf("shown as %s, want %s", got, c.want)
			}
		})
	}
}

func TestT3_WhatWasSaidBeforeItsTimeWasOverIsKept(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(r.Close(), w.Close()) }() // as if a daemon held the other end
	if _, err := w.WriteString("no memory\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	var l Tail
	l.Drain(r)
	if got := l.String(); got != "no memory" {
		t.Errorf("kept is %q", got)
	}
}

func TestATailThatWasResetIsEmpty(t *testing.T) {
	var l Tail
	write(t, &l, []byte(strings.Repeat("x", 2*Kept)))
	l.Reset()
	if got := l.After("exited"); got != "exited" {
		t.Errorf("said %s", got)
	}
	if got := l.Detail(); got != "" {
		t.Errorf("detail %s", got)
	}
	write(t, &l, []byte("oh"))
	if got := l.After("exited"); got != "exited: oh" {
		t.Errorf("said %s", got)
	}
}
