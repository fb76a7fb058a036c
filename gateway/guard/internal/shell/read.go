package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// Read returns what text would start if a shell ran it in directory dir. The
// error reads on after "the command could not be read: ", unless the context of
// the meter has ended.
func Read(m *work.Meter, text, dir string) (Script, error) {
	if len(dir) > MaxDir {
		return Script{}, errDir
	}
	r := reader{meter: m}
	if err := r.script(&scope{dir: dir}, text, stream{}); err != nil {
		return Script{}, err
	}
	return r.found, nil
}

// reader is the state of one Read.
type reader struct {
	found Script
	meter *work.Meter
	deep  int // nesting of scripts in scripts
}

// spend accounts for n bytes of text, or for n words.
func (r *reader) spend(n int) error {
	r.meter.Spend(n)
	return r.meter.Err()
}

// script processes text that a shell runs in scope s, and whose commands may
// read in.
func (r *reader) script(s *scope, text string, in stream) error {
	if r.deep++; r.deep > maxScripts {
		return errNested
	}
	defer func() { r.deep-- }()
	file, err := parse(r.meter, text) // parse accounts for the text
	if err != nil {
		return err
	}
	_, err = r.fed(s, file.Stmts, in)
	return err
}

// inner processes a script within another one.
func (r *reader) inner(s *scope, text string, in stream) error {
	if err := r.script(s, text, in); err != nil {
		return fmt.Errorf("in a script inside it: %w", err)
	}
	return nil
}

// emit records a command.
func (r *reader) emit(c Command) error {
	if len(r.found.Commands) == maxCommands {
		return errTooMany
	}
	r.found.Commands = append(r.found.Commands, c)
	return nil
}

// stream is what is known about the content of a pipe.
type stream struct {
	known bool
	text  string
	from  span // the commands that wrote it
}

// opaque returns the commands that wrote the unknown parts of the stream.
func (s stream) opaque() span {
	if s.known && !strings.Contains(s.text, Opaque) {
		return span{}
	}
	return s.from
}

// substitution processes the commands of a substitution and returns its output.
func (r *reader) substitution(s *scope, list []*syntax.Stmt) (stream, error) {
	begin := len(r.found.Commands)
	out, err := r.fed(s.child(), list, stream{})
	out.from = span{begin, len(r.found.Commands)}
	return out, err
}

// inside processes the substitutions anywhere in a node that is not a command.
func (r *reader) inside(s *scope, node syntax.Node) error {
	var err error
	syntax.Walk(node, func(n syntax.Node) bool {
		if err == nil {
			err = r.spend(1)
		}
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			_, err = r.substitution(s, n.Stmts)
			return false // its content was processed
		case *syntax.ProcSubst:
			_, err = r.substitution(s, n.Stmts)
			return false
		}
		return true
	})
	return err
}

func (r *reader) list(s *scope, list []*syntax.Stmt) error {
	for _, st := range list {
		if _, err := r.statement(s, st, stream{}); err != nil {
			return err
		}
	}
	return nil
}

// lists processes several lists in one scope.
func (r *reader) lists(s *scope, lists ...[]*syntax.Stmt) error {
	for _, list := range lists {
		if err := r.list(s, list); err != nil {
			return err
		}
	}
	return nil
}

// statement processes a statement with its redirections and returns its output.
func (r *reader) statement(s *scope, st *syntax.Stmt, in stream) (stream, error) {
	writes, in, err := r.redirects(s, st.Redirs, in)
	if err != nil {
		return stream{}, err
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok && len(writes) > 0 || ok && len(call.Args) == 0 && len(writes) > 0 {
		if err := r.emit(Command{Dir: s.dir, Writes: writes}); err != nil {
			return stream{}, err
		}
	}
	if ok {
		return r.call(s, call, writes, in)
	}
	if binary, ok := st.Cmd.(*syntax.BinaryCmd); ok {
		return r.binary(s, binary, in)
	}
	switch c := st.Cmd.(type) {
	case *syntax.Subshell:
		return r.fed(s.child(), c.Stmts, in)
	case *syntax.Block:
		return r.fed(s, c.Stmts, in)
	}
	return stream{}, r.compound(s, st.Cmd, in)
}

// redirects returns the files that a statement writes to, and its input.
func (r *reader) redirects(s *scope, list []*syntax.Redirect, in stream) ([]Word, stream, error) {
	var writes []Word
	for _, redirect := range list {
		words, err := r.expand(s, redirect.Word)
		if err != nil {
			return nil, in, err
		}
		switch op := redirect.Op; {
		case op == syntax.Hdoc || op == syntax.DashHdoc:
			in, err = r.heredoc(s, redirect)
		case op == syntax.WordHdoc:
			in = stream{known: true, text: sources(words), from: origin(words)}
		case op == syntax.RdrIn || op == syntax.DplIn:
			in = stream{}
			for _, w := range words { // process substitutions
				in = w.holds
			}
		case op == syntax.DplOut && len(words) == 1 && isDescriptor(words[0].Text):
		default:
			writes = append(writes, words...)
		}
		if err != nil {
			return nil, in, err
		}
	}
	return writes, in, nil
}

// isDescriptor reports whether the text after >& is a file descriptor.
func isDescriptor(text string) bool {
	return text == "-" || strings.Trim(text, "0123456789") == ""
}

// heredoc returns the text of a here-document.
func (r *reader) heredoc(s *scope, redirect *syntax.Redirect) (stream, error) {
	if redirect.Hdoc == nil {
		return stream{known: true}, nil
	}
	delimiter := redirect.Word.Lit()
	if delimiter == "" || unescape(delimiter, "") != delimiter { // quoted: nothing is expanded
		text := redirect.Hdoc.Lit()
		return stream{known: true, text: text}, r.spend(len(text))
	}
	b := builder{reader: r, scope: s}
	if err := b.quotedParts(redirect.Hdoc.Parts); err != nil {
		return stream{}, err
	}
	return stream{known: true, text: b.source.String(), from: b.from}, nil
}

// binary processes lists and pipelines. Their length is that of the text, so it
// iterates instead of recursing.
func (r *reader) binary(s *scope, cmd *syntax.BinaryCmd, in stream) (stream, error) {
	begin := len(r.found.Commands)
	if !isPipe(cmd.Op) {
		out, err := r.fed(s, operands(cmd), in)
		out.from = span{begin, len(r.found.Commands)}
		return out, err
	}
	out := in
	for _, st := range operands(cmd) {
		var err error
		if out, err = r.statement(s.child(), st, out); err != nil {
			return stream{}, err
		}
		out.from = span{begin, len(r.found.Commands)}
	}
	return out, nil
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// operands returns the statements of a chain of commands of one kind, in order.
func operands(cmd *syntax.BinaryCmd) []*syntax.Stmt {
	var done []*syntax.Stmt
	open := []*syntax.Stmt{cmd.Y, cmd.X}
	for len(open) > 0 {
		st := open[len(open)-1]
		open = open[:len(open)-1]
		if next, ok := st.Cmd.(*syntax.BinaryCmd); ok && len(st.Redirs) == 0 && isPipe(next.Op) == isPipe(cmd.Op) {
			open = append(open, next.Y, next.X)
			continue
		}
		done = append(done, st)
	}
	return done
}

// compound processes a command that contains other commands.
func (r *reader) compound(s *scope, cmd syntax.Command, in stream) error {
	switch c := cmd.(type) {
	case *syntax.IfClause:
		for at := c; at != nil; at = at.Else {
			if err := r.lists(s, at.Cond, at.Then); err != nil {
				return err
			}
		}
	case *syntax.WhileClause:
		return r.lists(s, c.Cond, c.Do)
	case *syntax.ForClause:
		if err := r.loop(s, c.Loop); err != nil {
			return err
		}
		return r.list(s, c.Do)
	case *syntax.CaseClause:
		if _, err := r.expand(s, c.Word); err != nil {
			return err
		}
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				if _, err := r.expand(s, pattern); err != nil {
					return err
				}
			}
			if err := r.list(s, item.Stmts); err != nil {
				return err
			}
		}
	case *syntax.FuncDecl:
		if err := r.bomb(c); err != nil {
			return err
		}
		_, err := r.statement(s.child(), c.Body, stream{})
		return err
	case *syntax.DeclClause:
		return r.assign(s, c.Args)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			_, err := r.statement(s, c.Stmt, in)
			return err
		}
	case *syntax.CoprocClause:
		_, err := r.statement(s.child(), c.Stmt, in)
		return err
	case *syntax.ArithmCmd, *syntax.TestClause, *syntax.LetClause:
		return r.inside(s, cmd)
	}
	return nil
}

// fed processes a list whose commands may all read in, and returns its output.
func (r *reader) fed(s *scope, list []*syntax.Stmt, in stream) (stream, error) {
	out := stream{known: true}
	var text strings.Builder
	for _, st := range list {
		said, err := r.statement(s, st, in)
		if err == nil {
			err = r.spend(len(said.text))
		}
		if err != nil {
			return stream{}, err
		}
		out.known = out.known && said.known
		out.from = out.from.with(said.from)
		text.WriteString(said.text)
	}
	if out.known {
		out.text = text.String()
	}
	return out, nil
}

// loop processes the head of a for loop. The variable has a value, but an
// unknown one.
func (r *reader) loop(s *scope, head syntax.Loop) error {
	words, ok := head.(*syntax.WordIter)
	if !ok {
		return r.inside(s, head)
	}
	for _, w := range words.Items {
		if _, err := r.expand(s, w); err != nil {
			return err
		}
	}
	s.set(words.Name.Value, value{text: Opaque})
	return nil
}

// assign assigns values to variables.
func (r *reader) assign(s *scope, list []*syntax.Assign) error {
	for _, a := range list {
		words, err := r.expand(s, a.Value)
		if err != nil {
			return err
		}
		v := joined(words)
		if a.Array != nil {
			if v, err = r.array(s, a.Array); err != nil {
				return err
			}
		}
		if a.Name == nil || a.Naked {
			continue
		}
		if a.Append {
			v = r.appended(s, a.Name.Value, v)
		}
		if a.Index != nil {
			v = value{text: Opaque, from: v.from}
		}
		if err := r.spend(len(v.list)); err != nil {
			return err
		}
		s.set(a.Name.Value, v)
	}
	return nil
}

// array returns the value of an array. If its elements have explicit indexes, it
// is unknown.
func (r *reader) array(s *scope, a *syntax.ArrayExpr) (value, error) {
	v := value{text: Opaque, list: []string{}}
	for _, element := range a.Elems {
		if element.Index != nil {
			return value{text: Opaque}, r.inside(s, a)
		}
		words, err := r.expand(s, element.Value)
		if err != nil {
			return value{}, err
		}
		for _, w := range words {
			v.list = append(v.list, w.Text)
		}
		v.from = v.from.with(origin(words))
	}
	if len(v.list) > 0 {
		v.text = v.list[0] // the value of the bare name
	}
	return v, nil
}

// appended returns the value of a variable after +=.
func (r *reader) appended(s *scope, name string, more value) value {
	v, _ := s.lookup(name)
	from := v.from.with(more.from)
	if v.list == nil || more.list == nil {
		return value{text: Opaque, from: from}
	}
	if v.list = slices.Concat(v.list, more.list); len(v.list) > 0 {
		v.text = v.list[0]
	}
	return value{text: v.text, list: v.list, from: from}
}

// bomb detects a function that starts itself twice without waiting for itself.
// One that passes itself an argument may terminate.
func (r *reader) bomb(f *syntax.FuncDecl) error {
	if f.Name == nil { // the parser also takes () for the head of a function
		return nil
	}
	if err := r.spend(int(f.End().Offset() - f.Pos().Offset())); err != nil {
		return err
	}
	starts := func(st *syntax.Stmt) bool {
		call, ok := st.Cmd.(*syntax.CallExpr)
		return ok && len(call.Args) == 1 && call.Args[0].Lit() == f.Name.Value
	}
	calls, apart := 0, false
	for n := range syntax.Preorder(f.Body) {
		switch n := n.(type) {
		case *syntax.Stmt:
			if starts(n) {
				calls++
				apart = apart || n.Background
			}
		case *syntax.BinaryCmd:
			apart = apart || isPipe(n.Op) && (starts(n.X) || starts(n.Y))
		}
	}
	r.found.Bomb = r.found.Bomb || apart && calls >= 2
	return nil
}
