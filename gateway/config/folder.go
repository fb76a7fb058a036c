package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// folder is a directory in which each file defines one thing, named after the
// file.
type folder struct {
	// path is the path as configured; empty if there is none.
	path string
	// one names the kind of thing: "chain".
	one string
	// before is the number of files at the previous load.
	before int
	// takes returns an error if a name is not allowed. May be nil.
	takes func(name string) error
	// take reads the file of a name. shown is its path as configured.
	take func(name, shown, path string, data []byte)
}

// fileExtensions are the extensions of the files that are read.
func fileExtensions() []string { return []string{".yaml", ".yml", ".json"} }

// folder reads all files of a folder. It returns the names of the files that it
// skipped and that nothing else refers to.
func (l *loader) folder(f folder) (others []string, err error) {
	if f.path == "" {
		return nil, nil
	}
	dir, err := filepath.Abs(f.path)
	if err != nil {
		return nil, err
	}
	names, err := l.snap.names(dir)
	if err != nil {
		l.fail(f.path, fmt.Errorf("the directory of %ss %w", f.one, err))
		return nil, nil
	}
	taken := map[string]string{}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, ".") || l.isOperators(filepath.Join(dir, name)):
			// Internals of a volume or an editor, or one of the operator's files.
		case slices.Contains(fileExtensions(), filepath.Ext(name)):
			l.inFolder(f, dir, name, taken)
		default:
			others = append(others, name)
		}
	}
	for _, name := range l.snap.beside(dir) {
		if path := filepath.Join(dir, name); !l.isOperators(path) && slices.Contains(fileExtensions(), filepath.Ext(name)) {
			l.warn(filepath.Join(f.path, name), fmt.Sprintf("is ignored: this directory is a volume, whose %ss are the files in %s", f.one, volumeLink))
		}
	}
	if f.before > 0 && len(taken) == 0 {
		l.fail(f.path, fmt.Errorf("all %d %ss disappeared at once, as if the volume were empty, so nothing changes; "+
			"to remove the last %s, restart the gateway", f.before, f.one, f.one))
	}
	if len(taken) == 0 {
		l.warn(f.path, fmt.Sprintf("contains no %s: %s is a file NAME.yaml, NAME.yml or NAME.json", f.one, withArticle(f.one)))
	}
	return slices.DeleteFunc(others, func(name string) bool {
		_, used := l.snap.read[filepath.Join(dir, name)] // for example as a secret
		return used
	}), nil
}

// inFolder reads one file of a folder. taken maps names to the files read before.
func (l *loader) inFolder(f folder, dir, file string, taken map[string]string) {
	path, shown := filepath.Join(dir, file), filepath.Join(f.path, file)
	name := strings.TrimSuffix(file, filepath.Ext(file))
	if err := f.check(name); err != nil {
		l.fail(shown, err)
		return
	}
	if other, twice := taken[name]; twice {
		l.fail(shown, fmt.Errorf("defines the %s %q, which %s already defines", f.one, name, other))
		return
	}
	taken[name] = file
	data, err := l.snap.file(path)
	if err != nil {
		l.fail(shown, err)
		return
	}
	f.take(name, shown, path, data)
}

// check returns an error if a name is not allowed.
func (f folder) check(name string) error {
	if f.takes != nil {
		if err := f.takes(name); err != nil {
			return err
		}
	}
	isOther := func(c rune) bool { return c != '.' && !isPlain(string(c)) }
	if name == "" || len(name) > 63 || strings.ContainsRune("._-", rune(name[0])) || strings.ContainsFunc(name, isOther) {
		return fmt.Errorf("is not a valid name for %s: use up to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or digit", withArticle(f.one))
	}
	return nil
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
