package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hookgate/hookgate/gateway/access"
)

// OperatorChain is the name of the operator's own chain. A tenant's chain cannot
// have it.
const OperatorChain = "operator"

// builtIn is the name that messages use for the default text.
const builtIn = "built-in hooks"

// Options define the files to load.
type Options struct {
	// ConfigFile is the operator's file, YAML or JSON; may be empty.
	ConfigFile string
	// ChainsDir is the directory of the tenants' files: NAME.yaml, NAME.yml or
	// NAME.json is the chain NAME. May be empty.
	ChainsDir string
	// Default is the text of the operator's file if ConfigFile is empty; nil
	// means none. Its relative paths are relative to the working directory.
	Default []byte
	// Guards are the valid names for use:.
	Guards []string
	// AgentsDir is the directory of the agents' profiles: NAME.yaml, NAME.yml or
	// NAME.json is the agent NAME. May be empty.
	AgentsDir string
	// CallersFile lists the gateway's callers, YAML or JSON; empty if callers
	// are not authenticated.
	CallersFile string
	// AgentEnvironment is the base environment of every agent, as NAME=VALUE.
	// The variables in a profile's env_allowlist are added to it.
	AgentEnvironment []string
	// LookupEnv resolves ${NAME}; nil resolves none.
	LookupEnv func(name string) (string, bool)
}

// Set is the configuration as it was at one moment. It is immutable after
// loading.
type Set struct {
	// Operator is the operator's file; nil if none was configured.
	Operator *File
	// Chains maps chain names to the tenants' files.
	Chains map[string]*File
	// Agents maps agent names to their profiles.
	Agents map[string]*Agent
	// Callers are the gateway's callers; nil if they are not authenticated.
	Callers *access.Rules
	// Sum is the hash of the names and contents of every file that was read,
	// including those that other files refer to. Two sets with equal sums are
	// identical.
	Sum [sha256.Size]byte
	// Warnings list what is valid but probably not intended: of the operator's
	// file, of the chains by name, each by line, and of their directory.
	Warnings []Warning

	options Options
	dirs    []string
	files   []string            // that were read, in order
	listed  map[string][]string // the names in directories that were listed
	// watchdog is shared by all successors of a set.
	watchdog *watchdog
}

// Load reads and checks all files. The error is of type [Errors], unless the
// working directory cannot be determined.
func Load(o Options) (*Set, error) {
	return new(watchdog).do(readPatience, func(at *whereabouts) (*Set, error) { return load(o, nil, at) })
}

// Next reads the same files again, as the successor of s. In addition to the
// mistakes that Load finds, it is an error if the operator's file, the directory
// of the chains or of the agents, or all files in one of them have disappeared:
// that is what an unmounted volume looks like, and it must not remove guards.
// Next does not change s, and returns s itself if no file has changed.
func (s *Set) Next() (*Set, error) {
	return s.watchdog.do(readPatience, func(at *whereabouts) (*Set, error) {
		if s.isCurrent(at) {
			return s, nil
		}
		return load(s.options, s, at)
	})
}

// isCurrent reports whether the files are unchanged. It does not parse them,
// because it runs on every poll.
func (s *Set) isCurrent(at *whereabouts) bool {
	snap := newSnapshot()
	snap.at = at
	defer snap.close()
	for dir, names := range s.listed {
		now, err := snap.names(dir)
		if err != nil || !slices.Equal(names, now) {
			return false
		}
	}
	if s.options.ConfigFile == "" {
		snap.addDefault(s.options.Default)
	}
	for _, path := range s.files {
		if _, err := snap.file(path); err != nil {
			return false
		}
	}
	return snap.sum() == s.Sum && snap.changed() == ""
}

// Dirs returns the absolute paths of the directories in which a change can
// affect the set, sorted. They are the input of [Watch].
func (s *Set) Dirs() []string { return s.dirs }

// load takes snapshots until one did not change while it was taken. A snapshot
// that did is discarded even if it is valid: a replaced revision is being
// deleted, so its file list may be incomplete.
func load(o Options, previous *Set, at *whereabouts) (*Set, error) {
	var changed string
	for range attempts {
		snap := newSnapshot()
		snap.at = at
		set, err := build(o, previous, snap)
		changed = snap.changed()
		snap.close()
		if changed == "" {
			if err == nil {
				set.watchdog = watchdogOf(previous)
			}
			return set, err
		}
	}
	return nil, Errors{{Position{File: changed}, fmt.Sprintf("changed during each of %d attempts to read it", attempts)}}
}

// loader reads the files of one snapshot.
type loader struct {
	options  Options
	previous *Set // nil at the first load
	snap     *snapshot
	errors   Errors
	set      *Set
	warnings map[string][]Warning // by the name of the chain
}

func build(o Options, previous *Set, snap *snapshot) (*Set, error) {
	l := loader{
		options: o, previous: previous, snap: snap, warnings: map[string][]Warning{},
		set: &Set{Chains: map[string]*File{}, Agents: map[string]*Agent{}, options: o},
	}
	if err := l.operator(); err != nil {
		return nil, err
	}
	if err := l.chains(); err != nil {
		return nil, err
	}
	if err := l.agents(); err != nil {
		return nil, err
	}
	if err := l.callers(); err != nil {
		return nil, err
	}
	if len(l.errors) > 0 {
		return nil, l.errors
	}
	l.set.Sum = snap.sum()
	l.set.dirs = slices.Sorted(maps.Keys(snap.dirs))
	l.set.files = slices.Sorted(maps.Keys(snap.read))
	l.set.listed = snap.listed
	l.set.Warnings = l.warned()
	return l.set, nil
}

// operator loads the operator's file.
func (l *loader) operator() error {
	name, data := l.options.ConfigFile, l.options.Default
	switch {
	case name == "" && data == nil:
		return nil
	case name == "":
		name = builtIn
		l.snap.addDefault(data)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if l.options.ConfigFile != "" {
		data, err = l.snap.file(path)
		if err != nil {
			if l.previous != nil {
				err = fmt.Errorf("%w; the hooks in force stay: to run the built-in chain, restart the gateway without HOOKGATE_CONFIG", err)
			}
			l.fail(name, err)
			return nil
		}
	}
	l.set.Operator = l.file(OperatorChain, name, path, data)
	return nil
}

// file reads one file of the snapshot.
func (l *loader) file(chain, name, path string, data []byte) *File {
	r := l.reading(name, path)
	r.operators = chain == OperatorChain
	f := r.parseFile(data)
	l.took(r)
	l.warnings[chain] = append(l.warnings[chain], r.warnings...)
	return f
}

// reading returns the reading of the file at path, called name in errors.
func (l *loader) reading(name, path string) *reading {
	return &reading{
		file: name, dir: filepath.Dir(path), home: homeOf(path), guards: l.options.Guards,
		fill: filler{lookup: l.options.lookup, read: l.snap.file},
	}
}

// took collects the mistakes of a file.
func (l *loader) took(r *reading) {
	sortErrors(r.errors)
	l.errors = append(l.errors, r.errors...)
}

// lookup resolves a variable.
func (o *Options) lookup(name string) (string, bool) {
	if o.LookupEnv == nil {
		return "", false
	}
	return o.LookupEnv(name)
}

// fail reports a mistake that concerns a whole file or directory.
func (l *loader) fail(name string, err error) {
	l.errors = append(l.errors, Error{Position{File: name}, err.Error()})
}

// chains loads the tenants' files.
func (l *loader) chains() error {
	f := folder{
		path: l.options.ChainsDir, one: "chain",
		takes: func(name string) error {
			if name == OperatorChain {
				return fmt.Errorf("%q is reserved for the operator's chain", name)
			}
			return nil
		},
		take: func(name, shown, path string, data []byte) { l.set.Chains[name] = l.file(name, shown, path, data) },
	}
	if l.previous != nil {
		f.before = len(l.previous.Chains)
	}
	others, err := l.folder(f)
	for _, name := range others {
		l.warn(filepath.Join(l.options.ChainsDir, name), "is ignored: a chain is a file NAME.yaml, NAME.yml or NAME.json")
	}
	return err
}

// isOperators reports whether a file is one of the operator's, which may be in
// the directory of the chains.
func (l *loader) isOperators(path string) bool {
	return slices.ContainsFunc([]string{l.options.ConfigFile, l.options.CallersFile}, func(own string) bool {
		absolute, err := filepath.Abs(own)
		return err == nil && own != "" && absolute == path
	})
}

// warn reports a warning that concerns a whole file or directory.
func (l *loader) warn(name, message string) {
	l.warnings[""] = append(l.warnings[""], Warning{Position{File: name}, message})
}
