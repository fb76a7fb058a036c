package config

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestF11_WhatHangsIsGivenUpAndBegunOnlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const want = "/mnt/gone/token: could not be read within 10s: check that its mount responds and that it is a regular file"
		w := &watchdog{}
		release := make(chan struct{})
		begun := 0
		hangs := func(at *whereabouts) (*Set, error) {
			begun++
			at.reads("/mnt/gone/token")
			<-release
			return nil, errors.New("too late to matter")
		}
		began := time.Now()
		for range 3 {
			set, err := w.do(readPatience, hangs)
			if set != nil || err == nil || err.Error() != want {
				t.Errorf("%v, error %v", set, err)
			}
		}
		if took := time.Since(began); took != readPatience || begun != 1 {
			t.Errorf("it was begun %d times and took %v", begun, took)
		}
		close(release)
		synctest.Wait()
		good := &Set{}
		if set, err := w.do(readPatience, func(*whereabouts) (*Set, error) { return good, nil }); set != good || err != nil {
			t.Errorf("after it has ended: %v, error %v", set, err)
		}
	})
}

func TestF11_BeforeAnythingIsReadItIsTheConfigurationThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		_, err := new(watchdog).do(time.Second, func(*whereabouts) (*Set, error) {
			<-release
			return nil, nil //nolint:nilnil // nobody sees it
		})
		if err == nil || err.Error() != "the configuration: could not be read within 10s: check that its mount responds and that it is a regular file" {
			t.Errorf("error %v", err)
		}
	})
}

func TestF11_SetsThatFollowEachOtherGiveUpTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: []\n"})
	first := loaded(t, Options{ConfigFile: dir + "/hooks.yaml"})
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: []\nbudget_ms: 1\n"})
	second, err := first.Next()
	if err != nil || second == first || second.watchdog != first.watchdog {
		t.Errorf("error %v; the same set: %v", err, second == first)
	}
}
