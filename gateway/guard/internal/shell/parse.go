package shell

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// Limits of the input (S4).
const (
	// MaxText is the longest text that is parsed, in bytes: the longest that
	// Linux passes to a shell as one argument.
	MaxText = 128 << 10
	// maxFrames limits the parser's stack. The parser recurses with the nesting
	// of the text and has no limit of its own.
	maxFrames = 1024
	// MaxDir is the longest directory name to which commands are followed, in
	// bytes: no system opens a longer one.
	MaxDir = 4096
	// maxCommands limits the commands of a script.
	maxCommands = 4096
	// maxScripts limits the nesting of scripts in scripts.
	maxScripts = 10
	// maxBraces limits the words that the braces of one word may produce, and
	// maxOpen the braces that it may open: splitting them takes more than
	// linear time.
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

// parse parses text as Bash, a superset of the other shells that agents use.
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

// shallow ends the text once the parser that reads it has recursed too deeply
// or the meter stops the work.
//
// The parser reads 1 KiB at a time from within its recursion, so between two
// checks the stack grows by at most what 1 KiB of text can nest.
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
