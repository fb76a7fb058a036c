package guard

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// commandFields are the input members from which shell tools take a command
// line.
func commandFields() []string {
	return []string{"command", "cmd", "command_line", "script", "commands", "args"}
}

// directoryFields are the input members that name the working directory.
func directoryFields() []string {
	return []string{"cwd", "workdir", "working_directory", "directory"}
}

// commandReader finds and parses the commands in an input.
type commandReader struct {
	words  *shell.Words // a command without any of them is irrelevant
	except []string     // texts that contain one of the words but are irrelevant
	fields []string     // members that hold a command or name a directory
}

// readerOf returns a reader for commands that contain one of words. It also
// reads the members that the options name.
func readerOf(o *options, words ...string) commandReader {
	return commandReader{
		words:  shell.NewWords(words...),
		fields: slices.Concat(commandFields(), directoryFields(), o.texts("fields")),
	}
}

// line is a command line and the directory in which it starts.
type line struct{ text, dir string }

// objector explains what is wrong with what a command line starts; "" means
// nothing.
type objector func(*work.Meter, shell.Script) string

// check parses every command line of the call and returns the first objection.
// A command line that cannot be parsed is an objection.
func (r commandReader) check(m *work.Meter, req *chain.Request, object objector) string {
	lines, objection := r.lines(m, req)
	if objection != "" {
		return objection
	}
	for _, l := range lines {
		if !m.Spend(len(l.text)) || !r.interesting(l.text) {
			continue
		}
		if objection := readAnd(m, object, l.text, l.dir); objection != "" {
			return objection
		}
	}
	return ""
}

// verdict denies with an objection, and allows without one. If the work was
// stopped before everything was checked it does neither: too much work is an
// objection, and the end of the context is a failure.
func verdict(m *work.Meter, objection string) (chain.Outcome, error) {
	switch err := m.Err(); {
	case errors.Is(err, work.ErrTooMuch):
		return deny("the call could not be read: " + err.Error()), nil
	case err != nil:
		return chain.Outcome{}, err
	case objection != "":
		return deny(objection), nil
	}
	return chain.Outcome{Decision: chain.Allow}, nil
}

// longestSearched is the longest text that is searched for words. A longer one
// is far too long to be parsed, and could not be passed to a shell either.
const longestSearched = 8 * shell.MaxText

func (r commandReader) interesting(text string) bool {
	if len(text) > longestSearched {
		return true
	}
	for _, e := range r.except {
		text = strings.ReplaceAll(text, e, " ")
	}
	return r.words.MayBeIn(text)
}

// readAnd parses a command line and returns the objection to what it starts. A
// command line that cannot be parsed is an objection.
func readAnd(m *work.Meter, object objector, text, dir string) string {
	script, err := shell.Read(m, text, dir)
	if err != nil {
		return "the command could not be read: " + err.Error()
	}
	return object(m, script)
}

func deny(reason string) chain.Outcome {
	return chain.Outcome{Decision: chain.Deny, Reason: reason}
}

// workspaceOf returns the workspace of the call, "" if it is not known.
func workspaceOf(req *chain.Request) string {
	if path.IsAbs(req.Workspace()) {
		return path.Clean(req.Workspace())
	}
	return ""
}

// lines finds the command lines of a call, or explains why they cannot be
// found.
func (r commandReader) lines(m *work.Meter, req *chain.Request) ([]line, string) {
	start := workspaceOf(req)
	if text, ok := chain.ReadString(req.Input()); ok { // the agent wrote something other than JSON
		if begin := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(begin, "{") || strings.HasPrefix(begin, "[") {
			return nil, "the input is JSON that cannot be read, so neither can the command in it"
		}
		return []line{{text, start}}, ""
	}
	var lines []line
	err := eachObject(m, req.Input(), r.fields, func(members []member) (err error) {
		lines, err = appendLines(lines, members, start)
		return err
	})
	if err != nil {
		return nil, fmt.Sprintf("the input could not be read: %v", err)
	}
	return lines, ""
}

// appendLines appends the command lines of one object. A member "args" holds
// the arguments of the command, or a command of its own if there is no other.
func appendLines(lines []line, members []member, start string) ([]line, error) {
	dir, args, first := start, "", len(lines)
	for _, m := range members {
		switch {
		case m.kind == trueMember:
		case slices.Contains(directoryFields(), m.name):
			dir = shell.Join(start, m.text)
		case m.name == "args":
			args = asLine(m)
		case m.kind == listMember && (m.name == "commands" || m.name == "script"):
			lines = append(lines, line{text: strings.Join(m.list, "\n")})
		default:
			lines = append(lines, line{text: asLine(m)})
		}
	}
	commands := lines[first:]
	if args != "" && len(commands) == 0 {
		lines = append(lines, line{text: args})
	} else if args != "" {
		if len(commands)*len(args) > longestSearched {
			return nil, fmt.Errorf("%d commands have arguments of %d bytes in common", len(commands), len(args))
		}
		for _, c := range commands {
			lines = append(lines, line{text: c.text + " " + args})
		}
	}
	for i := range lines[first:] {
		lines[first+i].dir = dir
	}
	return lines, nil
}

// asLine returns a string as it is, and a list of arguments as the command line
// that produces them. A list of one is a command line already.
func asLine(m member) string {
	if m.kind == textMember || len(m.list) == 1 {
		return m.text + strings.Join(m.list, "")
	}
	quoted := make([]string, len(m.list))
	for i, text := range m.list {
		quoted[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
