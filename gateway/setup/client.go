package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	dialect "github.com/hookgate/hookgate/gateway/client"
)

// client describes the settings of one client.
type client struct {
	// name is the one in its route, title the one for people.
	name, title string
	// file returns the file in which it declares the hooks of an event; "" if
	// only its user can know.
	file func(h Home, event string) string
	// layout is the format of that file.
	layout layout
	// transports are those that it supports; the first one is the best at failing
	// closed.
	transports []Transport
	// before are its events before a call, after those after it; only those whose
	// answers have an effect.
	before, after []string
	// entry returns a hook's declaration in a settings file, text the whole file
	// if it belongs to the gateway alone.
	entry func(hook) any
	text  func(hook) string
	// header are keys without which the client rejects a settings file.
	header []member
	// patience describes the key for the hook's timeout.
	patience map[Transport]patience
	// closing is the key that makes a failed hook block the call, if there is
	// one.
	closing *member
	// off are settings that disable all hooks.
	off []setting
	// offList is the path of a list of disabled hooks by name; the gateway's hook
	// is called hookgate if it has a name.
	offList []string
	// gaps lists what the client cannot guarantee.
	gaps func(Transport) []string
	// trust reports whether the user has approved the hooks of a file, if the
	// client requires approval.
	trust func(path string) (Severity, string)
	// steps are what the user must do by hand.
	steps []string
	// question returns a pre-call event for a shell call as the client sends it,
	// and denied what a deny looks like on stdout or in the body: any of these
	// settings.
	question func(command, dir string) any
	denied   []setting
}

// layout is a format of files that declare hooks.
type layout int

const (
	// groups is JSON with a list of matchers, each with its hooks, for each
	// event.
	groups layout = iota
	// flat is JSON with a list of hooks for each event.
	flat
	// own is a code file that belongs to the gateway alone.
	own
)

// member is a key with its value, as JSON.
type member struct{ key, value string }

// setting is a path of keys in JSON text with its value.
type setting struct {
	path  []string
	value string
}

// patience describes the key for a hook's timeout.
type patience struct {
	key  string
	unit time.Duration
	// unset is the timeout if the key is missing.
	unset time.Duration
}

// hook is a hook to declare.
type hook struct {
	transport Transport
	event     string
	command   string        // the line for a shell
	url       string        // the route
	ask, wait time.Duration // the hook's timeout for the gateway, and the client's for the hook
}

// in returns the client's timeout in the given unit, rounded up.
func (h hook) in(unit time.Duration) int64 { return int64((h.wait + unit - 1) / unit) }

// Transport is how a client reaches the gateway.
type Transport int

// The client runs gateway ask, sends HTTP requests itself, or loads a plugin of
// the gateway into its own process.
const (
	Command Transport = iota
	HTTP
	Plugin
)

func (t Transport) String() string {
	return [...]string{"a command", "HTTP", "a plugin"}[t]
}

// Home locates a user's settings.
type Home struct {
	Dir string
	// Getenv looks up a variable that relocates a client's settings; may be nil.
	Getenv func(string) string
}

// at returns a path below the directory that a variable names, by default below a
// directory in the home directory.
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

// clients returns all clients that can be set up.
func clients() []client {
	return []client{
		claudeCode(), codex(), copilot(), cursor(), droid(), geminiCLI(), openHands(), opencode(), qwenCode(),
		windsurf(), cline(), goose(), kiro(),
	}
}

// Names returns the names of the clients that can be set up.
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
		if known, ok := dialect.Find(name); ok {
			return client{}, fmt.Errorf("%s has no user settings: whoever operates it sends its calls to /v1/clients/%s (see docs/clients.md)", known.Title(), name)
		}
		return client{}, fmt.Errorf("unknown client %q: known are %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}

// events returns all events that are declared.
func (c client) events() []string { return slices.Concat(c.before, c.after) }

// always is for a client with one file for all events.
func always(at func(Home) string) func(Home, string) string {
	return func(h Home, _ string) string { return at(h) }
}

// commandEntry is the declaration format that most clients share.
type commandEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// group is a matcher with its hooks. An empty matcher would match everything,
// too, but not every client documents that.
type group struct {
	Matcher string `json:"matcher"`
	Hooks   []any  `json:"hooks"`
}
