package transport

import (
	"os"
	"strings"
	"testing"
)

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
			var l tail
			l.add([]byte(c.said))
			if got := l.String(); got != c.want {
				t.Errorf("shown as %s, want %s", got, c.want)
			}
		})
	}
}

func TestT3_TheTailIsBoundedHoweverItIsShown(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"exactly as much":                {strings.Repeat("x", tailKept), strings.Repeat("x", tailKept)},
		"one byte more":                  {"a" + strings.Repeat("x", tailKept), "…" + strings.Repeat("x", tailKept)},
		"a character cut in two":         {"界" + strings.Repeat("x", tailKept-1), "…" + strings.Repeat("x", tailKept-1)},
		"escapes that take more room":    {strings.Repeat("\x00", tailKept), "…" + strings.Repeat(`\x00`, tailKept/4)},
		"and characters next to them":    {strings.Repeat("\x00界", tailKept/4), "…0界" + strings.Repeat(`\x00界`, tailKept/7)},
		"and nothing but broken letters": {strings.Repeat("\xbf", tailKept+1), "…"},
	} {
		t.Run(name, func(t *testing.T) {
			var l tail
			for _, b := range []byte(c.said) {
				l.add([]byte{b})
			}
			got := l.String()
			if len(got) > tailKept+len("…") {
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
	defer closeAll(r, w) // what holds the other end is a daemon
	if _, err := w.WriteString("no memory\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(longAgo()); err != nil {
		t.Fatal(err)
	}
	var l tail
	l.drain(r)
	if got := l.String(); got != "no memory" {
		t.Errorf("kept is %q", got)
	}
}

func TestATailThatWasResetIsEmpty(t *testing.T) {
	var l tail
	l.add([]byte(strings.Repeat("x", 2*tailKept)))
	l.reset()
	if got := l.after("exited"); got != "exited" {
		t.Errorf("said %s", got)
	}
	if got := l.detail(); got != "" {
		t.Errorf("detail %s", got)
	}
	l.add([]byte("oh"))
	if got := l.after("exited"); got != "exited: oh" {
		t.Errorf("said %s", got)
	}
}
