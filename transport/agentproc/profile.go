package agentproc

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrTurn marks a turn that cannot be given to an agent because of the caller's
// mistake, not the profile's.
var ErrTurn = errors.New("invalid turn")

// The largest values that a profile can set.
const (
	maxTimeout   = 24 * time.Hour
	maxKillGrace = 10 * time.Minute
)

// Profile says how to run an agent. The names in parentheses are the keys of a
// profile file. Start from [DefaultProfile]: the zero Profile is refused.
type Profile struct {
	// Name is the agent's name, taken from its file's name.
	Name string
	// Dir is the directory of its file, an absolute path.
	Dir string

	// Command is the program (command). A bare name is looked up in the PATH of
	// Environ; a path with a directory part is relative to Cwd. It is executed
	// without a shell and never split at blanks.
	Command string
	// Args are its arguments (args).
	Args []string
	// Cwd is the directory in which it runs (cwd): absolute, relative to Dir, or
	// below the home directory with ~/. Empty means Dir.
	Cwd string
	// Env is set in its environment (env). The values may refer to EnvAllowlist.
	Env map[string]string
	// EnvAllowlist are the names to which ${NAME} in Env may refer
	// (env_allowlist).
	EnvAllowlist []string
	// Environ is the environment, as NAME=VALUE, that provides the values for
	// ${NAME} and the operational variables.
	Environ []string

	// Timeout is the longest that a turn may take (timeout_secs).
	Timeout time.Duration
	// KillGrace is the time between SIGTERM and SIGKILL (kill_grace_secs).
	KillGrace time.Duration
	// Streaming forwards partials (streaming).
	Streaming bool

	// Permission lets the agent request permission (permission).
	Permission bool
	// PermissionDefault answers a request that the chain allows
	// (permission_default).
	PermissionDefault PermissionDefault
	// PermissionAskTimeout is how long a person has to answer
	// (permission_ask_timeout_secs).
	PermissionAskTimeout time.Duration
	// Chain is the chain that decides requests (chain). Empty means the
	// operator's.
	Chain string
}

// DefaultProfile is the profile of an empty file. The AgentProc documents
// define the timeout, the grace and streaming. What they leave to the bridge
// denies.
func DefaultProfile() Profile {
	return Profile{
		Timeout:              1800 * time.Second,
		KillGrace:            5 * time.Second,
		Streaming:            true,
		PermissionDefault:    DenyByDefault,
		PermissionAskTimeout: 300 * time.Second,
	}
}

// Check returns an error that lists every problem with the profile by its key
// in the file.
func (p *Profile) Check() error {
	errs := []error{p.checkPlace(), p.checkTimes(), p.checkTexts()}
	_, err := p.environment()
	return errors.Join(append(errs, err)...)
}

func (p *Profile) checkPlace() error {
	var errs []error
	if p.Name == "" {
		errs = append(errs, errors.New("the agent has no name"))
	}
	if !filepath.IsAbs(p.Dir) {
		errs = append(errs, fmt.Errorf("the profile's directory %q is not an absolute path", p.Dir))
	}
	if p.Command == "" {
		errs = append(errs, errors.New("command: is missing"))
	}
	return errors.Join(errs...)
}

func (p *Profile) checkTimes() error {
	var errs []error
	if p.Timeout <= 0 || p.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout_secs: %v is not between 0 s and %v", p.Timeout, maxTimeout))
	}
	if p.KillGrace < 0 || p.KillGrace > maxKillGrace {
		errs = append(errs, fmt.Errorf("kill_grace_secs: %v is not between 0 s and %v", p.KillGrace, maxKillGrace))
	}
	if p.PermissionDefault > AskByDefault {
		errs = append(errs, fmt.Errorf("permission_default: %d is not a valid value", p.PermissionDefault))
	}
	if p.PermissionDefault == AskByDefault && (p.PermissionAskTimeout <= 0 || p.PermissionAskTimeout > maxTimeout) {
		errs = append(errs, fmt.Errorf("permission_ask_timeout_secs: %v is not between 0 s and %v", p.PermissionAskTimeout, maxTimeout))
	}
	return errors.Join(errs...)
}

// checkTexts checks the texts that are passed to the system or filled in.
func (p *Profile) checkTexts() error {
	var errs []error
	check := func(place, text string, variables bool) {
		_, err := parseTemplate(text, variables)
		if err == nil && strings.ContainsRune(text, 0) {
			err = errors.New("has a NUL character")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place, err))
		}
	}
	check("command", p.Command, false)
	for i, arg := range p.Args {
		check(fmt.Sprintf("args[%d]", i), arg, false)
	}
	check("cwd", p.Cwd, false)
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if !validVariable(name) {
			errs = append(errs, fmt.Errorf("env: %q is not a valid variable name", name))
		}
		check("env."+name, p.Env[name], true)
	}
	for i, name := range p.EnvAllowlist {
		if !validVariable(name) {
			errs = append(errs, fmt.Errorf("env_allowlist[%d]: %q is not a valid variable name", i, name))
		}
	}
	return errors.Join(errs...)
}
