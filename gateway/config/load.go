package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hookgate/hookgate/gateway/access"
)

// OperatorChain is the name of the operator's own chain. No tenant's chain can
// have it.
const OperatorChain = "operator"

// builtIn is what the file is called that is no file.
const builtIn = "built-in hooks"

// Options say where the files are.
type Options struct {
	// ConfigFile is the operator's file, YAML or JSON; empty where there is
	// none.
	ConfigFile string
	// ChainsDir is the directory of the tenants' files, each NAME.yaml,
	// NAME.yml or NAME.json the chain of that name; empty where there is none.
	ChainsDir string
	// Default is the text of the operator's file where ConfigFile is empty;
	// nil is no file. Its relative paths start in the working directory.
	Default []byte
	// Guards are the names that use: may have.
	Guards []string
	// AgentsDir is the directory of the agents' profiles, each NAME.yaml,
	// NAME.yml or NAME.json the agent of that name; empty where there is none.
	AgentsDir string
	// CallersFile is who may call the gateway, YAML or JSON; empty where callers
	// are not told apart.
	CallersFile string
	// AgentEnvironment is what every agent may find in its environment, as
	// NAME=VALUE. The names of a profile's env_allowlist come on top.
	AgentEnvironment []string
	// LookupEnv finds the variable of ${NAME}; nil is that none is set.
	LookupEnv func(name string) (string, bool)
}

// Set is everything that was read at one moment. It is not changed after it was
// loaded.
type Set struct {
	// Operator is the operator's file, nil where none was configured.
	Operator *File
	// Chains are the tenants' files by the names of their chains.
	Chains map[string]*File
	// Agents are the agents' profiles by their names.
	Agents map[string]*Agent
	// Callers are who may call, nil where they are not told apart.
	Callers *access.Rules
	// Sum is the hash of the names and contents of every file that was read,
	// those included that the files refer to. Two sets with one sum are the
	// same.
	Sum [sha256.Size]byte
	// Warnings are what is allowed and probably not meant: of the operator's
	// file, of the chains' by name, each by line, and of their directory.
	Warnings []Warning

	options Options
	dirs    []string
	files   []string            // that were read, in order
	listed  map[string][]string // the names in directories that were listed
	// watchdog is that of all sets that follow each other.
	watchdog *watchdog
}

// Load reads and checks all files. The error is of type [Errors], unless the
// working directory cannot be found.
func Load(o Options) (*Set, error) {
	return new(watchdog).do(readPatience, func(at *whereabouts) (*Set, error) { return load(o, nil, at) })
}

// Next reads the same files again, as the configuration that is to follow s.
// Beyond the mistakes that Load finds it is an error that the operator's file,
// the directory of the chains or of the agents, or everything in one of them at
// once is gone: that is how a volume looks that was not filled, and nobody
// removes a guard in this way.
// The set that Next is called on stays as it is; it is what Next returns where
// no file has changed.
func (s *Set) Next() (*Set, error) {
	return s.watchdog.do(readPatience, func(at *whereabouts) (*Set, error) {
		if s.isCurrent(at) {
			return s, nil
		}
		return load(s.options, s, at)
	})
}

// isCurrent reports whether the files are still those that were loaded, without
// parsing them: this is asked at every poll.
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

// Dirs are the absolute directories in which a change can change the set, in
// order. They are what [Watch] is to watch.
func (s *Set) Dirs() []string { return s.dirs }

// load takes snapshots until one has not changed while it was taken. One that
// has is never good, however it reads: a revision that was replaced is being
// deleted, and a list of what is left of it would be a list of too few.
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

// operator reads the operator's file.
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

// reading returns one of the file at path, which errors call name.
func (l *loader) reading(name, path string) *reading {
	return &reading{
		file: name, dir: filepath.Dir(path), home: homeOf(path), guards: l.options.Guards,
		fill: filler{lookup: l.options.lookup, read: l.snap.file},
	}
}

// took takes the mistakes of a file that was read.
func (l *loader) took(r *reading) {
	sortErrors(r.errors)
	l.errors = append(l.errors, r.errors...)
}

// lookup finds a variable.
func (o *Options) lookup(name string) (string, bool) {
	if o.LookupEnv == nil {
		return "", false
	}
	return o.LookupEnv(name)
}

// fail reports a mistake of a whole file or directory.
func (l *loader) fail(name string, err error) {
	l.errors = append(l.errors, Error{Position{File: name}, err.Error()})
}

// chains reads the tenants' files.
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

// isOperators reports whether a file is one of the operator's, which may lie in
// the directory of the chains.
func (l *loader) isOperators(path string) bool {
	return slices.ContainsFunc([]string{l.options.ConfigFile, l.options.CallersFile}, func(own string) bool {
		absolute, err := filepath.Abs(own)
		return err == nil && own != "" && absolute == path
	})
}

// warn reports something about a whole file or directory.
func (l *loader) warn(name, message string) {
	l.warnings[""] = append(l.warnings[""], Warning{Position{File: name}, message})
}
