package shell

import (
	"path"
	"strings"
)

// Opaque represents text in a [Word] that exists but is unknown: the output of
// a program, or the value of a variable that something else sets.
const Opaque = "\uFFFD"

// Script is what a command line would start.
type Script struct {
	// Commands are in the order of the text. A program that runs another one is
	// followed by the one that it runs.
	Commands []Command
	// Bomb reports a function that starts itself over and over (a fork bomb).
	Bomb bool
}

// Command is a program that would be started. A redirection without a program
// is a Command without a name.
type Command struct {
	// Name is the program's name without its directory, in lower case because
	// some file systems ignore case. It is empty if it is unknown.
	Name string
	// Args are the arguments.
	Args []Word
	// Dir is its working directory, as [Join] computes it from the script's.
	Dir string
	// Writes are the files that it is redirected to.
	Writes []Word
	// Stdin is its input, if the text determines it.
	Stdin string

	runs    span
	adds    span
	unnamed bool // what it starts is unknown
}

// Word is one argument as the program would receive it.
type Word struct {
	// Text is the word with Opaque for unknown parts, and without variables
	// that nothing in the text sets. A leading "~" is a home directory; a
	// quoted one becomes "./~".
	Text string
	// Unset is the first of the variables that were left out.
	Unset string

	source string // the word as text for another shell, including the variables left out
	from   span   // the commands whose output is part of it
	holds  stream // the content of the file that it names, if it is the output of a command
}

// span is a half-open range of a script's commands.
type span struct{ from, to int }

func (s span) empty() bool { return s.to <= s.from }

// with returns the smallest range that contains both.
func (s span) with(other span) span {
	switch {
	case s.empty():
		return other
	case other.empty():
		return s
	}
	return span{min(s.from, other.from), max(s.to, other.to)}
}

// Runs returns the range of the script's commands whose output c runs as a
// script. It is empty unless from is less than to.
func (c Command) Runs() (from, to int) { return c.runs.from, c.runs.to }

// Adds returns the range of the script's commands that write further arguments
// of c, as for xargs. It is empty unless from is less than to.
func (c Command) Adds() (from, to int) { return c.adds.from, c.adds.to }

// programName returns the name of a program without its directory, in lower
// case.
func programName(text string) string {
	name := strings.ToLower(text[strings.LastIndexByte(text, '/')+1:])
	return strings.TrimSuffix(name, ".exe")
}

// Join resolves a directory name relative to base. A home directory, whose
// location is unknown, is represented as that of a user "~". The result is
// Opaque if it is unknown, and relative if base is.
func Join(base, name string) string {
	switch {
	case strings.HasPrefix(name, "~"):
		return path.Join("/home", name)
	case path.IsAbs(name), strings.HasPrefix(name, Opaque):
		return path.Clean(name)
	case !strings.HasPrefix(base, Opaque):
		return path.Join(base, name)
	case name == ".." || strings.HasPrefix(name, "../"):
		return path.Clean(name)
	}
	return path.Join(Opaque, name)
}
