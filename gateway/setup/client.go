package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// client is what is known of a client's settings.
type client struct {
	// name is that of its route, title what its users call it.
	name, title string
	// file is where it declares the hooks of an event; empty where only its user
	// can know.
	file func(h Home, event string) string
	// layout is what that file holds.
	layout layout
	// transports are those it has, the one that fails closed first.
	transports []Transport
	// before are its events ahead of a call, after those behind it: only those
	// whose answers change something.
	before, after []string
	// entry is the declaration of a hook in a file of settings, text the whole
	// file where that is ours alone.
	entry func(hook) any
	text  func(hook) string
	// header are keys without which the client refuses a file of settings.
	header []member
	// patience is the key that says how long it waits for a hook.
	patience map[Transport]patience
	// closing is the key that blocks where the hook fails, if it has one.
	closing *member
	// off are keys that keep all hooks from running.
	off []setting
	// offList is a list with the names of hooks that do not run; ours is called
	// hookgate where it has a name.
	offList []string
	// gaps are what it cannot be made to promise.
	gaps func(Transport) []string
	// trust says whether its user allowed the hooks of a file, where the client
	// wants that.
	trust func(path string) (Severity, string)
	// steps are what its user has to do by hand.
	steps []string
	// question is an event ahead of a shell call as the client sends it, and
	// denied what a deny looks like on stdout or in the body: a path of keys with
	// its value, any of them.
	question func(command, dir string) any
	denied   []setting
}

// layout is what sort of file hooks are declared in.
type layout int

const (
	// groups is JSON that has for each event a list of matchers with their hooks.
	groups layout = iota
	// flat is JSON that has for each event a list of hooks.
	flat
	// own is a file of code, which we share with nobody.
	own
)

// member is a key with its value, as JSON.
type member struct{ key, value string }

// setting is a key with a value somewhere in a JSON text.
type setting struct {
	path  []string
	value string
}

// patience is the key that says how long a client waits for a hook.
type patience struct {
	key  string
	unit time.Duration
	// unset is how long it waits where nothing is said.
	unset time.Duration
}

// hook is one hook that is to be declared.
type hook struct {
	transport Transport
	event     string
	command   string        // the line for a shell
	url       string        // the route
	ask, wait time.Duration // how long the hook waits for the gateway, and the client for the hook
}

// in is how long the client shall wait, in the unit of its key.
func (h hook) in(unit time.Duration) int64 { return int64((h.wait + unit - 1) / unit) }

// Transport is how a client reaches the gateway.
type Transport int

// A client runs gateway ask, posts by itself, or has code of ours in its own
// process.
const (
	Command Transport = iota
	HTTP
	Plugin
)

func (t Transport) String() string {
	return [...]string{"a command", "HTTP", "a plugin"}[t]
}

// Home is where a user's settings are.
type Home struct {
	Dir string
	// Getenv reads a variable that moves a client's settings; nil is none.
	Getenv func(string) string
}

// at is a path below the directory that a variable names, or below one in the
// home directory.
func (h Home) at(variable, fallback string, rest ...string) string {
	dir := ""
	if variable != "" && h.Getenv != nil {
		dir = h.Getenv(variable)
	}
	if dir == "" {
		dir = filepath.Join(h.Dir, filepath.FromSlash(fallback))
	}
	return filepath.Join(append([]string{dir}, rest...)...)
}

// clients lists what can be set up.
func clients() []client {
	return []client{
		claudeCode(), codex(), copilot(), cursor(), droid(), geminiCLI(), openHands(), opencode(), qwenCode(),
		windsurf(), cline(), goose(), kiro(),
	}
}

// Names lists the clients that can be set up.
func Names() []string {
	var names []string
	for _, c := range clients() {
		names = append(names, c.name)
	}
	return names
}

func find(name string) (client, error) {
	all := clients()
	i := slices.IndexFunc(all, func(c client) bool { return c.name == name })
	if i < 0 {
		return client{}, fmt.Errorf("no client that can be set up is called %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// events are all that are declared.
func (c client) events() []string { return slices.Concat(c.before, c.after) }

// always is a file that is the same for every event.
func always(at func(Home) string) func(Home, string) string {
	return func(h Home, _ string) string { return at(h) }
}

// commandEntry is the declaration that most clients share.
type commandEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// group is a matcher with its hooks. An empty matcher would do as well, but not
// every client says so.
type group struct {
	Matcher string `json:"matcher"`
	Hooks   []any  `json:"hooks"`
}
