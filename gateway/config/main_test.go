package config

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write writes files, given by their paths in a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lookup returns a function that looks up variables in a map.
func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		found, ok := variables[name]
		return found, ok
	}
}

// loaded loads a set that must be valid.
func loaded(t *testing.T, o Options) *Set {
	t.Helper()
	set, err := Load(o)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return set
}

// entries loads an operator's file and returns its hooks.
func entries(t *testing.T, text string) []*Hook {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": text})
	return loaded(t, Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), Guards: []string{"shell"}}).Operator.Hooks
}

// refused returns the errors of a load that must fail, without the directory.
func refused(t *testing.T, dir string, set *Set, err error) []string {
	t.Helper()
	if set != nil {
		t.Error("a refused load returned a set")
	}
	found, ok := errors.AsType[Errors](err)
	if !ok {
		t.Fatalf("error is of type %T, want Errors: %v", err, err)
	}
	var said []string
	for _, e := range found {
		if rel, err := filepath.Rel(dir, e.File); err == nil {
			e.File = rel
		}
		said = append(said, e.Error())
	}
	return said
}

func same(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// isZero reports whether a sum was never set.
func isZero(sum [sha256.Size]byte) bool { return sum == [sha256.Size]byte{} }
