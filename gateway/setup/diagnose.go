package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// Severity is the significance of a finding.
type Severity int

// Open is a way for a call to run unchecked, Broken prevents every call from
// running, Remark is what cannot be guaranteed or determined, and Good is what
// was found in order.
const (
	Open Severity = iota
	Broken
	Remark
	Good
)

func (s Severity) String() string { return [...]string{"FAILS OPEN", "broken", "note", "ok"}[s] }

// Finding is one result of a diagnosis.
type Finding struct {
	Severity Severity
	Text     string
}

// Path is a way in which a client's configuration reaches the gateway, for a
// trial.
type Path struct {
	Event string
	// Command is the line that the client runs, Alone the same with an address at
	// which nothing listens, and Route the route that it posts to.
	Command, Alone, Route string
	// TokenFile is the file with the token that the command uses.
	TokenFile string
	// URL is where a client posts by itself, with Headers. Their values contain
	// variables as $NAME.
	URL      string
	Headers  map[string]string
	Patience time.Duration
}

// Diagnosis is the result of examining a client's settings.
type Diagnosis struct {
	Title string
	// File is the file that was examined. There is set if the client is set up at
	// all, Unread if that is unknown because a file exists and cannot be read.
	File     string
	There    bool
	Unread   bool
	Findings []Finding
	// Paths are the ways to the gateway before a call.
	Paths []Path
}

// Healthy reports whether no call can run unchecked and calls can run at all.
func (d *Diagnosis) Healthy() bool {
	return !slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Severity == Open || f.Severity == Broken })
}

func (d *Diagnosis) say(s Severity, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{s, fmt.Sprintf(format, args...)})
}

// unread records, once for each file, that it cannot be read.
func (d *Diagnosis) unread(format string, args ...any) {
	d.Unread = true
	if f := (Finding{Open, fmt.Sprintf(format, args...)}); !slices.Contains(d.Findings, f) {
		d.Findings = append(d.Findings, f)
	}
}

// Diagnose examines a client's settings. It uses only the options Client, Home
// and File.
func Diagnose(o Options) (*Diagnosis, error) {
	c, err := find(o.Client)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{Title: c.title}
	used := map[Transport]bool{}
	for _, event := range c.events() {
		path, err := c.path(o, event)
		if err != nil {
			return nil, err
		}
		if d.File == "" {
			d.File = path
		}
		d.event(&c, event, path, used)
	}
	switch {
	case !d.There && d.Unread:
		return d, nil
	case !d.There:
		d.say(Open, "%s has no hook that asks a gateway in %s: gateway init %s --write puts it there", c.title, d.File, c.name)
		return d, nil
	}
	if c.trust != nil {
		severity, says := c.trust(d.File)
		d.say(severity, "%s", says)
	}
	for _, t := range c.transports {
		if used[t] {
			for _, gap := range c.gaps(t) {
				d.say(Remark, "%s", gap)
			}
		}
	}
	return d, nil
}

// event examines the hooks of one event.
func (d *Diagnosis) event(c *client, event, path string, used map[Transport]bool) {
	ahead := slices.Contains(c.before, event)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
	case !ahead:
		return
	case errors.Is(err, fs.ErrNotExist):
		d.say(Open, "%s: there is no %s, so no hook asks a gateway and the call runs unchecked", event, path)
		return
	default:
		d.unread("%s: %v", event, err)
		return
	}
	var entries []any
	if c.layout == own {
		entries = d.ownEntries(c, text)
	} else {
		document, err := parseDocument(text)
		if err != nil {
			d.unread("%s cannot be read, so it is not known what %s makes of it: %v", path, c.title, err)
			return
		}
		for _, s := range c.off {
			if document.is(s) {
				d.say(Open, "%s has %s: %s, which disables all hooks", path, strings.Join(s.path, "."), s.value)
			}
		}
		if names, _ := decoded(document.at(c.offList...)).([]any); c.offList != nil && slices.Contains(names, "hookgate") {
			d.say(Open, "%s names hookgate in %s, which keeps the hook from running", path, strings.Join(c.offList, "."))
		}
		entries = d.entries(c, event, document)
	}
	if len(entries) == 0 {
		if ahead {
			d.say(Open, "%s: no hook asks a gateway, so the call runs unchecked", event)
		} else {
			d.say(Remark, "%s: no hook asks a gateway, so the model sees unchecked results", event)
		}
		return
	}
	d.There = true
	for _, entry := range entries {
		d.entry(c, event, entry, ahead, used)
	}
}

// ownEntries parses a code file that was written by this package.
func (d *Diagnosis) ownEntries(c *client, text []byte) []any {
	if c.transports[0] == Plugin {
		_, rest, found := strings.Cut(string(text), `const url = "`)
		address, _, ended := strings.Cut(rest, `"`)
		if !found || !ended {
			return nil
		}
		return []any{map[string]any{"url": address}}
	}
	for line := range strings.Lines(string(text)) {
		if _, ok := readAskLine(line); ok && !strings.HasPrefix(line, "#") {
			return []any{map[string]any{"command": strings.TrimSpace(line)}}
		}
	}
	return nil
}

// entries returns the gateway's hooks for an event.
func (d *Diagnosis) entries(c *client, event string, document *document) []any {
	v := document.at("hooks", event)
	if v == nil {
		return nil
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		d.say(Open, "hooks.%s is not a list", event)
		return nil
	}
	var entries []any
	for i := range list.Elements {
		entry := decoded(&list.Elements[i])
		if c.layout == flat {
			if c.isOurs(entry) {
				entries = append(entries, entry)
				d.matcher(event, entry)
				d.condition(event, entry)
			}
			continue
		}
		g, _ := entry.(map[string]any)
		hooks, _ := g["hooks"].([]any)
		for _, h := range hooks {
			if c.isOurs(h) {
				entries = append(entries, h)
				d.matcher(event, g)
				d.condition(event, h)
			}
		}
	}
	return entries
}

// matcher checks that a hook applies to every tool.
func (d *Diagnosis) matcher(event string, entry any) {
	fields, _ := entry.(map[string]any)
	matcher, there := fields["matcher"]
	if there && !slices.Contains([]any{"", "*", ".*"}, matcher) {
		d.say(Open, "%s: the hook has the matcher %v, so calls of other tools run unchecked: make it \"*\"", event, matcher)
	}
}

// condition checks that a hook applies to every call.
func (d *Diagnosis) condition(event string, entry any) {
	fields, _ := entry.(map[string]any)
	if _, there := fields["if"]; there {
		d.say(Open, "%s: the hook has a condition (if), so other calls run unchecked: remove it", event)
	}
}

// entry examines one of the gateway's hooks.
func (d *Diagnosis) entry(c *client, event string, entry any, ahead bool, used map[Transport]bool) {
	fields, _ := entry.(map[string]any)
	line, _ := reach(entry)
	t, ask := c.transports[0], defaultPatience
	switch {
	case line != "":
		t = Command
		ask = d.commandLine(event, line)
	case t != Plugin:
		t = HTTP
	}
	used[t] = true
	if on := c.closing; on != nil {
		if fields[on.key] != decodedLiteral(on.value) {
			d.say(Open, "%s: the hook has no %s: %s, so the call runs when the hook fails", event, on.key, on.value)
		} else {
			d.say(Good, "%s: %s is %s", event, on.key, on.value)
		}
	}
	wait := d.deadline(c, event, fields, t, ask)
	if ahead {
		d.path(c, event, fields, wait)
	}
}

// nobody is an address at which nothing listens.
const nobody = "http://127.0.0.1:1"

// path records a way to the gateway.
func (d *Diagnosis) path(c *client, event string, fields map[string]any, wait time.Duration) {
	line, address := reach(fields)
	p := Path{Event: event, Command: line, URL: address, Headers: map[string]string{}, Patience: wait}
	headers, _ := fields["headers"].(map[string]any)
	for name, value := range headers {
		p.Headers[name], _ = value.(string)
	}
	if a, ok := readAskLine(line); ok {
		route, err := gatewayAddress(a.url)
		if err != nil {
			d.say(Open, "%s: %v", event, err)
			return
		}
		p.Route, p.TokenFile = route+"/clients/"+c.name, a.tokenFile
		p.Alone = strings.ReplaceAll(line, a.url, nobody)
	}
	d.Paths = append(d.Paths, p)
}

func decodedLiteral(text string) any {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil
	}
	return decoded(&v)
}

// commandLine examines a hook's command line and returns its timeout for the
// gateway.
func (d *Diagnosis) commandLine(event, line string) time.Duration {
	a, _ := readAskLine(line)
	program, err := exec.LookPath(a.program)
	switch {
	case err != nil:
		d.say(Open, "%s: the hook runs %s, which cannot be run: %v", event, a.program, err)
	case !filepath.IsAbs(a.program):
		d.say(Remark, "%s: the hook runs %s, which is looked up in the client's PATH: here it is %s", event, a.program, program)
	default:
		d.say(Good, "%s: the hook runs %s", event, a.program)
	}
	if !closesEveryExit(line) {
		d.say(Open, "%s: a program that is missing or killed exits with a code other than 2, which lets the call run: write the hook with gateway init, which turns every failure into exit 2", event)
	}
	return a.patience
}

// deadline checks that the hook times out before the client does.
func (d *Diagnosis) deadline(c *client, event string, fields map[string]any, t Transport, ask time.Duration) time.Duration {
	key, known := c.patience[t]
	if !known {
		return ask
	}
	wait := key.unset
	if n, ok := fields[key.key].(float64); ok {
		wait = time.Duration(n * float64(key.unit))
	}
	switch {
	case t == HTTP:
		d.say(Remark, "%s: the client waits %v: the chain's budget (budget_ms) must be smaller", event, wait)
	case wait <= ask:
		d.say(Open, "%s: the client waits %v and the hook %v for the gateway: a slow gateway lets the call run. Make %s larger", event, wait, ask, key.key)
	default:
		d.say(Good, "%s: the hook gives up after %v, the client after %v", event, ask, wait)
	}
	return wait
}

// Question returns what a client sends before a shell call at an event, by
// default the first; nil if the event is about another kind of call.
func Question(name, event, command, dir string) ([]byte, error) {
	c, err := find(name)
	if err != nil {
		return nil, err
	}
	if event != "" && event != c.before[0] {
		return nil, nil
	}
	return indented(c.question(command, dir), "")
}

// Denies reports whether an answer makes the client block the call: a command's,
// or a gateway's to a client that posts by itself.
func Denies(name string, exit int, stdout, stderr []byte) bool {
	c, err := find(name)
	if err != nil {
		return false
	}
	if exit == 2 {
		return len(strings.TrimSpace(string(stderr))) > 0 && len(strings.TrimSpace(string(stdout))) == 0
	}
	if exit != 0 {
		return false
	}
	d, err := parseDocument(stdout)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.denied, d.is)
}
