// Command testreport reads what `go test -json` says and prints what a person
// needs of it: each package's line, the output of what failed, and last the
// count of tests, alone on a line.
//
// It ends with status 1 where a test failed, where none ran, and where the
// stream ends before its packages did.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	s := newSummary(os.Stdout)
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// event is one line of the stream.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	// ImportPath stands in for Package in what a build says.
	ImportPath string
}

// key names a test, or a package where Test is empty.
type key struct{ pkg, test string }

type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[key][]string // of what is not finished
	open                    map[string]bool  // packages that have begun
	blamed                  map[string]bool  // packages with a failed test
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[key][]string{}, open: map[string]bool{}, blamed: map[string]bool{}}
}

func (s *summary) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("not a line of go test -json: %q", lines.Text())
		}
		s.take(e)
	}
	return lines.Err()
}

func (s *summary) take(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "start":
		s.open[e.Package] = true
	case "build-output":
		s.print(e.Output)
	case "output":
		s.hear(k, e.Output)
	case "pass", "fail", "skip":
		s.finish(k, e.Action)
	}
}

// hear keeps what a test says until it is known how the test ends. The lines
// with which a package ends are printed as they come.
func (s *summary) hear(k key, line string) {
	if k.test == "" && isResult(line) {
		s.print(line)
		return
	}
	s.output[k] = append(s.output[k], line)
}

func isResult(line string) bool {
	for _, start := range []string{"ok  \t", "FAIL\t", "?   \t"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

func (s *summary) finish(k key, how string) {
	said := s.output[k]
	delete(s.output, k)
	if k.test == "" {
		delete(s.open, k.pkg)
		if how == "fail" && !s.blamed[k.pkg] {
			// Nothing of it failed and still it did: it was not built, or its
			// TestMain found something.
			s.failed++
			s.print(strings.Join(said, ""))
		}
		return
	}
	switch how {
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
	case "fail":
		s.failed++
		s.blamed[k.pkg] = true
		s.print(strings.Join(said, ""))
	}
}

// close prints the count, which says 0 where nothing ran.
func (s *summary) close() error {
	line := fmt.Sprintf("%d passed, %d failed", s.passed, s.failed)
	if s.skipped > 0 {
		line += fmt.Sprintf(", %d skipped", s.skipped)
	}
	s.print(line + "\n")
	switch {
	case len(s.open) > 0:
		return fmt.Errorf("the stream ended before these did: %s", strings.Join(slices.Sorted(maps.Keys(s.open)), " "))
	case s.failed > 0:
		return errors.New("tests failed")
	case s.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

func (s *summary) print(text string) { _, _ = io.WriteString(s.out, text) }
