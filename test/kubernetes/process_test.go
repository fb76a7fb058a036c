package kubernetes

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take that does happen.
const patience = 3 * time.Minute

// run starts a program and ends it with the test. Where the test failed, the end
// of what it said is shown.
func run(t *testing.T, dir, name, program string, args ...string) {
	t.Helper()
	path := filepath.Join(dir, name+".log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	// A test that is killed takes it along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it ends by a signal, or too early, which the signal shows
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("%s has ended by itself: %v", name, err)
		}
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Logf("%s is killed: it does not end", name)
			_ = cmd.Process.Kill() // it may have ended meanwhile
			<-ended
		}
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", name, lastLines(path))
		}
		_ = log.Close() // it was the program that wrote
	})
}

func lastLines(path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-20):], nil)
}

// eventually waits until something is as it should be, and says what was wrong
// the last time where that never happens.
func eventually(t *testing.T, what string, wrong func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last error
	for {
		err := wrong(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("never: %s: %v", what, last)
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
