package guard

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// The members of an input that a shell tool takes a command line from.
func commandFields() []string {
	return []string{"command", "cmd", "command_line", "script", "commands", "args"}
}

// The members of an input that name the directory it runs in.
func directoryFields() []string {
	return []string{"cwd", "workdir", "working_directory", "directory"}
}

// commandReader finds the commands in an input and reads them.
type commandReader struct {
	words  []string // without one of them no command is of interest
	except []string // what has a word, but is of none either
	fields []string // members that hold a command, beside the known ones
}

// line is one command line and the directory it starts in.
type line struct{ text, dir string }

// check reads every command line of the call and denies with the first
// objection. A command line that cannot be read is one.
func (r commandReader) check(ctx context.Context, req *chain.Request, object func(shell.Script) string) (chain.Outcome, error) {
	lines, objection := r.lines(req)
	if objection != "" {
		return deny(objection), nil
	}
	for _, l := range lines {
		if !r.interesting(l.text) {
			continue
		}
		if ctx.Err() != nil {
			return chain.Outcome{}, context.Cause(ctx)
		}
		if objection := readAnd(object, l.text, l.dir); objection != "" {
			return deny(objection), nil
		}
	}
	return chain.Outcome{Decision: chain.Allow}, nil
}

func (r commandReader) interesting(text string) bool {
	for _, e := range r.except {
		text = strings.ReplaceAll(text, e, " ")
	}
	return shell.MayName(text, r.words...)
}

// readAnd is an objection to what a command line starts. That it cannot be read
// is one.
func readAnd(object func(shell.Script) string, text, dir string) string {
	script, err := shell.Read(text, dir)
	if err != nil {
		return "the command could not be read: " + err.Error()
	}
	return object(script)
}

func deny(reason string) chain.Outcome {
	return chain.Outcome{Decision: chain.Deny, Reason: reason}
}

// workspaceOf is the directory of the call, empty where it is not known.
func workspaceOf(req *chain.Request) string {
	if path.IsAbs(req.Workspace()) {
		return path.Clean(req.Workspace())
	}
	return ""
}

// lines finds the command lines of a call, or says why they cannot be found.
func (r commandReader) lines(req *chain.Request) ([]line, string) {
	start := workspaceOf(req)
	if text, ok := chain.ReadString(req.Input()); ok { // what the agent wrote was not JSON
		if begin := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(begin, "{") || strings.HasPrefix(begin, "[") {
			return nil, "the input is JSON that cannot be read, so neither can the command in it"
		}
		return []line{{text, start}}, ""
	}
	var lines []line
	wanted := slices.Concat(commandFields(), directoryFields(), r.fields)
	err := eachObject(req.Input(), wanted, func(members []member) error {
		lines = append(lines, linesOf(members, start)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Sprintf("the input could not be read: %v", err)
	}
	return lines, ""
}

// linesOf are the command lines of one object. A member "args" is what the
// command runs with, or a command of its own where there is no other.
func linesOf(members []member, start string) []line {
	dir, args := start, ""
	var texts []string
	for _, m := range members {
		switch {
		case m.kind == trueMember:
		case slices.Contains(directoryFields(), m.name):
			dir = shell.Join(start, m.text)
		case m.name == "args":
			args = asLine(m)
		case m.kind == listMember && (m.name == "commands" || m.name == "script"):
			texts = append(texts, strings.Join(m.list, "\n"))
		default:
			texts = append(texts, asLine(m))
		}
	}
	if args != "" && len(texts) == 0 {
		texts = []string{args}
	} else if args != "" {
		for _, text := range texts {
			texts = append(texts, text+" "+args)
		}
	}
	lines := make([]line, len(texts))
	for i, text := range texts {
		lines[i] = line{text, dir}
	}
	return lines
}

// asLine is a text as it is, and a list of arguments as the command line that
// makes them. A list of one is a command line already.
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
