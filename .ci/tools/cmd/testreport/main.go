// Command testreport reads the output of `go test -json` and prints a summary
// for people: each package's result line, the output of failed tests, and
// finally the number of tests on a line of its own.
//
// It exits with status 1 if a test failed, if no test ran, or if the stream
// ends before all packages have ended.
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
	// ImportPath replaces Package in the output of a build.
	ImportPath string
}

// key identifies a test, or a package if test is empty.
type key struct{ pkg, test string }

type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	output                  map[key][]string // of unfinished tests and packages
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

// hear buffers a test's output until its result is known. A package's result
// line is printed at once.
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
			// The package failed although none of its tests did: it did not
			// compile, or its TestMain failed.
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

// close prints the number of tests, even if none ran.
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
