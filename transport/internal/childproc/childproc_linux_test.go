package childproc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is its own child, which runs until its stdin is closed.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it ends
		syscall.Exit(7)
	}
	goleak.VerifyTestMain(m)
}

// running starts a child. The returned function lets it exit.
func running(t *testing.T) (c *exec.Cmd, letGo func()) {
	t.Helper()
	c = exec.CommandContext(t.Context(), os.Args[0], "child")
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, func() { _ = input.Close() } // the child waits only for this
}

// state is the state of a process: Z if it has exited and is not reaped.
func state(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

func TestAChildIsWaitedForAndLeftUnreaped(t *testing.T) {
	for name, wait := range map[string]func(int){
		"polled":  func(pid int) { polled(pid) },
		"blocked": blocked,
		"either":  AwaitExit,
	} {
		t.Run(name, func(t *testing.T) {
			c, letGo := running(t)
			exited := make(chan struct{})
			go func() {
				defer close(exited)
				wait(c.Process.Pid)
			}()
			select {
			case <-exited:
				t.Error("it has not exited yet")
			default:
			}
			letGo()
			<-exited
			if got := state(t, c.Process.Pid); got != "Z" {
				t.Errorf("its state is %s", got)
			}
			wait(c.Process.Pid) // has exited already
			if _ = c.Wait(); c.ProcessState.ExitCode() != 7 {
				t.Errorf("it ended with %v", c.ProcessState)
			}
			wait(c.Process.Pid) // no longer exists
		})
	}
}

func TestAChildIsPolledForOnThisKernel(t *testing.T) {
	c, letGo := running(t)
	letGo()
	if !polled(c.Process.Pid) {
		t.Error("it is not")
	}
	_ = c.Wait() // another test checks its status
}

// threads returns the threads of this process.
func threads(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestManyChildrenThatAreWaitedForHoldNoThreads(t *testing.T) {
	const many = 60
	var waiting, all sync.WaitGroup
	children := make([]*exec.Cmd, many)
	letGo := make([]func(), many)
	for n := range many {
		children[n], letGo[n] = running(t)
		waiting.Add(1)
		all.Go(func() {
			waiting.Done()
			AwaitExit(children[n].Process.Pid)
		})
	}
	waiting.Wait()
	if n := threads(t); n > many/2 {
		t.Errorf("%d threads for %d children", n, many)
	}
	for n := range many {
		letGo[n]()
	}
	all.Wait()
	for _, c := range children {
		_ = c.Wait() // another test checks its status
	}
}
