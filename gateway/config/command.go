package config

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const maxProcesses = 1024

// Command is a program that is run as a subprocess.
type Command struct {
	// Argv is the program and its arguments; the first element is not empty. No
	// shell is involved.
	Argv []string
	// Dir is the absolute working directory, to which a program path with a
	// directory part is relative.
	Dir string
	// Env holds the variables in addition to the base environment of all
	// programs; may be nil.
	Env map[string]string
	// Secrets are the values of the references in Env, sorted.
	Secrets []string
	// Processes is the number of worker processes; 0 starts a process for each
	// call.
	Processes int
	// BindAnswers requires the answers of worker processes to repeat the id of
	// their call.
	BindAnswers bool
	Limits      Limits
}

// command reads a subprocess hook.
func (r *reading) command(o object) *Command {
	c := &Command{Argv: r.argv(o["command"]), Dir: r.home, Limits: r.limits(o)}
	if v, ok := o["dir"]; ok {
		if s, ok := r.literal(v); ok && r.noNUL(v, s) {
			c.Dir = r.directory(v, s)
		}
	}
	if v, ok := o["env"]; ok {
		c.Env, c.Secrets = r.env(v)
	}
	if v, ok := o["worker"]; ok {
		c.Processes = r.worker(v)
	}
	if v, ok := o["bind_answers"]; ok {
		c.BindAnswers = r.bindWorker(v, o)
	}
	return c
}

func (r *reading) argv(v value) []string {
	items, ok := r.list(v, `a list like ["./check.sh", "--strict"] (no shell splits it)`)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.fail(v, "is empty: want the program to run")
		return nil
	}
	var argv []string
	for i, item := range items {
		s, ok := r.text(item)
		if !ok || !r.noNUL(item, s) {
			continue
		}
		if i == 0 && s == "" {
			r.fail(item, "is empty: want the program to run")
		}
		if !isScript(argv) {
			r.literal(item)
		}
		argv = append(argv, s)
	}
	return argv
}

// isScript reports whether argv contains a shell with a -c flag, so that what
// follows is a script or one of its arguments. There ${NAME} is the shell's own.
func isScript(argv []string) bool {
	shell := slices.IndexFunc(argv, func(arg string) bool {
		return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(arg))
	})
	return shell >= 0 && slices.ContainsFunc(argv[shell+1:], func(arg string) bool {
		return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "c")
	})
}

// noNUL reports a string with a NUL, at which the operating system would cut it
// off.
func (r *reading) noNUL(v value, s string) bool {
	if strings.ContainsRune(s, 0) {
		r.fail(v, "contains a NUL character")
		return false
	}
	return true
}

func (r *reading) directory(v value, s string) string {
	switch {
	case s == "":
		r.fail(v, "is empty: for the directory of this file, leave the key out")
	case filepath.IsAbs(s):
		return filepath.Clean(s)
	}
	return filepath.Join(r.home, s)
}

// env reads a program's variables and returns the values of the references in
// them.
func (r *reading) env(v value) (all map[string]string, secrets []string) {
	if v.kind != mapping {
		r.want(v, "a mapping of variable names to strings")
		return nil, nil
	}
	all = map[string]string{}
	for _, m := range r.unique(v) {
		if !isVariable(m.key) {
			r.failAt(m.keyAt, v.way, "%s is not a valid variable name: use letters, digits and _", quote(m.key))
			continue
		}
		if s, found, ok := r.filledFrom(m); ok && r.noNUL(m, s) {
			all[m.key] = s
			secrets = append(secrets, found...)
		}
	}
	slices.Sort(secrets)
	return all, slices.Compact(secrets)
}

// bindWorker reads bind_answers for a command. A process that answers one call
// and exits cannot mix up answers.
func (r *reading) bindWorker(v value, o object) bool {
	if _, ok := o["worker"]; !ok {
		r.failAt(v.keyAt, v.way, "is for a url hook or a worker: without worker, a process answers only one call")
	}
	b, _ := r.boolean(v)
	return b
}

func (r *reading) worker(v value) int {
	o, ok := r.object(v, "processes")
	if !ok {
		return 0
	}
	p, ok := o["processes"]
	if !ok {
		r.fail(v, "processes is missing: set how many to keep alive")
		return 0
	}
	n, _ := r.whole(p, maxProcesses)
	return int(n)
}
