package agentproc

import (
	"bufio"
	"errors"
	"io"
)

// lines reads lines up to a length limit, and continues after longer ones (A7).
type lines struct {
	in  *bufio.Reader
	max int
}

func newLines(in io.Reader, maxBytes int) *lines {
	return &lines{in: bufio.NewReader(in), max: maxBytes}
}

// next returns the next line without its newline. If the line is over the
// limit, text is nil and long holds what could be learned of it. An
// unterminated last line is dropped.
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
