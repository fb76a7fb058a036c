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
)

// volumeLink is the name of the symbolic link through which a mounted ConfigMap
// or Secret changes all its files at once: each revision is a directory of its
// own, and the link is renamed over to the next.
const volumeLink = "..data"

// attempts is how often a snapshot is taken anew because it changed meanwhile.
const attempts = 10

// snapshot reads files as of one moment (F5). The first use of a directory pins
// the revision of it that all later reads see, also where the directory is
// switched to another in between.
type snapshot struct {
	pins map[string]*pin   // by directory
	read map[string][]byte // by absolute path
	dirs map[string]bool   // where a change can happen
	// listed are the names in the directories that were listed.
	listed map[string][]string
	at     *whereabouts // nil where nobody asks
}

// pin is a directory as it stood when it was first used.
type pin struct {
	// link is the symbolic link whose target is the revision, empty where
	// there is none; target is where it pointed.
	link, target string
	// root holds on to the revision, even while it is being deleted.
	root *os.Root
	err  error // of opening it
}

func newSnapshot() *snapshot {
	return &snapshot{
		pins: map[string]*pin{}, read: map[string][]byte{}, dirs: map[string]bool{}, listed: map[string][]string{},
	}
}

func (s *snapshot) close() {
	for _, p := range s.pins {
		if p.root != nil {
			_ = p.root.Close() // it was only read from
		}
	}
}

// changed names a directory that leads elsewhere than when it was first used.
// It is empty where there is none: what was read is what is there.
func (s *snapshot) changed() string {
	for _, dir := range slices.Sorted(maps.Keys(s.pins)) {
		if now := look(dir); now.link != s.pins[dir].link || now.target != s.pins[dir].target {
			return dir
		}
	}
	return ""
}

// look is where a directory leads to now. A plain directory leads to itself,
// or, where it is or lies behind a symbolic link, to where that points.
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
	return pin{target: dir} // what is wrong with it is said by who opens it
}

// pin returns a directory as it stood when it was first used.
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

// open opens name in dir; the name . is the directory itself. It is taken from
// the innermost volume that holds it, and from the directory where none does.
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
		// The revision does not have it, but the directory may: not everything
		// in it needs to belong to the volume.
		return openReadable(os.Stat, os.Open, filepath.Join(dir, name))
	}
	return openReadable(os.Stat, os.Open, filepath.Join(own.target, name))
}

// openReadable opens what can be read to its end: opening a pipe would wait for
// somebody to write into it.
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

// names are the names of what is in a directory, in order. The error reads on
// after the directory's name.
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

// addDefault adds the text that stands in for the operator's file, so that the
// sum covers it.
func (s *snapshot) addDefault(text []byte) {
	if text != nil {
		s.read[builtIn] = text
	}
}

// sum is the hash of every file that was read, with its name.
func (s *snapshot) sum() [sha256.Size]byte {
	d := newDigest()
	for _, path := range slices.Sorted(maps.Keys(s.read)) {
		d.text(path)
		d.bytes(s.read[path])
	}
	return d.sum()
}

// plainly says an error of the file system so that it reads on after a name.
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
