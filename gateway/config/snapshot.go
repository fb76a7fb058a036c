package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// volumeLink is the symbolic link through which a mounted ConfigMap or Secret
// replaces all its files atomically: each revision is a directory, and the link
// is renamed over to the next one.
const volumeLink = "..data"

// attempts is how often a snapshot is retried because it changed meanwhile.
const attempts = 10

// snapshot reads files as of one moment (F5). The first use of a directory pins
// its revision for all later reads, even if the directory is switched to
// another revision in between.
type snapshot struct {
	pins map[string]*pin   // by directory
	read map[string][]byte // by absolute path
	dirs map[string]bool   // directories in which a change can happen
	// listed maps the directories that were listed to the names in them.
	listed map[string][]string
	at     *whereabouts // may be nil
}

// pin is the state of a directory when it was first used.
type pin struct {
	// link is the symbolic link to the revision, empty if there is none; target
	// is what it pointed to.
	link, target string
	// root keeps the revision open, even while it is being deleted.
	root *os.Root
	err  error // from opening root
}

func newSnapshot() *snapshot {
	return &snapshot{
		pins: map[string]*pin{}, read: map[string][]byte{}, dirs: map[string]bool{}, listed: map[string][]string{},
	}
}

func (s *snapshot) close() {
	for _, p := range s.pins {
		if p.root != nil {
			_ = p.root.Close() // it was opened only for reading
		}
	}
}

// changed returns a directory that has been switched to another target since it
// was first used, or "" if there is none, so that what was read is still
// current.
func (s *snapshot) changed() string {
	for _, dir := range slices.Sorted(maps.Keys(s.pins)) {
		if now := look(dir); now.link != s.pins[dir].link || now.target != s.pins[dir].target {
			return dir
		}
	}
	return ""
}

// look returns the current target of a directory. For a plain directory this is
// the directory itself with its symbolic links resolved.
func look(dir string) pin {
	link := filepath.Join(dir, volumeLink)
	if target, err := os.Readlink(link); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		return pin{link: link, target: target}
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		return pin{target: target}
	}
	return pin{target: dir} // whoever opens it reports the error
}

// pin returns the state of a directory when it was first used.
func (s *snapshot) pin(dir string) *pin {
	if p, ok := s.pins[dir]; ok {
		return p
	}
	p := look(dir)
	if p.link != "" {
		p.root, p.err = os.OpenRoot(p.target)
	}
	s.pins[dir] = &p
	return &p
}

// open opens name in dir; "." is the directory itself. The file is taken from
// the innermost volume that contains it, or from the directory if none does.
func (s *snapshot) open(dir, name string) (*os.File, error) {
	s.at.reads(filepath.Join(dir, name))
	own := s.pin(dir)
	for outer, inside := dir, name; ; outer, inside = filepath.Dir(outer), filepath.Join(filepath.Base(outer), inside) {
		p := s.pin(outer)
		if p.err != nil {
			return nil, p.err
		}
		if p.root != nil {
			file, err := openReadable(p.root.Stat, p.root.Open, inside)
			if !errors.Is(err, fs.ErrNotExist) {
				s.dirs[outer] = true
				return file, err
			}
		}
		if outer == filepath.Dir(outer) {
			break
		}
	}
	s.dirs[dir] = true
	if own.link != "" {
		// The revision lacks the file, but the directory may have it: not all
		// of its files need to belong to the volume.
		return openReadable(os.Stat, os.Open, filepath.Join(dir, name))
	}
	return openReadable(os.Stat, os.Open, filepath.Join(own.target, name))
}

// openReadable opens only regular files and directories, which have an end:
// opening a pipe would block until somebody writes to it.
func openReadable(stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error), name string) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("is neither a file nor a directory")
	}
	return open(name)
}

// file reads a file of limited size. The error reads on after the file's name.
func (s *snapshot) file(path string) ([]byte, error) {
	if data, ok := s.read[path]; ok {
		return data, nil
	}
	file, err := s.open(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return nil, plainly(err)
	}
	defer file.Close() //nolint:errcheck // it was only read from
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, plainly(err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	s.read[path] = data
	return data, nil
}

// names returns the sorted names in a directory. The error reads on after the
// directory's name.
func (s *snapshot) names(dir string) ([]string, error) {
	file, err := s.open(dir, ".")
	if err != nil {
		return nil, plainly(err)
	}
	defer file.Close() //nolint:errcheck // it was only read from
	names, err := file.Readdirnames(-1)
	if err != nil {
		return nil, plainly(err)
	}
	slices.Sort(names)
	s.listed[dir] = names
	return names, nil
}

// beside returns the sorted names of the files that are in a directory but not in
// its volume, so that names does not return them. Hidden files are left out, and
// links: those into the volume change a moment before or after it does.
func (s *snapshot) beside(dir string) []string {
	if s.pin(dir).link == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir) // what it could not read is not warned of
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(s.listed[dir], e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// addDefault adds the text that replaces the operator's file, so that the sum
// covers it.
func (s *snapshot) addDefault(text []byte) {
	if text != nil {
		s.read[builtIn] = text
	}
}

// sum returns the hash of the names and contents of all files that were read.
func (s *snapshot) sum() [sha256.Size]byte {
	d := newDigest()
	for _, path := range slices.Sorted(maps.Keys(s.read)) {
		d.text(path)
		d.bytes(s.read[path])
	}
	return d.sum()
}

// plainly rewords a file-system error so that it reads on after a name.
func plainly(err error) error {
	var inner *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist")
	case errors.As(err, &inner):
		return fmt.Errorf("cannot be read: %w", inner.Err)
	}
	return err
}
