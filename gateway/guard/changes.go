package guard

import (
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// change is a file that a command would modify.
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

// changes yields the files that a command modifies if its program is one that
// is known to modify files. Redirections are not included. It is an iterator
// because the paths together may be much longer than the command.
func changes(c shell.Command) iter.Seq[change] {
	switch c.Name {
	case "tee", "touch", "truncate", "unlink", "shred":
		return each(c, argumentsOf(c.Args, "-s", "-r", "-d", "-n").operands, exactly)
	case "rm":
		return each(c, argumentsOf(c.Args).operands, whole)
	case "chmod":
		return each(c, withoutLocked(c, argumentsOf(c.Args).operands), exactly)
	case "chown", "chgrp":
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

// copies yields the files that a copy or a move creates, and those that a move
// removes. The last operand may be the directory that receives the others.
func copies(c shell.Command) iter.Seq[change] {
	args := argumentsOf(c.Args, "-t", "--target-directory", "-m", "-o", "-g", "-S", "-e")
	sources := args.operands
	target := shell.Word{}
	var into []shell.Word
	if c.Name != "rsync" { // whose -t is about time
		into = valuesOf(c.Args, 't', "target-directory", "tSmog")
	}
	if len(into) > 0 {
		target = into[len(into)-1]
	} else if len(sources) > 1 {
		target, sources = sources[len(sources)-1], sources[:len(sources)-1]
	}
	if target.Text == "" {
		return each(c, nil, exactly)
	}
	place := placeOf(c, target).path
	return func(yield func(change) bool) {
		if !yield(change{target, place, exactly}) {
			return
		}
		for _, w := range sources {
			if !yield(change{target, shell.Join(place, path.Base(w.Text)), exactly}) {
				return
			}
		}
		if c.Name == "mv" {
			each(c, sources, whole)(yield)
		}
	}
}

// withoutLocked drops a chmod's operands that are keys if the new mode
// restricts them to their owner, which is what ssh requires.
func withoutLocked(c shell.Command, operands []shell.Word) []shell.Word {
	private := []string{"400", "500", "600", "700", "0400", "0500", "0600", "0700", "go-rwx", "og-rwx", "go=", "u=rw,go=", "u=rwx,go="}
	if len(operands) == 0 || !slices.Contains(private, operands[0].Text) {
		return operands
	}
	return slices.DeleteFunc(slices.Clone(operands), func(w shell.Word) bool { return holdsKeys(placeOf(c, w).path) })
}

// holdsKeys reports whether a path is in a directory of a person's keys.
func holdsKeys(place string) bool {
	parts := strings.Split(place, "/")
	if len(parts) < 4 || parts[1] == "root" {
		return len(parts) > 2 && parts[1] == "root" && (parts[2] == ".ssh" || parts[2] == ".gnupg")
	}
	return (parts[1] == "home" || parts[1] == "Users") && (parts[3] == ".ssh" || parts[3] == ".gnupg")
}

// downloads yields the files that a download creates: those that are named, and
// those named after the remote file.
func downloads(c shell.Command) iter.Seq[change] {
	var files, dirs []shell.Word
	var remote bool
	if c.Name == "wget" {
		const takes = "oaeiBtOTwQPUlADRIX"
		files = valuesOf(c.Args, 'O', "output-document", takes)
		dirs = valuesOf(c.Args, 'P', "directory-prefix", takes)
		remote = len(files) == 0
	} else {
		const takes = "AbcCdDeEFHKmoPQrtTuUwxXyYz"
		files = valuesOf(c.Args, 'o', "output", takes)
		dirs = valuesOf(c.Args, 0, "output-dir", takes)
		args := argumentsOf(c.Args)
		remote = args.short("O") || args.exactly("--remote-name", "--remote-name-all")
	}
	if remote {
		for _, address := range argumentsOf(c.Args).operands {
			name, _, _ := strings.Cut(address.Text, "?")
			files = append(files, shell.Word{Text: path.Base(name)})
		}
	}
	if len(dirs) > 0 {
		into := dirs[len(dirs)-1]
		for i, w := range files {
			files[i] = shell.Word{Text: shell.Join(into.Text, w.Text), Unset: into.Unset}
		}
	}
	return each(c, files, exactly)
}

// isPatch reports whether a text is a patch, or a script that contains one.
func isPatch(text string) bool {
	return strings.Contains(text, "*** Begin Patch") || strings.Contains(text, "\n+++ ") || strings.HasPrefix(text, "+++ ")
}

// patch checks the files that a patch modifies.
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

// unescapePercent decodes the percent-encoding in the path of a URL.
func unescapePercent(address string) string {
	if text, err := url.PathUnescape(address); err == nil {
		return text
	}
	return address
}
