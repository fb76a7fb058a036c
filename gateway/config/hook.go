package config

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hookgate/hookgate/chain"
)

// Bounds and defaults of an entry's values.
const (
	defaultTimeoutMs = 5000
	maxTimeoutMs     = 10 * 60 * 1000
	maxName          = 128 // bytes, of hooks and of tools

	defaultInFlight = 64
	maxInFlight     = 100_000

	defaultResponse = 1 << 20 // bytes
	maxResponse     = 64 << 20
	maxRequest      = 64 << 20 // bytes
)

// Hook is one entry of a file, with all defaults filled in. It is immutable after
// loading.
type Hook struct {
	// Position is where the entry begins.
	Position Position
	// Name is its name in reasons: printable, without quotes, at most 128 bytes.
	// It need not be unique.
	Name string

	// Exactly one of Command, Webhook and Use is set.
	Command *Command
	Webhook *Webhook
	Use     *Use

	Event chain.Event
	// Tools are tool names with * as a glob; nil means every tool.
	Tools []string
	// When reports whether the hook is asked about a request; nil means always.
	// It returns by until; the zero time is no limit.
	When func(r *chain.Request, until time.Time) bool
	// Timeout is positive and at most ten minutes. Default 5 s, and 5 min for a
	// hook that asks a person.
	Timeout time.Duration
	// FirstTimeout replaces Timeout while the hook is cold, and is longer; 0
	// means no difference.
	FirstTimeout time.Duration
	OnFailure    chain.OnFailure
	Guard        bool
	Mode         chain.Mode
	// Canary may be nil.
	Canary *Canary

	// Fingerprint is the hash of the canary and of everything the binding is made
	// of, including resolved values and the contents of referenced files. It does
	// not cover what only the chain uses (name, event, tools, conditions,
	// timeout, guard, mode, on_failure), nor the secrets of a [Webhook]. Entries
	// of two loads with equal fingerprints can share one binding.
	Fingerprint [sha256.Size]byte

	keys map[string]place // the places of the entry's keys
}

// Limits bound the resources that one binding may use.
type Limits struct {
	// MaxInFlight limits the calls in flight. At least 1.
	MaxInFlight int
	// MaxRequestBytes limits the length of a call; 0 means no limit. It is not
	// part of the binding, which survives a change of it.
	MaxRequestBytes int
	// MaxResponseBytes limits the length of an answer. At least 1.
	MaxResponseBytes int
}

// UseApproval is the value of use: for a hook that asks a person. It is not a
// guard: it has a timeout of its own, and must not take part in anything that
// continues without the person's answer.
const UseApproval = "approval"

// defaultApproval is a person's default timeout.
const defaultApproval = 5 * time.Minute

// IsApproval reports whether the hook asks a person. Its timeout is not part of
// the chain's budget.
func (h *Hook) IsApproval() bool { return h.Use != nil && h.Use.Guard == UseApproval }

// Use is a guard that is built into the gateway.
type Use struct {
	// Guard is its name, one of [Options.Guards].
	Guard string
	// With holds its options by name, each as JSON text; may be nil.
	With map[string]json.RawMessage
}

// Mistake returns an error at the entry, for mistakes that only the builder of a
// participant can detect. key is the path within the entry ("with.patterns[2]");
// it is empty for the entry as a whole.
func (h *Hook) Mistake(key, message string) Error {
	at := h.Position
	if key != "" {
		at.Path += ": " + key
		first, _, _ := strings.Cut(key, ".")
		if stands, ok := h.keys[first]; ok {
			at.Line, at.Column = stands.line, stands.column
		}
	}
	return Error{at, message}
}

// entryKeys are the keys that every entry may have.
func entryKeys() []string {
	return []string{
		"name", "command", "url", "use", "event", "tools", "when", "timeout_ms", "on_failure", "guard", "mode", "canary",
	}
}

// ownedKeys are the keys that only some bindings have.
func ownedKeys() []string {
	return []string{
		"env", "dir", "worker", "headers", "auth", "signing", "bind_answers", "cloudevents", "unwrap", "breaker", "tls", "proxy", "first_call_timeout_ms", "cold_after_ms", "warmup", "max_connection_age_ms", "with", "max_in_flight", "max_request_bytes", "max_response_bytes",
	}
}

// bindingKeys are the keys that select a binding.
func bindingKeys() []string { return []string{"command", "url", "use"} }

// owners returns the bindings that have a key, as the keys that select them.
func owners(key string) []string {
	switch key {
	case "env", "dir", "worker":
		return []string{"command"}
	case "headers", "auth", "signing", "cloudevents", "unwrap", "breaker", "tls", "proxy", "first_call_timeout_ms", "cold_after_ms", "warmup", "max_connection_age_ms":
		return []string{"url"}
	case "with":
		return []string{"use"}
	case "bind_answers", "max_in_flight", "max_request_bytes", "max_response_bytes":
		return []string{"command", "url"}
	}
	return bindingKeys()
}

// hook reads one entry. Mistakes are added to the errors; it returns nil if the
// value is not an entry at all.
func (r *reading) hook(v value) *Hook {
	v.way = entryWay(v)
	o, ok := r.object(v, append(entryKeys(), ownedKeys()...)...)
	if !ok {
		return nil
	}
	if isBasis(r.file) {
		for _, key := range []string{"tools", "timeout_ms"} {
			if said, ok := o[key]; ok && said.kind == null {
				delete(o, key)
			}
		}
	}
	h := &Hook{
		Position: r.position(v.at, v.way),
		Event:    chain.PreToolUse,
		Timeout:  defaultTimeoutMs * time.Millisecond,
		keys:     make(map[string]place, len(o)),
	}
	for key, at := range o {
		h.keys[key] = at.keyAt
	}
	r.name(h, v, o)
	r.binding(h, v, o)
	if h.IsApproval() {
		h.Timeout = defaultApproval
		r.approval(o)
	}
	r.applying(h, o)
	r.policy(h, o)
	if v, ok := o["canary"]; ok {
		r.canary(h, v)
	}
	if len(r.errors) == 0 { // also none in the YAML, which leaves values out
		h.Fingerprint = h.fingerprint()
		if h.Webhook != nil {
			h.Webhook.Secrets = h.Webhook.secrets()
		}
	}
	return h
}

// entryWay returns the path of an entry for messages.
func entryWay(v value) way {
	w := way{entry: v.way.String()}
	if v.kind != mapping {
		return w
	}
	if name := v.member("name"); name != nil && name.kind == text && name.text != "" {
		w.entry += " " + quote(name.text)
	}
	return w
}

func (r *reading) name(h *Hook, v value, o object) {
	n, ok := o["name"]
	if !ok {
		r.fail(v, "name is missing: denials name the hook")
		return
	}
	s, ok := r.literal(n)
	if !ok || !r.printable(n, s, maxName) {
		return
	}
	if strings.ContainsAny(s, `'"`) {
		r.fail(n, "%s contains a quote, but denials print the name between quotes", quote(s))
		return
	}
	h.Name = s
}

// binding reads the key that selects the binding and the keys that belong to it.
// If several are present, all are read to report their mistakes.
func (r *reading) binding(h *Hook, v value, o object) {
	var chosen []string
	for _, key := range bindingKeys() {
		if _, ok := o[key]; ok {
			chosen = append(chosen, key)
		}
	}
	switch len(chosen) {
	case 0:
		r.fail(v, "one of %s is missing: it says what to ask", listed(bindingKeys(), "and"))
	case 1:
		r.misplaced(v, o, chosen[0])
	default:
		r.fail(v, "%s are mutually exclusive: set one of them", listed(chosen, "and"))
	}
	if _, ok := o["command"]; ok {
		h.Command = r.command(o)
	}
	if _, ok := o["url"]; ok {
		h.Webhook = r.webhook(o)
	}
	if _, ok := o["use"]; ok {
		h.Use = r.use(o)
	}
}

// misplaced reports keys that belong only to bindings other than the chosen one.
func (r *reading) misplaced(v value, o object, chosen string) {
	for _, key := range ownedKeys() {
		m, ok := o[key]
		if ok && !slices.Contains(owners(key), chosen) {
			r.failAt(m.keyAt, v.way, "%s is for a %s hook, and this is a %s hook",
				key, listed(owners(key), "or"), chosen)
		}
	}
}

// applying reads the conditions under which the hook is asked.
func (r *reading) applying(h *Hook, o object) {
	if v, ok := o["event"]; ok {
		if word, ok := r.word(v, chain.PreToolUse.String(), chain.PostToolUse.String()); ok && word == chain.PostToolUse.String() {
			h.Event = chain.PostToolUse
		}
	}
	if v, ok := o["tools"]; ok {
		h.Tools = r.tools(v)
	}
	if v, ok := o["when"]; ok {
		h.When = r.when(v, h.Event)
	}
	if v, ok := o["timeout_ms"]; ok {
		if ms, ok := r.whole(v, maxTimeoutMs); ok {
			h.Timeout = time.Duration(ms) * time.Millisecond
		}
	}
	if v, ok := o["first_call_timeout_ms"]; ok {
		r.firstTimeout(h, v)
	}
}

// policy reads how the chain treats the hook's answers.
func (r *reading) policy(h *Hook, o object) {
	if v, ok := o["guard"]; ok {
		h.Guard, _ = r.boolean(v)
	}
	if v, ok := o["mode"]; ok {
		if word, ok := r.word(v, chain.Enforce.String(), chain.Shadow.String()); ok && word == chain.Shadow.String() {
			h.Mode = chain.Shadow
		}
	}
	if v, ok := o["on_failure"]; ok {
		word, ok := r.word(v, chain.DenyOnFailure.String(), chain.AllowOnFailure.String())
		if ok && word == chain.AllowOnFailure.String() {
			h.OnFailure = chain.AllowOnFailure
		}
		if (h.Guard || h.Use != nil) && h.OnFailure == chain.AllowOnFailure {
			r.warn(v, "a guard that allows on failure guards nothing while it is down")
		}
	}
}

// tools reads the names of the tools that a hook is asked about.
func (r *reading) tools(v value) []string {
	items, ok := r.list(v, `a list of names, like ["shell", "mcp__*"]`)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.fail(v, "an empty list matches no tool: for every tool, leave the key out")
	}
	var names []string
	for _, item := range items {
		s, ok := r.literal(item)
		if !ok || !r.printable(item, s, maxName) {
			continue
		}
		switch {
		case strings.ContainsAny(s, `|^$\()[]{}+?`) || strings.Contains(s, ".*"):
			r.warn(item, "%s is taken literally, not as a regular expression: only * is a wildcard", quote(s))
		case strings.ContainsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || c == ',' || c == ';' }):
			r.warn(item, "%s is taken literally, as the name of one tool: blanks and commas are part of it", quote(s))
		}
		names = append(names, s)
	}
	return names
}

// use reads a guard that is built into the gateway.
func (r *reading) use(o object) *Use {
	u := &Use{}
	if s, ok := r.literal(o["use"]); ok {
		u.Guard = s
		r.knownGuard(o["use"], s)
	}
	if v, ok := o["with"]; ok {
		u.With = r.options(v)
	}
	return u
}

// options reads a mapping with values of any type.
func (r *reading) options(v value) map[string]json.RawMessage {
	if v.kind != mapping {
		r.want(v, "a mapping of options")
		return nil
	}
	all := map[string]json.RawMessage{}
	for _, m := range r.unique(v) {
		if raw, ok := r.json(m); ok {
			all[m.key] = raw
		}
	}
	return all
}

// approval refuses settings with which a call could pass without the person's
// answer.
func (r *reading) approval(o object) {
	for key, why := range map[string]string{
		"guard":      "a person may change the input, and is asked after the hooks before this one: leave guard out",
		"mode":       "a person cannot be asked in shadow mode: leave mode out",
		"on_failure": "a call that no person answers is always denied: leave on_failure out",
		"with":       "approval has no options: leave with out",
	} {
		if v, ok := o[key]; ok {
			r.fail(v, "%s", why)
		}
	}
}

func (r *reading) knownGuard(v value, name string) {
	known := append(slices.Clone(r.guards), UseApproval)
	if slices.Contains(known, name) {
		return
	}
	hint := didYouMean(name, known)
	if hint == "" {
		hint = "; known: " + listed(known, "and")
	}
	r.fail(v, "unknown guard %s%s", quote(name), hint)
}

// limits reads the limits of a hook that runs outside the gateway.
func (r *reading) limits(o object) Limits {
	l := Limits{MaxInFlight: defaultInFlight, MaxResponseBytes: defaultResponse}
	if v, ok := o["max_in_flight"]; ok {
		if n, ok := r.whole(v, maxInFlight); ok {
			l.MaxInFlight = int(n)
		}
	}
	if v, ok := o["max_request_bytes"]; ok {
		if n, ok := r.whole(v, maxRequest); ok {
			l.MaxRequestBytes = int(n)
		}
	}
	if v, ok := o["max_response_bytes"]; ok {
		if n, ok := r.whole(v, maxResponse); ok {
			l.MaxResponseBytes = int(n)
		}
	}
	return l
}
