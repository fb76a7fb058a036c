package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// Options describe the setup of a client.
type Options struct {
	// Client is the client's name.
	Client string
	// URL is the gateway, or one of its chains: http://127.0.0.1:8080 or
	// http://127.0.0.1:8080/v1/chains/NAME.
	URL string
	// Transport overrides the client's default, which is the one that is best at
	// failing closed; may be nil.
	Transport *Transport
	// Program is the path of this program, for clients that run a command.
	Program string
	// TokenFile contains the token with which the gateway authenticates the
	// caller. Only gateway ask reads it.
	TokenFile string
	// Patience is the hook's timeout for the gateway; the client's is longer.
	// Zero means 25 s, which is longer than a chain's default budget.
	Patience time.Duration
	// Home locates the user's settings.
	Home Home
	// File overrides the file in which hooks are declared; may be empty.
	File string
	// Fresh ignores existing files, so that the new ones contain nothing else.
	Fresh bool
}

const (
	defaultPatience = 25 * time.Second
	// margin is the difference between the client's timeout and the hook's: a
	// process must start, and the machine may be busy.
	margin = 10 * time.Second
	// fresh is the mode of a new file, because settings contain secrets.
	fresh fs.FileMode = 0o600
)

// Plan is the intended content of a client's files.
type Plan struct {
	// Title is the client's name for people, Transport how it asks.
	Title     string
	Transport Transport
	Files     []File
	// Gaps list what the client cannot guarantee, Steps what its user must do.
	Gaps, Steps []string
}

// File is the old and the new content of a file.
type File struct {
	Path          string
	named         string // the path before links were resolved
	Before, After []byte // Before is nil for a new file
	Mode          fs.FileMode
}

// Changed reports whether the file must be written.
func (f File) Changed() bool { return f.Before == nil || !bytes.Equal(f.Before, f.After) }

// New plans the setup of a client. It reads the client's settings and changes
// nothing.
func New(o Options) (*Plan, error) {
	c, err := find(o.Client)
	if err != nil {
		return nil, err
	}
	transport, err := c.transport(o.Transport)
	if err != nil {
		return nil, err
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Patience < 0 {
		return nil, fmt.Errorf("the timeout is %v: give a positive duration", o.Patience)
	}
	address, err := gatewayAddress(o.URL)
	if err != nil {
		return nil, err
	}
	p := &Plan{Title: c.title, Transport: transport, Gaps: c.gaps(transport), Steps: c.steps}
	declared := hook{
		transport: transport, url: address + "/clients/" + c.name, ask: o.Patience, wait: o.Patience + margin,
	}
	if transport == Command && !filepath.IsAbs(o.Program) {
		return nil, fmt.Errorf("the program's path %q is not absolute: a client runs its hooks in any directory", o.Program)
	}
	if o.TokenFile != "" && (transport != Command || !filepath.IsAbs(o.TokenFile)) {
		return nil, fmt.Errorf("only gateway ask reads a token, from a file with an absolute path: use --command if %s supports it", c.title)
	}
	for _, event := range c.events() {
		declared.event = event
		switch transport {
		case Command:
			declared.command = askLine(asked{o.Program, c.name, o.URL, o.TokenFile, o.Patience}, event)
		case HTTP:
			declared.url = address + "/clients/" + c.name + "/" + event
		case Plugin: // the plugin's requests name the event
		}
		if err := p.declare(&c, declared, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (c *client) transport(wanted *Transport) (Transport, error) {
	if wanted == nil {
		return c.transports[0], nil
	}
	if !slices.Contains(c.transports, *wanted) {
		return 0, fmt.Errorf("%s cannot use %v, only %v", c.title, *wanted, c.transports[0])
	}
	return *wanted, nil
}

// gatewayAddress returns the base URL of a client's routes, which ends in /v1 or
// /v1/chains/NAME.
func gatewayAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the gateway's address %q is not valid: use http://127.0.0.1:8080, or http://127.0.0.1:8080/v1/chains/NAME for a chain of that name", address)
	}
	path := strings.Trim(u.Path, "/")
	switch parts := strings.Split(path, "/"); {
	case path == "" || path == "v1":
		u.Path = "/v1"
	case len(parts) == 3 && parts[0] == "v1" && parts[1] == "chains":
		u.Path = "/" + path
	default:
		return "", fmt.Errorf("the gateway's address %q has a path: give it without one, or with /v1/chains/NAME for a chain of that name", address)
	}
	return u.String(), nil
}

// declare adds a hook to its file.
func (p *Plan) declare(c *client, h hook, o Options) error {
	path, err := c.path(o, h.event)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.named == path })
	if i < 0 {
		f := File{Path: path, named: path, Mode: fresh}
		if !o.Fresh {
			if f, err = readFile(path); err != nil {
				return err
			}
		}
		p.Files = append(p.Files, f)
		i = len(p.Files) - 1
	}
	f := &p.Files[i]
	if c.layout == own {
		return f.become(c, h)
	}
	if f.After, err = declared(c, h, f.After); err != nil {
		return fmt.Errorf("%s cannot be changed: %w", path, err)
	}
	return nil
}

// path returns the file in which a client declares the hooks of an event.
func (c *client) path(o Options, event string) (string, error) {
	switch {
	case o.File != "" && c.layout != own:
		return o.File, nil
	case o.File != "":
		return "", fmt.Errorf("%s needs hook files with fixed names: omit --file", c.title)
	case c.file == nil:
		return "", fmt.Errorf("the hooks file of %s has no fixed place: name the file with --file (see docs/clients.md)", c.title)
	}
	return c.file(o.Home, event), nil
}

// readFile reads a settings file; a missing one is empty. It resolves links, so
// that the target is changed and not the link.
func readFile(path string) (File, error) {
	named := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	f := File{Path: path, named: named, Mode: fresh}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, dangling(path)
	case err != nil:
		return f, err
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("%s is not a file", path)
	}
	f.Mode = info.Mode().Perm()
	f.Before, err = os.ReadFile(path)
	if f.Before == nil {
		f.Before = []byte{}
	}
	f.After = f.Before
	return f, err
}

// dangling returns an error for a link whose target does not exist: writing would
// replace the link, and its target is not ours to create.
func dangling(path string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return nil //nolint:nilerr // not a link; that nothing is there is allowed
	}
	return fmt.Errorf("%s is a link to %s, which does not exist: create that file, or remove the link, and run this again", path, target)
}

// ownMark is in every code file that this package writes.
const ownMark = "gateway init"

// become sets the content of a code file, unless somebody else wrote the file.
func (f *File) become(c *client, h hook) error {
	if len(f.Before) > 0 && !bytes.Contains(f.Before, []byte(ownMark)) {
		return fmt.Errorf("%s exists and was not written by gateway init: make it run the command below, or move it away\n\n%s", f.Path, c.text(h))
	}
	f.After = []byte(c.text(h))
	if c.transports[0] == Command {
		f.Mode |= 0o700
	}
	return nil
}

// declared returns the text of a settings file with a hook added.
func declared(c *client, h hook, text []byte) ([]byte, error) {
	d, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	for _, m := range c.header {
		if err := d.set(m); err != nil {
			return nil, err
		}
	}
	list, err := d.array("hooks", h.event)
	if err != nil {
		return nil, err
	}
	if c.layout == groups {
		err = declareInGroups(list, c, group{"*", []any{c.entry(h)}})
	} else {
		err = declareFlat(list, c, c.entry(h))
	}
	if err != nil {
		return nil, err
	}
	return d.text(), nil
}

// depth is the depth of an event's hooks: hooks, the event, the list.
const depth = 3

func declareFlat(list *hujson.Array, c *client, entry any) error {
	found := false
	for i := len(list.Elements) - 1; i >= 0; i-- {
		if !c.isOurs(decoded(&list.Elements[i])) {
			continue
		}
		if found || slices.ContainsFunc(list.Elements[:i], func(v hujson.Value) bool { return c.isOurs(decoded(&v)) }) {
			removeFrom(list, i)
			continue
		}
		found = true
		if err := replaceIn(list, i, entry, depth); err != nil {
			return err
		}
	}
	if found {
		return nil
	}
	return appendTo(list, entry, depth)
}

// declareInGroups adds the group, or replaces one that contains only the
// gateway's hooks. From groups that also contain others' hooks it removes the
// gateway's.
func declareInGroups(list *hujson.Array, c *client, entry group) error {
	found := false
	for i := 0; i < len(list.Elements); i++ {
		hooks := hooksOf(&list.Elements[i])
		if hooks == nil {
			continue
		}
		ours := 0
		for _, h := range hooks.Elements {
			if c.isOurs(decoded(&h)) {
				ours++
			}
		}
		switch {
		case ours == 0:
		case ours == len(hooks.Elements) && !found:
			found = true
			if err := replaceIn(list, i, entry, depth); err != nil {
				return err
			}
		case ours == len(hooks.Elements):
			removeFrom(list, i)
			i--
		default:
			for j := len(hooks.Elements) - 1; j >= 0; j-- {
				if c.isOurs(decoded(&hooks.Elements[j])) {
					removeFrom(hooks, j)
				}
			}
		}
	}
	if found {
		return nil
	}
	return appendTo(list, entry, depth)
}

// hooksOf returns the list of hooks in a group; nil if there is none.
func hooksOf(v *hujson.Value) *hujson.Array {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	hooks := memberOf(o, "hooks")
	if hooks == nil {
		return nil
	}
	a, _ := hooks.Value.(*hujson.Array)
	return a
}

// isOurs reports whether a declaration asks a gateway for this client.
func (c *client) isOurs(entry any) bool {
	line, address := reach(entry)
	if a, ok := readAskLine(line); ok {
		return a.client == c.name
	}
	u, err := url.Parse(address)
	return err == nil && (strings.HasSuffix(u.Path, "/clients/"+c.name) || strings.Contains(u.Path, "/clients/"+c.name+"/"))
}

// reach returns the command line that a declaration runs, or the URL that it
// posts to.
func reach(entry any) (line, address string) {
	fields, _ := entry.(map[string]any)
	for _, key := range []string{"command", "bash"} {
		if s, ok := fields[key].(string); ok && line == "" {
			line = s
		}
	}
	address, _ = fields["url"].(string)
	return line, address
}

// Write writes the files that changed and keeps a backup of each old one. It
// returns the names of the backups, in the order of the files; an empty one if
// there was no old file.
func (p *Plan) Write(now time.Time) ([]string, error) {
	kept := make([]string, len(p.Files))
	for i, f := range p.Files {
		if !f.Changed() {
			continue
		}
		var err error
		if kept[i], err = f.write(now); err != nil {
			return kept, fmt.Errorf("%s was not changed: %w", f.Path, err)
		}
	}
	return kept, nil
}

// write replaces the file atomically: a concurrent reader sees the old or the new
// content as a whole.
func (f File) write(now time.Time) (kept string, err error) {
	current, err := os.ReadFile(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if (f.Before == nil) != (err != nil) || !bytes.Equal(current, f.Before) {
		return "", errors.New("somebody else changed it meanwhile: try again")
	}
	dir := filepath.Dir(f.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if f.Before != nil {
		if kept, err = f.keep(now); err != nil {
			return "", err
		}
	}
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(f.Path)+".*")
	if err != nil {
		return kept, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name()) // the earlier error is the one to report
		}
	}()
	_, err = temporary.Write(f.After)
	err = errors.Join(err, temporary.Chmod(f.Mode), temporary.Sync(), temporary.Close())
	if err != nil {
		return kept, err
	}
	return kept, os.Rename(temporary.Name(), f.Path)
}

// keep copies the existing file to an unused name.
func (f File) keep(now time.Time) (string, error) {
	name := f.Path + "." + now.UTC().Format("20060102-150405") + ".bak"
	for i := 1; ; i++ {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.Mode)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			name = f.Path + "." + now.UTC().Format("20060102-150405") + "-" + strconv.Itoa(i) + ".bak"
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(f.Before)
		return name, errors.Join(err, file.Close())
	}
}
