package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// volume is a directory whose files change like those of a mounted ConfigMap or
// Secret: atomically, by renaming a symbolic link.
type volume struct {
	dir      string
	revision int
	files    map[string]string
}

func newVolume(t *testing.T, files map[string]string) *volume {
	t.Helper()
	v := &volume{dir: t.TempDir()}
	v.mustPut(t, files)
	return v
}

func (v *volume) mustPut(t *testing.T, files map[string]string) {
	t.Helper()
	if err := v.put(files); err != nil {
		t.Fatalf("the volume: %v", err)
	}
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

// put replaces the files of the volume, in the same steps as the kubelet.
func (v *volume) put(files map[string]string) error {
	if v.files != nil && maps.Equal(files, v.files) {
		return nil
	}
	old, err := os.Readlink(v.path(volumeLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	v.revision++
	revision := fmt.Sprintf("..2026_11_30_%06d", v.revision)
	for name, content := range files {
		path := v.path(filepath.Join(revision, name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(v.path(revision), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(revision, v.path(volumeLink+"_tmp")); err != nil {
		return err
	}
	if err := os.Rename(v.path(volumeLink+"_tmp"), v.path(volumeLink)); err != nil {
		return err
	}
	if err := v.showOnly(files); err != nil {
		return err
	}
	v.files = files
	if old == "" {
		return nil
	}
	return os.RemoveAll(v.path(old))
}

// showOnly makes one symbolic link for each file or directory of the revision.
func (v *volume) showOnly(files map[string]string) error {
	shown := map[string]bool{}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		shown[top] = true
		err := os.Symlink(filepath.Join(volumeLink, top), v.path(top))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	all, err := os.ReadDir(v.dir)
	if err != nil {
		return err
	}
	for _, entry := range all {
		if !strings.HasPrefix(entry.Name(), "..") && !shown[entry.Name()] {
			if err := os.Remove(v.path(entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
