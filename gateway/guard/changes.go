package guard

import (
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
// Redirections are not among them.
func changes(c shell.Command) []change {
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
	return nil
}

func each(c shell.Command, words []shell.Word, how reach) []change {
	list := make([]change, 0, len(words))
	for _, w := range words {
		list = append(list, change{w, placeOf(c, w).path, how})
	}
	return list
}

// copies are the files that a copy or a move makes, and those that a move takes
// away. The last operand may be a directory that the others go into.
func copies(c shell.Command) []change {
	args := argumentsOf(c.Args, "-t", "--target-directory", "-m", "-o", "-g", "-S", "-e")
	sources := args.operands
	target := shell.Word{}
	if at := optionAt(c.Args, "-t", "--target-directory"); at > 0 {
		target = c.Args[at]
	} else if len(sources) > 1 {
		target, sources = sources[len(sources)-1], sources[:len(sources)-1]
	}
	if target.Text == "" {
		return nil
	}
	list := each(c, []shell.Word{target}, exactly)
	for _, w := range sources {
		list = append(list, change{target, shell.Join(placeOf(c, target).path, path.Base(w.Text)), exactly})
	}
	if c.Name == "mv" {
		list = append(list, each(c, sources, whole)...)
	}
	return list
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

func downloads(c shell.Command) []change {
	names := []string{"-o", "--output"}
	if c.Name == "wget" {
		names = []string{"-O", "--output-document"}
	}
	if at := optionAt(c.Args, names...); at > 0 {
		return each(c, c.Args[at:at+1], exactly)
	}
	return nil
}

// isPatch reports whether a text is a patch, or a script with one in it.
func isPatch(text string) bool {
	return strings.Contains(text, "*** Begin Patch") || strings.Contains(text, "\n+++ ") || strings.HasPrefix(text, "+++ ")
}

// objectToPatch looks at the files that a patch changes.
func (g *protectedPaths) objectToPatch(start, text string) string {
	for line := range strings.Lines(text) {
		name, ok := patchedFile(strings.TrimRight(line, "\r\n"))
		if !ok {
			continue
		}
		names := []string{name}
		if _, below, ok := strings.Cut(name, "/"); ok { // a/ and b/ of git
			names = append(names, below)
		}
		for _, n := range names {
			if objection := g.objectToPath(n, fromTool(start, n), exactly); objection != "" {
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
