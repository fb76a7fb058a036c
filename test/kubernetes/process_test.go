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

// patience is the timeout for anything that should happen.
const patience = 3 * time.Minute

// run starts a program and stops it at the end of the test. If the test failed,
// the end of the program's output is logged.
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
	// If the test process is killed, the program is killed, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // ended by a signal, or too early, which the next step reports
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
		_ = log.Close() // only the program wrote to it
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

// eventually waits until wrong returns nil. If that never happens, the test
// fails with the last error.
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
