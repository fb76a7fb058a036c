package guard

import (
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// change is a file that a command would change.
type change struct {
	word  shell.Word
	place string
	how   reach
}

func changingWords() []string {
	return []string{
		">", "tee", "touch", "truncate", "rm", "unlink", "shred", "chmod", "chown", "chgrp", "install", "ln", "cp", "mv", "rsync",
		"dd", "sed", "perl", "patch", "curl", "wget",
	}
}

// changes are the files that a program changes which is known to change files.
// Redirections are not among them. They are made one at a time: together they
// may be much longer than the command.
func changes(c shell.Command) iter.Seq[change] {
	switch c.Name {
	case "tee", "touch", "truncate", "unlink", "shred":
		return each(c, argumentsOf(c.Args, "-s", "-r", "-d", "-n").operands, exactly)
	case "rm":
		return each(c, argumentsOf(c.Args).operands, whole)
	case "chmod", "chown", "chgrp":
		return each(c, argumentsOf(c.Args).operands, exactly)
	case "sed", "perl":
		if args := argumentsOf(c.Args, "-e", "-f"); args.short("i") || args.long("in-place") {
			return each(c, args.operands, exactly)
		}
	case "cp", "mv", "ln", "install", "rsync":
		return copies(c)
	case "dd":
		for _, w := range c.Args {
			if target, ok := strings.CutPrefix(w.Text, "of="); ok {
				return each(c, []shell.Word{{Text: target}}, exactly)
			}
		}
	case "curl", "wget":
		return downloads(c)
	}
	return each(c, nil, exactly)
}

func each(c shell.Command, words []shell.Word, how reach) iter.Seq[change] {
	return func(yield func(change) bool) {
		for _, w := range words {
			if !yield(change{w, placeOf(c, w).path, how}) {
				return
			}
		}
	}
}

// copies are the files that a copy or a move makes, and those that a move takes
// away. The last operand may be a directory that the others go into.
func copies(c shell.Command) iter.Seq[change] {
	args := argumentsOf(c.Args, "-t", "--target-directory", "-m", "-o", "-g", "-S", "-e")
	sources := args.operands
	target := shell.Word{}
	if at := optionAt(c.Args, "-t", "--target-directory"); at > 0 {
		target = c.Args[at]
	} else if len(sources) > 1 {
		target, sources = sources[len(sources)-1], sources[:len(sources)-1]
	}
	if target.Text == "" {
		return each(c, nil, exactly)
	}
	into := placeOf(c, target).path
	return func(yield func(change) bool) {
		if !yield(change{target, into, exactly}) {
			return
		}
		for _, w := range sources {
			if !yield(change{target, shell.Join(into, path.Base(w.Text)), exactly}) {
				return
			}
		}
		if c.Name == "mv" {
			each(c, sources, whole)(yield)
		}
	}
}

// optionAt returns where the value of an option stands, 0 where it is not
// given.
func optionAt(words []shell.Word, names ...string) int {
	for i := range len(words) - 1 {
		if slices.Contains(names, words[i].Text) {
			return i + 1
		}
	}
	return 0
}

func downloads(c shell.Command) iter.Seq[change] {
	names := []string{"-o", "--output"}
	if c.Name == "wget" {
		names = []string{"-O", "--output-document"}
	}
	if at := optionAt(c.Args, names...); at > 0 {
		return each(c, c.Args[at:at+1], exactly)
	}
	return each(c, nil, exactly)
}

// isPatch reports whether a text is a patch, or a script with one in it.
func isPatch(text string) bool {
	return strings.Contains(text, "*** Begin Patch") || strings.Contains(text, "\n+++ ") || strings.HasPrefix(text, "+++ ")
}

// patch looks at the files that a patch changes.
func (s *search) patch(start, text string) string {
	for line := range strings.Lines(text) {
		if !s.meter.Spend(1) {
			return ""
		}
		name, ok := patchedFile(strings.TrimRight(line, "\r\n"))
		if !ok {
			continue
		}
		names := []string{name}
		if _, below, ok := strings.Cut(name, "/"); ok { // a/ and b/ of git
			names = append(names, below)
		}
		for _, n := range names {
			if objection := s.path(n, fromTool(start, n), exactly); objection != "" {
				return objection
			}
		}
	}
	return ""
}

// patchedFile returns the file that a line of a patch names.
func patchedFile(line string) (string, bool) {
	for _, head := range []string{
		"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ ", "--- ", "rename from ", "rename to ",
	} {
		if name, ok := strings.CutPrefix(line, head); ok {
			name, _, _ = strings.Cut(name, "\t")
			return strings.TrimSpace(name), true
		}
	}
	return "", false
}

// unescapePercent reads the path of an address.
func unescapePercent(address string) string {
	if text, err := url.PathUnescape(address); err == nil {
		return text
	}
	return address
}
