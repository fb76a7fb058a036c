package shell

import (
	"path"
	"strings"
)

// Opaque stands in a [Word] for text that is there but not known: the output
// of a program, the value of a variable that something else sets.
const Opaque = "\uFFFD"

// Script is what a command line would start.
type Script struct {
	// Commands in the order of the text. A program that runs another one is
	// followed by the one it runs.
	Commands []Command
	// Bomb is whether a function starts itself over and over.
	Bomb bool
}

// Command is one program that would be started, or a redirection of something
// that is none: then it has no name.
type Command struct {
	// Name is the program's name without its directory, in lower case, since
	// some file systems do not tell case apart. It is empty where it is not
	// known.
	Name string
	// Args are the words after the name.
	Args []Word
	// Dir is where it would run, as [Join] makes it of where the script begins.
	Dir string
	// Writes are the files that it is redirected to.
	Writes []Word
	// Stdin is what it reads, where the text says so.
	Stdin string

	runs    span
	adds    span
	unnamed bool // what it starts is not known
}

// Word is one argument as the program would see it.
type Word struct {
	// Text is the word with Opaque where it is not known, and without the
	// variables that nothing in the text sets. A leading "~" is a home
	// directory: a quoted one reads "./~".
	Text string
	// Unset names the first of the variables that were left out.
	Unset string

	source string // the word as text for another shell: variables left out are still in it
	from   span   // the commands whose output is part of it
	holds  stream // what is in the file that it names, where that is the output of a command
}

// span is a half-open range of a script's commands.
type span struct{ from, to int }

func (s span) empty() bool { return s.to <= s.from }

// with is the range that has both in it.
func (s span) with(other span) span {
	switch {
	case s.empty():
		return other
	case other.empty():
		return s
	}
	return span{min(s.from, other.from), max(s.to, other.to)}
}

// Runs is the range of the commands of the script whose output c runs as a
// script itself. It is empty where from is not before to.
func (c Command) Runs() (from, to int) { return c.runs.from, c.runs.to }

// Adds is the range of the commands of the script that write further arguments
// of c, as xargs has it. It is empty where from is not before to.
func (c Command) Adds() (from, to int) { return c.adds.from, c.adds.to }

// programName is the name under which a program is known: without its
// directory, and in lower case.
func programName(text string) string {
	name := strings.ToLower(text[strings.LastIndexByte(text, '/')+1:])
	return strings.TrimSuffix(name, ".exe")
}

// Join is the directory that a name leads to from base. A home directory, since
// nobody knows where it is, is one of a user called "~". The result is Opaque
// where it is not known, and relative where base is.
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
