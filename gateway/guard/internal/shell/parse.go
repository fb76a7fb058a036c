package shell

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// The limits of what is read (S4).
const (
	// MaxText is the longest text that is read: the longest that Linux hands a
	// shell as one argument.
	MaxText = 128 << 10
	// maxFrames is how deep the parser's stack may grow. It recurses with the
	// nesting of the text and has no limit of its own.
	maxFrames = 1024
	// MaxDir is the longest name of a directory that commands are followed to:
	// no system opens a longer one.
	MaxDir = 4096
	// maxCommands is how many commands a script may have.
	maxCommands = 4096
	// maxScripts is how deep scripts may stand in scripts.
	maxScripts = 10
	// maxBraces is how many words the braces of one may make, and maxOpen how
	// many may be opened in it: to split them takes more than linear time.
	maxBraces = 256
	maxOpen   = 32
)

var (
	errNested  = errors.New("it is nested too deep")
	errDir     = fmt.Errorf("the name of a directory that it runs in is longer than %d bytes", MaxDir)
	errTooMany = fmt.Errorf("it has more than %d commands", maxCommands)
	errOpen    = fmt.Errorf("a word of it opens more than %d braces", maxOpen)
	errBraces  = fmt.Errorf("its braces make more than %d words of one", maxBraces)
)

// parse reads text as Bash, which is a superset of what other shells that
// agents use understand.
func parse(m *work.Meter, text string) (*syntax.File, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxText)
	}
	file, err := syntax.NewParser().Parse(&shallow{meter: m, text: strings.NewReader(text)}, "")
	switch {
	case m.Err() != nil:
		return nil, m.Err()
	case err != nil && !errors.Is(err, errNested):
		return nil, fmt.Errorf("the shell parser says: %w", err)
	}
	return file, err
}

// shallow ends the text once the parser that reads it has recursed too deep or
// must work no longer.
// The parser reads 1 KiB at a time from inside its recursion, so between two
// looks its stack can grow only by what 1 KiB of text can nest.
type shallow struct {
	meter *work.Meter
	text  *strings.Reader
}

// Read implements [io.Reader].
func (s *shallow) Read(p []byte) (int, error) {
	begun, more := int64(s.text.Len()) < s.text.Size(), s.text.Len() > 0
	if !s.meter.Spend(min(s.text.Len(), len(p))) {
		return 0, s.meter.Err()
	}
	var frame [1]uintptr
	if begun && more && runtime.Callers(maxFrames, frame[:]) > 0 {
		return 0, errNested
	}
	return s.text.Read(p)
}
