package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/transport/agentproc"
)

const (
	maxTurnSecs      = 24 * 60 * 60
	maxKillGraceSecs = 10 * 60
	noProfile        = "the file is empty: an agent's profile needs a command"
)

// Agent is the profile of one agent.
type Agent struct {
	// Position is the start of the file.
	Position Position
	// Profile is valid. Its Chain is that of a chain file, or [OperatorChain].
	Profile agentproc.Profile
}

// agents reads the agents' profiles. The chains must have been read before.
func (l *loader) agents() error {
	f := folder{path: l.options.AgentsDir, one: "agent", take: l.agent}
	if l.previous != nil {
		f.before = len(l.previous.Agents)
	}
	_, err := l.folder(f) // other files in the directory are the agents' programs
	return err
}

// agent reads one profile.
func (l *loader) agent(name, shown, path string, data []byte) {
	r := l.reading(shown, path)
	p := profileReading{reading: r, places: map[string]value{}, profile: agentproc.DefaultProfile()}
	p.profile.Name, p.profile.Dir = name, filepath.Dir(path)
	if root := r.root(data, noProfile); root != nil && !r.isOther(value{node: root}, forAgent) {
		p.read(value{node: root}, l.set, &l.options)
	}
	l.took(r)
	l.set.Agents[name] = &Agent{Position: Position{File: shown}, Profile: p.profile}
}

// profileReading is the state of reading one profile.
type profileReading struct {
	*reading
	profile agentproc.Profile
	// places maps key paths to their values, with the paths that the profile's
	// own Check uses.
	places map[string]value
}

func (p *profileReading) read(root value, set *Set, o *Options) {
	keys, ok := p.object(root, "command", "args", "cwd", "env", "env_allowlist", "timeout_secs", "kill_grace_secs",
		"streaming", "permission", "permission_default", "permission_ask_timeout_secs", "chain")
	if !ok {
		return
	}
	to := &p.profile
	for key, v := range keys {
		p.places[key] = v
		switch key {
		case "command":
			p.setText(&to.Command, v)
		case "args":
			to.Args = p.texts(v, `a list like ["--strict"] (no shell splits it)`)
		case "cwd":
			p.setText(&to.Cwd, v)
		case "env":
			to.Env = p.variables(v)
		case "env_allowlist":
			to.EnvAllowlist = p.texts(v, "a list of variable names")
		case "timeout_secs":
			p.seconds(&to.Timeout, v, 1, maxTurnSecs)
		case "kill_grace_secs":
			p.seconds(&to.KillGrace, v, 0, maxKillGraceSecs)
		case "streaming":
			p.setBoolean(&to.Streaming, v)
		case "permission":
			p.setBoolean(&to.Permission, v)
		case "permission_default":
			p.permissionDefault(v)
		case "permission_ask_timeout_secs":
			p.seconds(&to.PermissionAskTimeout, v, 1, maxTurnSecs)
		case "chain":
			p.chain(v, set)
		}
	}
	if to.Chain == "" {
		to.Chain = OperatorChain
	}
	to.Environ = o.agentEnvironment(to.EnvAllowlist)
	p.check(root)
}

func (p *profileReading) setText(to *string, v value) {
	if s, ok := p.text(v); ok {
		*to = s
	}
}

func (p *profileReading) setBoolean(to *bool, v value) {
	if b, ok := p.boolean(v); ok {
		*to = b
	}
}

func (p *profileReading) seconds(to *time.Duration, v value, least, most int64) {
	if n, ok := p.between(v, least, most); ok {
		*to = time.Duration(n) * time.Second
	}
}

func (p *profileReading) texts(v value, wanted string) []string {
	items, ok := p.list(v, wanted)
	if !ok {
		return nil
	}
	all := make([]string, len(items))
	for i, item := range items {
		p.places[item.way.keys] = item
		p.setText(&all[i], item)
	}
	return all
}

// variables reads env. References in its values are resolved for each turn.
func (p *profileReading) variables(v value) map[string]string {
	if v.kind != mapping {
		p.want(v, "a mapping of variable names to strings")
		return nil
	}
	all := map[string]string{}
	for _, m := range p.unique(v) {
		p.places[m.way.keys] = m
		if s, ok := p.text(m); ok {
			all[m.key] = s
		}
	}
	return all
}

func (p *profileReading) permissionDefault(v value) {
	var known []string
	for _, d := range agentproc.PermissionDefaults() {
		known = append(known, d.String())
	}
	word, ok := p.word(v, known...)
	if !ok {
		return
	}
	d, err := agentproc.ParsePermissionDefault(word)
	if err != nil {
		p.fail(v, "%v", err)
		return
	}
	p.profile.PermissionDefault = d
}

// chain reads the name of the chain that decides the agent's requests.
func (p *profileReading) chain(v value, set *Set) {
	name, ok := p.text(v)
	if !ok {
		return
	}
	if _, there := set.Chain(name); !there {
		p.fail(v, "there is no chain %s: each file in the chains directory is a chain, and %s is the operator's%s",
			quote(name), OperatorChain, didYouMean(name, set.chainNames()))
		return
	}
	p.profile.Chain = name
}

// check runs the profile's own Check and reports each mistake at its place,
// except for values that were already reported.
func (p *profileReading) check(root value) {
	for _, err := range each(p.profile.Check()) {
		at, message := root, err.Error()
		if key, rest, ok := strings.Cut(message, ": "); ok {
			if v, known := p.places[key]; known {
				at, message = v, rest
			}
		}
		position := p.position(at.at, at.way)
		if !slices.ContainsFunc(p.errors, func(e Error) bool { return e.Position == position }) {
			p.fail(at, "%s", message)
		}
	}
}

// each splits a joined error.
func each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, each(one)...)
	}
	return all
}

// agentEnvironment returns the environment from which an agent's own is built.
func (o *Options) agentEnvironment(allowed []string) []string {
	environ := slices.Clone(o.AgentEnvironment)
	for _, name := range allowed {
		if slices.ContainsFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			continue
		}
		if found, set := o.lookup(name); set {
			environ = append(environ, name+"="+found)
		}
	}
	return environ
}
