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

// ErrTurn marks a turn that an agent cannot be given: the caller's mistake, not
// the profile's.
var ErrTurn = errors.New("unusable turn")

// The longest that a profile can set.
const (
	maxTimeout   = 24 * time.Hour
	maxKillGrace = 10 * time.Minute
)

// Profile says how an agent is run. The names in comments are those of a
// profile file. Start from [DefaultProfile]: the zero Profile refuses.
type Profile struct {
	// Name is the agent's name, after its file.
	Name string
	// Dir is the directory of its file, an absolute path.
	Dir string

	// Command is the program (command). A bare name is looked for in the PATH
	// of Environ; one with a directory part is relative to Cwd. It is one word,
	// however many blanks it has, and no shell reads it.
	Command string
	// Args are its arguments (args).
	Args []string
	// Cwd is the directory it runs in (cwd): absolute, or relative to Dir, or
	// below the home directory with ~/. Empty means Dir.
	Cwd string
	// Env is set for it (env). Its values may refer to EnvAllowlist.
	Env map[string]string
	// EnvAllowlist are the names that ${NAME} in Env may refer to
	// (env_allowlist).
	EnvAllowlist []string
	// Environ is the environment, NAME=VALUE, that ${NAME} and the operational
	// names are taken from.
	Environ []string

	// Timeout is the longest that a turn may take (timeout_secs).
	Timeout time.Duration
	// KillGrace is how long after SIGTERM an agent is killed (kill_grace_secs).
	KillGrace time.Duration
	// Streaming passes partials on (streaming).
	Streaming bool

	// Permission lets the agent ask (permission).
	Permission bool
	// PermissionDefault answers where the chain allows (permission_default).
	PermissionDefault PermissionDefault
	// PermissionAskTimeout is how long a person has to answer
	// (permission_ask_timeout_secs).
	PermissionAskTimeout time.Duration
	// Chain is the chain that answers requests (chain); empty means the
	// operator's.
	Chain string
}

// DefaultProfile is what a profile file that sets nothing says. The wire's own
// documents name the time-out, the grace and streaming; what they leave to a
// bridge denies here.
func DefaultProfile() Profile {
	return Profile{
		Timeout:              1800 * time.Second,
		KillGrace:            5 * time.Second,
		Streaming:            true,
		PermissionDefault:    DenyByDefault,
		PermissionAskTimeout: 300 * time.Second,
	}
}

// Check reports everything that is wrong with the profile, by the keys of its
// file.
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
		errs = append(errs, fmt.Errorf("permission_default: %d is none", p.PermissionDefault))
	}
	if p.PermissionDefault == AskByDefault && (p.PermissionAskTimeout <= 0 || p.PermissionAskTimeout > maxTimeout) {
		errs = append(errs, fmt.Errorf("permission_ask_timeout_secs: %v is not between 0 s and %v", p.PermissionAskTimeout, maxTimeout))
	}
	return errors.Join(errs...)
}

// checkTexts checks what is given to the system or filled in.
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
			errs = append(errs, fmt.Errorf("env: %q cannot be the name of a variable", name))
		}
		check("env."+name, p.Env[name], true)
	}
	for i, name := range p.EnvAllowlist {
		if !validVariable(name) {
			errs = append(errs, fmt.Errorf("env_allowlist[%d]: %q cannot be the name of a variable", i, name))
		}
	}
	return errors.Join(errs...)
}
