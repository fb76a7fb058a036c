package agentproc

import (
	"bufio"
	"errors"
	"io"
)

// lines reads lines of a bounded length and goes on behind those that are
// longer (A7).
type lines struct {
	in  *bufio.Reader
	max int
}

func newLines(in io.Reader, maxBytes int) *lines {
	return &lines{in: bufio.NewReader(in), max: maxBytes}
}

// next returns the next line without its end. Where it is longer than allowed,
// text is nil and long tells what it was about. A last line that does not end
// is none.
func (l *lines) next() (text []byte, long *idScanner, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		ended := err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, nil, err
		}
		if ended {
			part = part[:len(part)-1]
		}
		if long == nil && len(text)+len(part) > l.max {
			long = &idScanner{}
			long.write(text)
			text = nil
		}
		if long != nil {
			long.write(part)
		} else {
			text = append(text, part...)
		}
		if ended {
			return text, long, nil
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	text []byte
	max  int
}

// drain reads to the end of what can be read.
func (t *tail) drain(from io.Reader) {
	// Without a buffer of that size each turn would get one sixteen times as big.
	_, _ = io.CopyBuffer(t, from, make([]byte, t.max))
}

// Write implements [io.Writer].
func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if over := len(t.text) - t.max; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(text), nil
}
