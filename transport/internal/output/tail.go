package output

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Kept is how many of the last bytes of a program's stderr are kept.
const Kept = 2 << 10

// pipeHolds is the capacity of a pipe, unless the writer enlarged it.
const pipeHolds = 64 << 10

// Tail keeps the end of a program's stderr for the text of a failure (T3).
type Tail struct {
	// Hidden are secrets that must not be shown.
	Hidden *Secrets

	mu      sync.Mutex
	kept    []byte
	cut     bool // earlier output was discarded
	repeats bool // the output contained a secret
}

// Drain reads until EOF or until the file is closed. It always reads on, so
// that a program that writes a lot to stderr never blocks.
func (t *Tail) Drain(f *os.File) {
	buf := make([]byte, 2*Kept)
	for {
		n, err := f.Read(buf)
		_, _ = t.Write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.takeRest(f, buf)
		}
		if err != nil {
			return
		}
	}
}

// takeRest reads what is in the pipe when the deadline has passed, without
// waiting for more. On a busy machine that may be all of the output.
func (t *Tail) takeRest(f *os.File, buf []byte) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { // a closed file has no rest
		for range pipeHolds / len(buf) { // bounded, since a daemon that holds the pipe may keep writing
			n, err := syscall.Read(int(fd), buf)
			if n <= 0 && !errors.Is(err, syscall.EINTR) {
				return
			}
			_, _ = t.Write(buf[:max(n, 0)])
		}
	})
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(said []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, said...)
	t.repeats = t.repeats || t.Hidden.In(string(t.kept)) // before cutting: the rest of a secret would disclose it too
	if over := len(t.kept) - Kept; over > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[over:])]
		t.cut = true
	}
	return len(said), nil
}

// Reset discards the output of earlier calls.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.cut, t.repeats = t.kept[:0], false, false
}

// String is the tail on one line, at most Kept bytes of it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.repeats {
		return "what it wrote " + Repeats
	}
	kept, cut := t.kept, t.cut
	for cut && len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:] // the rest of a character that was cut in two
	}
	line := oneLine(kept)
	if over := len(line) - Kept; over > 0 {
		for !utf8.RuneStart(line[over]) {
			over++
		}
		line, cut = line[over:], true
	}
	if cut {
		line = "…" + line
	}
	return line
}

// After appends the tail to the text of a failure.
func (t *Tail) After(text string) string {
	if line := t.String(); line != "" {
		return text + ": " + line
	}
	return text
}

// Detail is the tail for a failure's Detail, or "" if it is empty.
func (t *Tail) Detail() string {
	if line := t.String(); line != "" {
		return "stderr: " + line
	}
	return ""
}

// oneLine returns text on one line: a run of white space becomes one space, and
// every character that a terminal would interpret or not show becomes its
// escape.
func oneLine(text []byte) string {
	var line strings.Builder
	gap := false
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if unicode.IsSpace(r) {
			gap = line.Len() > 0
			text = text[n:]
			continue
		}
		if gap {
			line.WriteByte(' ')
			gap = false
		}
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&line, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			line.Write(text[:n])
		default:
			line.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[n:]
	}
	return line.String()
}
