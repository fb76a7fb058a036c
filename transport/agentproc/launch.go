package agentproc

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hookgate/hookgate/transport/internal/output"
)

// launch describes the process of a turn before it is started.
type launch struct {
	path string
	argv []string
	dir  string
	env  []string
	// hidden are the secrets in env.
	hidden *output.Secrets
}

// launch fills in the profile's templates for one turn.
func (p *Profile) launch(t Turn) (launch, error) {
	variables, err := p.environment()
	if err != nil {
		return launch{}, err
	}
	v := values{variables: variables, placeholders: map[string]string{
		placeholderSessionID:   t.SessionID,
		placeholderSessionName: t.sessionName(),
		placeholderProfileDir:  p.Dir,
	}}
	env := operational(p.Environ)
	for name, text := range p.Env {
		filled, err := parseTemplate(text, true)
		if err != nil {
			return launch{}, fmt.Errorf("env.%s: %w", name, err)
		}
		env[name] = filled.fill(v)
	}
	l := launch{hidden: p.hidden(variables)}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l.env = append(l.env, name+"="+env[name])
	}
	if l.dir, err = p.directory(v, env["HOME"]); err != nil {
		return launch{}, fmt.Errorf("cwd: %w", err)
	}
	command, err := fillPath(p.Command, v)
	if err != nil {
		return launch{}, fmt.Errorf("command: %w", err)
	}
	l.argv = append(l.argv, command)
	for i, arg := range p.Args {
		filled, err := fillArgument(arg, v)
		if err != nil {
			return launch{}, fmt.Errorf("args[%d]: %w", i, err)
		}
		l.argv = append(l.argv, filled)
	}
	l.path = program(command, l.dir, env["PATH"])
	return l, nil
}

// Findable returns why the agent's program could not be started now. It returns
// nil if no reason is known, or if the choice of the program depends on the
// turn. It starts nothing.
func (p *Profile) Findable() error {
	for _, text := range []string{p.Command, p.Cwd} {
		if t, err := parseTemplate(text, false); err != nil || t.hasCaller() {
			return nil //nolint:nilerr // Profile.Check reports this
		}
	}
	l, err := p.launch(Turn{})
	if err != nil {
		return nil //nolint:nilerr // Profile.Check reports this
	}
	if l.path == "" {
		err = fs.ErrNotExist
	} else {
		_, err = exec.LookPath(l.path)
	}
	if info, statErr := os.Stat(l.dir); err == nil && statErr == nil && info.IsDir() {
		return nil
	}
	text, _ := l.spawnFailure(err)
	return errors.New(text)
}

// directory is the directory in which the agent runs.
func (p *Profile) directory(v values, home string) (string, error) {
	dir, err := fillPath(p.Cwd, v)
	if err != nil {
		return "", err
	}
	if below, ok := strings.CutPrefix(dir, "~"); ok && (below == "" || below[0] == '/') {
		if !filepath.IsAbs(home) {
			return "", errors.New("~ means the home directory, but HOME is not set")
		}
		return filepath.Join(home, below), nil
	}
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	return filepath.Join(p.Dir, dir), nil
}

// program is the path of the command. It is empty if a bare name is not found
// in path, since the system would then look for it in the working directory.
func program(command, dir, path string) string {
	switch {
	case filepath.IsAbs(command):
		return command
	case strings.Contains(command, "/"):
		return filepath.Join(dir, command)
	}
	for _, place := range filepath.SplitList(path) {
		// A program in a relative directory of PATH is not the one that the operator
		// meant.
		if !filepath.IsAbs(place) {
			continue
		}
		found := filepath.Join(place, command)
		if info, err := os.Stat(found); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return found
		}
	}
	return ""
}

// environment returns the variables to which the profile's env refers. One that
// is not allowed or not set is an error, never an empty string.
func (p *Profile) environment() (map[string]string, error) {
	all := split(p.Environ)
	found := map[string]string{}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(p.Env)) {
		t, err := parseTemplate(p.Env[key], true)
		if err != nil {
			continue // checkTexts reports this
		}
		for _, name := range t.names() {
			value, set := all[name]
			switch {
			case !slices.Contains(p.EnvAllowlist, name):
				errs = append(errs, fmt.Errorf("env.%s: ${%s} is not in env_allowlist", key, name))
			case !set:
				errs = append(errs, fmt.Errorf("env.%s: ${%s} is not set in the gateway's environment", key, name))
			default:
				found[name] = value
			}
		}
	}
	return found, errors.Join(errs...)
}

// hidden returns the values of the variables that the profile's env refers to.
// Values that every agent gets anyway are not secret.
func (p *Profile) hidden(variables map[string]string) *output.Secrets {
	told := slices.Collect(maps.Values(operational(p.Environ)))
	var values []string
	for _, value := range variables {
		if !slices.Contains(told, value) {
			values = append(values, value)
		}
	}
	return output.Among(values)
}

// operational returns the variables that every agent gets: what it needs to
// find programs, its home and its locale, and nothing that could be a secret.
func operational(environ []string) map[string]string {
	env := map[string]string{}
	for name, value := range split(environ) {
		switch name {
		case "PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR":
			env[name] = value
		default:
			if strings.HasPrefix(name, "LC_") {
				env[name] = value
			}
		}
	}
	return env
}

// split parses NAME=VALUE pairs.
func split(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	return env
}

// spawnFailure words the error of starting a process, with the exit code that a
// shell would use.
func (l launch) spawnFailure(err error) (text string, code int) {
	info, statErr := os.Stat(l.dir)
	switch {
	case statErr != nil || !info.IsDir():
		return fmt.Sprintf("could not be started: its directory %q does not exist", l.dir), 127
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("could not be started: program %q does not exist, or the interpreter that it names does not", l.argv[0]), 127
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("could not be started: program %q is not executable", l.argv[0]), 126
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return fmt.Sprintf("could not be started: program %q: %v", l.argv[0], errno), 126
	}
	return "could not be started: the gateway is out of resources", 126
}
