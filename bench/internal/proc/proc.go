// Package proc starts programs, measures their resource usage, and stops them,
// each by its own PID.
package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a started program.
type Process struct {
	// Began is the time of the start.
	Began time.Time

	cmd   *exec.Cmd
	log   string
	first chan string // the first line of its output
	ended chan struct{}
	err   error // the exit error
}

// Start starts argv with env added to this program's environment and its output
// written to the file log. The process is killed when ctx ends.
func Start(ctx context.Context, log string, env []string, argv ...string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the program has its own descriptor
	p := &Process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), log: log, first: make(chan string, 1), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = file
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.Began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		p.first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, lines)
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// FirstLine waits for the first line on the program's stdout.
func (p *Process) FirstLine(ctx context.Context) (string, error) {
	select {
	case line := <-p.first:
		if line == "" {
			return "", p.failure("said nothing")
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Ended returns a channel that is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// PID returns the program's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program, but not to its children.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Stop sends SIGTERM to the program, and kills it after 10 s. It returns nil if
// the program exited with status 0 or was ended by that signal.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return p.failure("did not end within 10 s of SIGTERM")
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGTERM {
			return nil
		}
	}
	if p.err != nil {
		return p.failure(p.err.Error())
	}
	return nil
}

// failure returns an error with the end of the program's output.
func (p *Process) failure(what string) error {
	said, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s %s: %s", p.cmd.Path, what, said[max(0, len(said)-2000):])
}

// CPU returns the processor time of the process, to the nanosecond, without
// that of its children.
func (p *Process) CPU() (time.Duration, error) {
	// Every process has a CPU-time clock, whose id the kernel derives from the
	// PID.
	const scheduled = 2
	clock := int32(^p.PID()<<3 | scheduled) //nolint:gosec // PIDs end at 4194304
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("the clock of process %d: %w", p.PID(), err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory returns the proportional set size in bytes: a page shared by n
// processes counts as 1/n.
func (p *Process) Memory() (int, error) {
	file := fmt.Sprintf("/proc/%d/smaps_rollup", p.PID())
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			kB, err := strconv.Atoi(f[1])
			return kB << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no Pss", file)
}

// Files returns the number of open file descriptors.
func (p *Process) Files() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	return len(entries), err
}

// Children returns the number of child processes, and how many of them are
// zombies.
func (p *Process) Children() (all, zombies int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// The format is PID (NAME) STATE PPID …, where NAME may contain
		// anything.
		f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(f) < 2 || string(f[1]) != strconv.Itoa(p.PID()) {
			continue
		}
		all++
		if string(f[0]) == "Z" {
			zombies++
		}
	}
	return all, zombies, nil
}
