package transport

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// TestNothingLeaks is not parallel, because nothing else may run in this
// process meanwhile.
func TestNothingLeaks(t *testing.T) {
	adoptOrphans(t)
	first := hookCommand(t, "read", sayAllow) // opens the descriptors that the runtime keeps
	first.Ask(t.Context(), plain(t))
	first.Close()
	files, routines := openFiles(t), runtime.NumGoroutine()
	hooks := map[string]*Command{
		"allows":    hookCommand(t, "read", sayAllow),
		"fails":     hookCommand(t, "grumble:x", "exit:1"),
		"hangs":     hookCommand(t, "wait"),
		"leaves":    hookCommand(t, sayAllow, "child:2,"+t.TempDir()+"/mark"),
		"holds":     hookCommand(t, sayAllow, "child:1,"+t.TempDir()+"/mark"),
		"is absent": newCommand(t, CommandOptions{Argv: []string{"/nonexistent/x"}}),
	}
	done := make(chan struct{})
	const rounds = 8
	for _, b := range hooks {
		for range rounds {
			go func() {
				defer func() { done <- struct{}{} }()
				b.Ask(t.Context(), call(request(t, chain.PreToolUse, `{}`), time.Second))
			}()
		}
	}
	for range rounds * len(hooks) {
		<-done
	}
	for _, b := range hooks {
		b.Close()
	}
	if now := children(t); len(now) > 0 {
		t.Errorf("children are left: %v", now)
	}
	if now := openFiles(t); len(now) > len(files) {
		t.Errorf("open files: %v, before: %v", now, files)
	}
	eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= routines })
}

// TestStraysOfProcess1AreReaped is not parallel, because it makes this process
// the parent of orphans.
func TestStraysOfProcess1AreReaped(t *testing.T) {
	adoptOrphans(t)
	straysAreReaped(t, func(program *program) { program.isInit = true })
}

// TestAsProcess1StraysAreReaped runs itself again as process 1 of a PID
// namespace.
func TestAsProcess1StraysAreReaped(t *testing.T) {
	if os.Getpid() == 1 {
		// In the new mount namespace, which only this program and its children see.
		if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		straysAreReaped(t, func(program *program) {
			if !program.isInit {
				t.Error("it does not know that it is process 1")
			}
		})
		return
	}
	c := exec.CommandContext(t.Context(), self(t)[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("no namespace can be made without the rights of root: %v", err)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v as process 1:\n%s", err, out)
	}
}

// straysAreReaped has hooks leave daemons behind and kills them. It expects
// them to be reaped after a later call.
func straysAreReaped(t *testing.T, prepare func(*program)) {
	t.Helper()
	worker := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "each", sayAllowLine)}})
	prepare(worker.program)
	ask := func(steps ...string) {
		b := hookCommand(t, append([]string{"read", sayAllow}, steps...)...)
		prepare(b.program)
		same(t, allowing(), b.Ask(t.Context(), plain(t)))
		b.Close()
	}
	for name, later := range map[string]func(){
		"once a program has ended":   func() { ask() },
		"once a worker has answered": func() { same(t, allowing(), worker.Ask(t.Context(), plain(t))) },
	} {
		mark := t.TempDir() + "/mark"
		ask("daemon:," + mark)
		pid := marked(t, mark)
		if !runs(pid) {
			t.Error("a process in a session of its own was killed")
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		dies(t, pid)
		zombie := fmt.Sprint("/proc/", pid)
		if !exists(zombie) || !isStray(pid) {
			t.Error("the daemon is no zombie, or not one to be reaped")
		}
		// For a moment, the first thread can be dead while others still run.
		eventually(t, "the zombie has gone "+name, func() bool {
			later()
			return !exists(zombie)
		})
	}

	// Programs that other code here has started, and waits for, are left alone.
	argv := self(t, "exit:3")
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	dies(t, c.Process.Pid)
	if isStray(c.Process.Pid) {
		t.Error("a program that was started here counts as a stray")
	}
	reapStrays()
	if err := c.Wait(); c.ProcessState.ExitCode() != 3 {
		t.Errorf("its exit was lost: %v", err)
	}
}

// TestWithoutDescriptorsNothingIsStarted is not parallel, because it takes
// descriptors from the whole process.
func TestWithoutDescriptorsNothingIsStarted(t *testing.T) {
	b := hookCommand(t, "read", sayAllow)
	same(t, allowing(), b.Ask(t.Context(), plain(t))) // lets the runtime open its own descriptors
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	open := len(openFiles(t))
	for more := range uint64(6) {
		few := before
		few.Cur = uint64(open) + more
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		f := b.Ask(t.Context(), plain(t)).Failure
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		if f == nil || f.Cause != chain.Spawn || !strings.Contains(f.Text, "too many open files") {
			t.Errorf("with %d descriptors to spare: failure %+v", more, f)
		}
		if now := openFiles(t); len(now) > open {
			t.Errorf("open files: %v", now)
		}
	}
	same(t, allowing(), b.Ask(t.Context(), plain(t)))
}

// adoptOrphans makes this process the parent of every orphan among its
// descendants during the test, as process 1 of a container is.
func adoptOrphans(t *testing.T) {
	t.Helper()
	const setChildSubreaper = 36
	set := func(on uintptr) {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, on, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	set(1)
	t.Cleanup(func() { set(0) })
}

func openFiles(t *testing.T) []string {
	t.Helper()
	var open []string
	entries, err := os.ReadDir(descriptors)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if what, err := os.Readlink(descriptors + "/" + e.Name()); err == nil {
			open = append(open, e.Name()+" "+what)
		}
	}
	return open
}

// children returns the processes whose parent is this one, including zombies.
func children(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var mine []string
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			mine = append(mine, string(text))
		}
	}
	return mine
}
