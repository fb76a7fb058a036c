package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call processes a simple command and returns its output.
func (r *reader) call(s *scope, call *syntax.CallExpr, writes []Word, in stream) (stream, error) {
	argv := make([]Word, 0, len(call.Args))
	for _, w := range call.Args {
		words, err := r.expand(s, w)
		if err != nil {
			return stream{}, err
		}
		argv = append(argv, words...)
	}
	if len(call.Assigns) > 0 {
		at := s
		if len(call.Args) > 0 {
			at = s.child() // its variables apply to this command only
		}
		if err := r.assign(at, call.Assigns); err != nil {
			return stream{}, err
		}
	}
	return r.run(s, argv, writes, in)
}

// run records the program that argv starts, then the program that this one
// starts, and so on.
func (r *reader) run(s *scope, argv, writes []Word, in stream) (stream, error) {
	for len(argv) > 0 && argv[0].Text == "" {
		argv = argv[1:] // a variable that may hold a prefix such as sudo
	}
	if len(argv) == 0 {
		return stream{}, nil
	}
	c := Command{Name: programName(argv[0].Text), Args: argv[1:], Dir: s.dir, Writes: writes, Stdin: in.text}
	if strings.Contains(c.Name, Opaque) {
		c.Name, c.runs, c.unnamed = "", argv[0].from, true
	}
	if err := r.spend(len(argv)); err != nil { // they are scanned again for each program that runs another
		return stream{}, err
	}
	out := output(c, in)
	if err := r.builtin(s, c); err != nil {
		return stream{}, err
	}
	at := len(r.found.Commands)
	if err := r.emit(c); err != nil {
		return stream{}, err
	}
	if c.Name == "xargs" {
		r.found.Commands[at].adds = in.from
	}
	runs, err := r.follow(s, c, in)
	if !runs.empty() {
		r.found.Commands[at].runs = runs
	}
	return out, err
}

// follow processes the scripts that the command runs. It returns the commands
// whose output it runs.
func (r *reader) follow(s *scope, c Command, in stream) (span, error) {
	if code, ok := codeOption(c); ok {
		return r.code(s.child(), []Word{code}, in)
	}
	if w, ok := wrapperNamed(c.Name); ok {
		argv := w.inner(c.Args)
		if len(argv) == 0 && startsShell(c) {
			return r.typed(s.child(), in)
		}
		if c.Name == "xargs" && in.known {
			if err := r.spend(len(in.text)); err != nil {
				return span{}, err
			}
			argv = slices.Clip(argv)
			for field := range strings.FieldsSeq(in.text) {
				argv = append(argv, Word{Text: field, source: field})
			}
		}
		at := len(r.found.Commands)
		_, err := r.run(s.child(), argv, c.Writes, in)
		if c.Name == "xargs" && at < len(r.found.Commands) {
			r.found.Commands[at].adds = in.from
		}
		return span{}, err
	}
	switch c.Name {
	case "find":
		return span{}, r.findExec(s, c.Args)
	case "eval":
		return r.code(s, c.Args, in)
	case "trap":
		return r.code(s.child(), c.Args[:min(1, len(c.Args))], stream{}) // the other operands are signals
	case "watch":
		return r.code(s.child(), wrapper{short: "n", long: []string{"interval"}}.inner(c.Args), stream{})
	case "su":
		return r.typed(s.child(), in) // without -c
	case "ssh":
		there := &scope{dir: Join("", "~")}
		switch rest := (wrapper{short: "BbcDEeFIiJLlmOopQRSWw"}).inner(c.Args); len(rest) {
		case 0:
		case 1:
			return r.typed(there, in)
		default:
			return r.code(there, rest[1:], in)
		}
	case "parallel":
		return span{}, r.parallel(s, c.Args, in)
	case "git":
		return span{}, r.git(s, c.Args)
	case "source", ".":
		if len(c.Args) > 0 {
			return r.file(s, c.Args[0], in)
		}
	case "alias":
		for _, a := range c.Args {
			if _, value, ok := strings.Cut(a.source, "="); ok {
				if err := r.inner(s.child(), value, stream{}); err != nil {
					return span{}, err
				}
			}
		}
	default:
		return r.interpreter(s.child(), c, in)
	}
	return span{}, nil
}

// code processes words that form one script, whose commands may read in.
func (r *reader) code(s *scope, words []Word, in stream) (span, error) {
	return r.spliced(s, sources(words), origin(words), in)
}

// typed processes what a shell reads from its input.
func (r *reader) typed(s *scope, in stream) (span, error) {
	if in.known {
		return r.spliced(s, in.text, in.opaque(), stream{})
	}
	return in.from, nil
}

// spliced processes a script that contains the output of commands. That output
// is run only if it is the name of a command in the script; elsewhere it is an
// argument.
func (r *reader) spliced(s *scope, text string, from span, in stream) (span, error) {
	begin := len(r.found.Commands)
	if err := r.inner(s, text, in); err != nil {
		return span{}, err
	}
	if !slices.ContainsFunc(r.found.Commands[begin:], func(c Command) bool { return c.unnamed }) {
		return span{}, nil
	}
	return from, nil
}

// file processes the script in a file if the file is a process substitution.
// Nobody has read the content of any other file.
func (r *reader) file(s *scope, name Word, in stream) (span, error) {
	if name.holds.known {
		return name.from, r.inner(s, name.holds.text, in)
	}
	return name.from, nil
}

// startsShell reports whether a program that runs another one starts a shell if
// none is given.
func startsShell(c Command) bool {
	switch c.Name {
	case "chroot", "unshare":
		return true
	case "sudo", "doas":
		return slices.ContainsFunc(c.Args, func(w Word) bool {
			cluster := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "is")
			return cluster || w.Text == "--login" || w.Text == "--shell"
		})
	}
	return false
}

// parallel processes the command that is run with each word after ":::" or with
// each item of its input.
func (r *reader) parallel(s *scope, args []Word, in stream) error {
	command := (wrapper{short: "jnNLaICPSsE", long: []string{"jobs", "max-args", "arg-file", "colsep", "delay", "timeout", "sshlogin"}}).inner(args)
	var inputs []string
	if at := slices.IndexFunc(command, func(w Word) bool { return strings.HasPrefix(w.Text, ":::") }); at >= 0 {
		for _, w := range command[at+1:] {
			inputs = append(inputs, w.source)
		}
		command = command[:at]
	} else if in.known {
		inputs = strings.Fields(in.text)
	}
	code := sources(command)
	if len(inputs) == 0 {
		inputs = []string{Opaque}
	}
	for _, input := range inputs {
		line := strings.ReplaceAll(code, "{}", input)
		if line == code {
			line += " " + input
		}
		if err := r.inner(s.child(), line, stream{}); err != nil {
			return err
		}
	}
	return nil
}

// git processes the scripts that git is told to run: in every submodule, after
// each commit of a rebase, during a bisect, and as an alias.
func (r *reader) git(s *scope, args []Word) error {
	for i, a := range args {
		key, value, _ := strings.Cut(a.source, "=")
		if script, ok := strings.CutPrefix(value, "!"); ok && isAlias(key) && i > 0 && args[i-1].Text == "-c" {
			if err := r.inner(s.child(), script, stream{}); err != nil {
				return err
			}
		}
	}
	words := (wrapper{short: "cC", long: []string{"git-dir", "work-tree", "namespace", "exec-path", "config-env"}}).inner(args)
	if len(words) < 2 {
		return nil
	}
	rest := words[1:]
	switch words[0].Text {
	case "submodule":
		if at := slices.IndexFunc(rest, func(w Word) bool { return w.Text == "foreach" }); at >= 0 {
			_, err := r.code(s.child(), wrapper{}.inner(rest[at+1:]), stream{})
			return err
		}
	case "rebase":
		for _, code := range optionValues(rest, "x", "exec") {
			if err := r.inner(s.child(), code.source, stream{}); err != nil {
				return err
			}
		}
	case "bisect":
		if rest[0].Text == "run" {
			_, err := r.run(s.child(), rest[1:], nil, stream{})
			return err
		}
	case "config":
		for i, w := range rest {
			if script, ok := strings.CutPrefix(w.source, "!"); ok && i > 0 && isAlias(rest[i-1].Text) {
				return r.inner(s.child(), script, stream{})
			}
		}
	}
	return nil
}

// isAlias reports whether a git setting defines an alias.
func isAlias(key string) bool { return strings.HasPrefix(strings.ToLower(key), "alias.") }

// interpreter processes the script of a shell. For other interpreters only the
// origin of the script is determined.
func (r *reader) interpreter(s *scope, c Command, in stream) (span, error) {
	switch c.Name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish":
		switch code, operand := shellArguments(c.Args); {
		case code != nil:
			return r.code(s, []Word{*code}, in)
		case operand != nil:
			return r.file(s, *operand, in)
		}
		return r.typed(s, in)
	case "python", "python2", "python3", "perl", "ruby", "node", "php":
		if len(c.Args) == 0 || c.Args[0].Text == "-" {
			return in.from, nil
		}
		program := c.Args[0]
		if (program.Text == "-c" || program.Text == "-e") && len(c.Args) > 1 {
			program = c.Args[1]
		}
		return program.from, nil
	}
	return span{}, nil
}

// shellArguments finds a shell's script: the argument of -c, or the file that is
// its first operand, or neither if the shell reads its input.
func shellArguments(args []Word) (code, operand *Word) {
	command, input := false, false
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--":
		case text == "--rcfile" || text == "--init-file":
			i++
		case strings.HasPrefix(text, "--"):
		case text == "-":
			input = true
		case len(text) > 1 && (text[0] == '-' || text[0] == '+'):
			command = command || strings.Contains(text, "c")
			input = input || strings.Contains(text, "s")
			if strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O") {
				i++
			}
		case command:
			return &args[i], nil
		case input:
			return nil, nil
		default:
			return nil, &args[i]
		}
	}
	return nil, nil
}

// findExec processes the programs that find starts.
func (r *reader) findExec(s *scope, args []Word) error {
	for i := 0; i < len(args); i++ {
		switch args[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		var argv []Word // a copy, accounted for by run
		for i++; i < len(args) && args[i].Text != ";" && args[i].Text != "+"; i++ {
			w := args[i]
			if strings.Contains(w.Text, "{}") {
				w = Word{Text: strings.ReplaceAll(w.Text, "{}", Opaque), source: strings.ReplaceAll(w.source, "{}", Opaque)}
			}
			argv = append(argv, w)
		}
		if _, err := r.run(s.child(), argv, nil, stream{}); err != nil {
			return err
		}
	}
	return nil
}

// builtin processes builtins that change the state of the shell.
func (r *reader) builtin(s *scope, c Command) error {
	switch c.Name {
	case "cd", "pushd":
		if s.dir = Join(s.dir, directory(c.Args)); len(s.dir) > MaxDir {
			return errDir
		}
		return r.spend(len(s.dir) / 8)
	case "popd":
		s.dir = Opaque
	case "read", "mapfile", "readarray", "getopts":
		for _, a := range c.Args {
			if syntax.ValidName(a.Text) {
				s.set(a.Text, value{text: Opaque})
			}
		}
	}
	return nil
}

// directory returns the target of cd.
func directory(args []Word) string {
	for _, a := range args {
		switch {
		case a.Text == "-":
			return Opaque
		case strings.HasPrefix(a.Text, "-"), strings.HasPrefix(a.Text, "+"):
		case a.Unset != "":
			return Opaque
		default:
			return a.Text
		}
	}
	return "~"
}

// output returns what a command writes, if its text determines that.
func output(c Command, in stream) stream {
	switch c.Name {
	case "cd", "pushd", "set", "export", "umask", "true", ":":
		return stream{known: true} // nothing
	case "echo":
		return echoed(c.Args)
	case "printf":
		return printed(c.Args)
	case "cat":
		if len(c.Args) == 0 || len(c.Args) == 1 && c.Args[0].Text == "-" {
			return in
		}
	}
	return stream{}
}

func echoed(args []Word) stream {
	escapes := false
	for len(args) > 0 && len(args[0].Text) > 1 && strings.Trim(args[0].Text[1:], "neE") == "" && args[0].Text[0] == '-' {
		escapes = escapes || strings.Contains(args[0].Text, "e")
		args = args[1:]
	}
	text := sources(args)
	if escapes {
		text = ansiC(text)
	}
	return stream{known: true, text: text + "\n", from: origin(args)}
}

// printed formats with %s; for any other format the result is unknown.
func printed(args []Word) stream {
	if len(args) == 0 {
		return stream{}
	}
	var text strings.Builder
	rest, known := ansiC(args[0].source), true
	for _, a := range args[1:] {
		before, after, more := strings.Cut(rest, "%s")
		if !more {
			break
		}
		known = known && !strings.Contains(before, "%")
		text.WriteString(before)
		text.WriteString(a.source)
		rest = after
	}
	text.WriteString(rest)
	return stream{known: known && !strings.Contains(rest, "%"), text: text.String()}
}
