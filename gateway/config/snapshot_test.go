package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// revision returns a configuration of three files that all contain the same
// number.
func revision(n int) map[string]string {
	hook := fmt.Sprintf("schema: 1\nhooks: [{name: r%d, command: [x], env: {TOKEN: \"${file:secret/token}\"}}]\n", n)
	return map[string]string{"hooks.yaml": hook, "secret/token": fmt.Sprintf("r%d\n", n), "extra.yaml": hook}
}

func TestF5_FilesOfOneVolumeAreNeverReadFromTwoRevisions(t *testing.T) {
	const updates = 200
	v := newVolume(t, revision(0))
	written := make(chan error, 1)
	go func() {
		var err error
		for n := 1; n <= updates && err == nil; n++ {
			err = v.put(revision(n))
		}
		written <- err
	}()
	o := Options{ConfigFile: v.path("hooks.yaml"), ChainsDir: v.dir}
	last, done := "", false
	for !done {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true // and load once more, now that nothing changes
		default:
		}
		set, err := Load(o)
		if err != nil {
			// Which directory is named depends on the moment.
			dir, ok := strings.CutSuffix(err.Error(), ": changed during each of 10 attempts to read it")
			if done || !ok || dir != v.dir && dir != v.path("secret") {
				t.Errorf("Load: %v", err)
			}
			continue
		}
		own, extra := set.Operator.Hooks[0], set.Chains["extra"].Hooks[0]
		if own.Name != own.Command.Env["TOKEN"] || own.Name != extra.Name || own.Name != extra.Command.Env["TOKEN"] {
			t.Errorf("revisions are mixed: %s with %v, %s with %v", own.Name, own.Command.Env, extra.Name, extra.Command.Env)
		}
		last = own.Name
	}
	same(t, "the last that was read", fmt.Sprintf("r%d", updates), last)
}

func TestWarnings_AChainBesideAVolumeIsIgnoredAndThatIsSaid(t *testing.T) {
	v := newVolume(t, revision(1))
	write(t, v.dir, map[string]string{"operators.yaml": "schema: 1\nhooks: []\n", "late.yaml": "schema: 1\nhooks: []\n", "note.txt": "", ".late.yaml": ""})
	set := loaded(t, Options{ConfigFile: v.path("operators.yaml"), ChainsDir: v.dir})
	if set.Chains["late"] != nil {
		t.Error("it is read, though no revision of the volume contains it")
	}
	var got []string
	for _, w := range set.Warnings {
		if strings.Contains(w.Message, "volume") {
			got = append(got, w.String())
		}
	}
	same(t, "warnings", []string{v.path("late.yaml") + ": is ignored: this directory is a volume, whose chains are the files in ..data"}, got)
}

func TestF5_ARevisionThatWasPinnedIsReadThoughAnotherIsThere(t *testing.T) {
	v := newVolume(t, revision(1))
	snap := newSnapshot()
	defer snap.close()
	if _, err := snap.file(v.path("hooks.yaml")); err != nil {
		t.Fatal(err)
	}
	if dir := snap.changed(); dir != "" {
		t.Errorf("nothing happened, and %s changed", dir)
	}
	// Like the kubelet, but without removing the old revision.
	write(t, v.dir, map[string]string{"..next/secret/token": "r2\n", "..next/hooks.yaml": ""})
	if err := os.Symlink("..next", v.path("..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(v.path("..data_tmp"), v.path("..data")); err != nil {
		t.Fatal(err)
	}
	token, err := snap.file(v.path("secret/token"))
	if err != nil || string(token) != "r1\n" {
		t.Errorf("token = %q, %v; want that of the pinned revision", token, err)
	}
	if dir := snap.changed(); dir != v.dir {
		t.Errorf("the link was renamed, and %q changed", dir)
	}
}

func TestF5_ADirectoryThatIsSwitchedByItsOwnLinkIsOneMoment(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"r1/a.yaml": "schema: 1\nhooks: []\n", "r2/b.yaml": "schema: 1\nhooks: []\n"})
	point := func(target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, "tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "current")); err != nil {
			t.Fatal(err)
		}
	}
	point("r1")
	snap := newSnapshot()
	defer snap.close()
	current := filepath.Join(dir, "current")
	names, err := snap.names(current)
	same(t, "names", []string{"a.yaml"}, names)
	if err != nil {
		t.Fatal(err)
	}
	point("r2")
	if _, err := snap.file(filepath.Join(current, "a.yaml")); err != nil {
		t.Errorf("the file of the pinned directory: %v", err)
	}
	if dir := snap.changed(); dir != current {
		t.Errorf("the link was renamed, and %q changed", dir)
	}
}

func TestSnapshot_WhatLiesBesideAVolumeIsReadFromItsOwnPlace(t *testing.T) {
	// A second volume and a plain directory are mounted inside the first one.
	outer := newVolume(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: a, command: [x], env: {A: \"${file:plain/token}\", B: \"${file:link}\"}}]\n"})
	inner := &volume{dir: outer.path("chains")}
	if err := os.Mkdir(inner.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	inner.mustPut(t, map[string]string{"a.yaml": "schema: 1\nhooks: []\n", "b.yaml": "schema: 1\nhooks: []\n"})
	elsewhere := t.TempDir()
	write(t, elsewhere, map[string]string{"token": "linked"})
	write(t, outer.dir, map[string]string{"plain/token": "plain"})
	if err := os.Symlink(filepath.Join(elsewhere, "token"), outer.path("link")); err != nil {
		t.Fatal(err)
	}
	set := loaded(t, Options{ConfigFile: outer.path("hooks.yaml"), ChainsDir: inner.dir})
	same(t, "env", map[string]string{"A": "plain", "B": "linked"}, set.Operator.Hooks[0].Command.Env)
	if len(set.Chains) != 2 || len(set.Warnings) != 0 {
		t.Errorf("chains = %v, warnings = %v", set.Chains, set.Warnings)
	}
	same(t, "directories", []string{outer.dir, inner.dir, outer.path("plain")}, set.Dirs())
}

func TestSnapshot_AVolumeWithoutTheFileDoesNotHaveIt(t *testing.T) {
	v := newVolume(t, map[string]string{"hooks.yaml": "schema: 1\nhooks: []\n", "b": ""})
	v.mustPut(t, map[string]string{"b": ""})
	set, err := Load(Options{ConfigFile: v.path("hooks.yaml")})
	same(t, "messages", []string{"hooks.yaml: does not exist"}, refused(t, v.dir, set, err))
	v.mustPut(t, map[string]string{})
	set, err = Load(Options{ConfigFile: v.path("hooks.yaml"), ChainsDir: v.dir})
	same(t, "messages", []string{"hooks.yaml: does not exist"}, refused(t, v.dir, set, err))
}

func TestF6_AVolumeThatWasNotFilledIsNoReload(t *testing.T) {
	v := newVolume(t, map[string]string{"a.yaml": "schema: 1\nhooks: []\n"})
	set := loaded(t, Options{ChainsDir: v.dir})
	v.mustPut(t, map[string]string{})
	next, err := set.Next()
	same(t, "messages", []string{".: all 1 chains disappeared at once, as if the volume were empty, so nothing changes; to remove the last chain, restart the gateway"},
		refused(t, v.dir, next, err))
	v.mustPut(t, map[string]string{"a.yaml": "schema: 1\nhooks: []\n"})
	if next, err := set.Next(); err != nil || next.Sum != set.Sum {
		t.Errorf("the file is back: %v", err)
	}
}
