package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/internal/output"
)

const (
	// busyPause is the delay before the one retry of a start that failed because
	// another process was writing the program's file (ETXTBSY).
	busyPause = 20 * time.Millisecond
	// settleWithin is how long to wait, after the process has exited, for its last
	// output on stderr. Only a process that left the group can still hold stderr
	// open then.
	settleWithin = 50 * time.Millisecond
	// reapWithin is how long to wait for a killed process. Only one that hangs in
	// the kernel takes noticeable time.
	reapWithin = 5 * time.Second
)

// program is a validated CommandOptions.
type program struct {
	argv []string
	dir  string
	env  []string
	// hidden are the secrets in env.
	hidden *output.Secrets
	// alive limits the processes that are not reaped yet. Killed processes that
	// hang in the kernel would otherwise accumulate without limit.
	alive limit
	// isInit says that the gateway is process 1, to which the kernel reparents
	// every orphan.
	isInit bool
}

func newProgram(o CommandOptions, most int) (*program, error) {
	var errs []error
	switch {
	case len(o.Argv) == 0 || o.Argv[0] == "":
		errs = append(errs, errors.New("command: argv is empty"))
	case slices.ContainsFunc(o.Argv, hasNUL):
		errs = append(errs, fmt.Errorf("command: argv %q has a NUL character", o.Argv))
	}
	if hasNUL(o.Dir) {
		errs = append(errs, fmt.Errorf("command: dir %q has a NUL character", o.Dir))
	}
	env, err := environment(o.Env)
	errs = append(errs, err)
	errs = append(errs, sealDescriptors())
	// Resolved now, so that a later change of the working directory has no effect.
	dir, err := filepath.Abs(o.Dir)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return &program{
		argv: slices.Clone(o.Argv), dir: dir, env: env, hidden: output.Among(o.Secrets),
		alive: limit{max: int64(most)}, isInit: os.Getpid() == 1,
	}, nil
}

// environment keeps each name once, with its last value: given two, some
// programs would read the first and some the last. The result is never nil,
// since for nil the standard library passes the gateway's own environment.
func environment(entries []string) ([]string, error) {
	env := make([]string, 0, len(entries))
	at := make(map[string]int, len(entries))
	var errs []error
	for n, entry := range entries {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "" || hasNUL(name):
			errs = append(errs, fmt.Errorf("command: env[%d] is not NAME=VALUE", n))
			continue
		case hasNUL(value):
			errs = append(errs, fmt.Errorf("command: env %s has a NUL character in its value", name))
			continue
		}
		if earlier, ok := at[name]; ok {
			env[earlier] = entry
			continue
		}
		at[name] = len(env)
		env = append(env, entry)
	}
	return env, errors.Join(errs...)
}

// sealDescriptors keeps programs from inheriting file descriptors that the
// gateway was started with. The standard library sets close-on-exec on
// everything that it opens, but not on what a careless parent process left
// open.
func sealDescriptors() error {
	entries, err := os.ReadDir(descriptors)
	if err != nil {
		return fmt.Errorf("command: cannot tell what a program would inherit: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }

// start starts the program. It can take as long as the file system does; ctx
// only ends the wait for a busy file.
func (p *program) start(ctx context.Context) (*process, error) {
	running, err := p.startOnce()
	if !errors.Is(err, syscall.ETXTBSY) {
		return running, err
	}
	select {
	case <-time.After(busyPause):
		return p.startOnce()
	case <-ctx.Done():
		return nil, err
	}
}

func (p *program) startOnce() (*process, error) {
	path, err := p.find()
	if err != nil {
		return nil, err
	}
	if !p.alive.enter() {
		return nil, fmt.Errorf("%d of its processes already exist, some of them killed but not yet gone", p.alive.max)
	}
	pipes, err := openPipes()
	if err != nil {
		p.alive.leave()
		return nil, err
	}
	defer pipes.closeTheirs()
	leader, err := os.StartProcess(path, p.argv, &os.ProcAttr{
		Dir: p.dir, Env: p.env, Files: pipes.theirs[:],
		// The program gets its own process group, which can be killed with everything
		// that the program starts, and which no terminal signals.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		pipes.closeOurs()
		p.alive.leave()
		return nil, err
	}
	running := &process{
		leader: leader, in: pipes.ours[0], out: pipes.ours[1], err: pipes.ours[2],
		hidden: p.hidden, stderr: output.Tail{Hidden: p.hidden},
		drained: make(chan struct{}),
		exited:  make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}), cleared: make(chan struct{}),
	}
	go func() {
		defer close(running.drained)
		running.stderr.Drain(running.err)
	}()
	go func() {
		defer p.alive.leave()
		defer close(running.cleared)
		running.reap()
		p.reapStrays()
	}()
	return running, nil
}

// reapStrays reaps dead processes that left their program's group. It runs
// whenever a program has ended or a worker has answered, not at each death: the
// zombies that remain in between are those of the most recent calls, so they do
// not accumulate.
func (p *program) reapStrays() {
	if p.isInit {
		reapStrays()
	}
}

// find returns the path to execute. A path with a directory part is returned
// unchanged: the kernel resolves it after the child has changed to its
// directory. A bare name is looked up in the PATH of the program's environment,
// not the gateway's, and never in a relative directory.
func (p *program) find() (string, error) {
	name := p.argv[0]
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	found := exec.ErrNotFound
	for _, dir := range filepath.SplitList(p.path()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return path, nil
		}
		if errors.Is(err, os.ErrPermission) {
			found = syscall.EACCES
		}
	}
	return "", found
}

// findable implements [Command.Findable].
func (p *program) findable() error {
	name, err := p.find()
	if err == nil && strings.ContainsRune(p.argv[0], '/') {
		name = p.absolute()
	}
	if err == nil {
		_, err = exec.LookPath(name)
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		return errors.New(p.why(err) + ": chmod +x makes it executable")
	case err != nil:
		return errors.New(p.why(err) + p.hint())
	case p.dir != "" && !exists(p.dir):
		return errors.New(noDirectory)
	}
	return p.scriptable(name)
}

// hint returns what to change so that a program that does not exist is found.
func (p *program) hint() string {
	name := p.argv[0]
	switch {
	case p.dir != "" && !exists(p.dir):
		return ""
	case strings.ContainsRune(name, ' '):
		return ": no shell splits it, so each argument is an item of its own in the list"
	case strings.ContainsRune(name, '/') && !filepath.IsAbs(name) && p.dir != "":
		return " in directory " + p.dir
	}
	return ""
}

// scriptable returns why a script has no interpreter, or one that would not be
// found. It looks at exactly what the kernel reads, the first line, in which a
// Windows line end becomes part of the interpreter's name.
func (p *program) scriptable(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // opening a pipe would block until its other end is opened
	}
	f, err := os.Open(path) //nolint:gosec // the operator's own program
	if err != nil {
		return nil // a program that can be run need not be readable
	}
	defer f.Close() //nolint:errcheck // only read from
	start := make([]byte, 256)
	n, _ := io.ReadFull(f, start)
	line, script := strings.CutPrefix(string(start[:n]), "#!")
	line, _, whole := strings.Cut(line, "\n")
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case strings.HasPrefix(line, byteOrderMark+"#!"):
		return errors.New(p.argv[0] + " begins with a byte order mark, so its first line names no interpreter: save it as UTF-8 without BOM")
	case !script && isText(start[:n]):
		return errors.New(p.argv[0] + " is a text without an interpreter: begin it with a line like #!/bin/sh")
	case !script || !whole || len(fields) == 0:
		return nil
	case strings.HasSuffix(line, "\r"):
		return errors.New(p.argv[0] + " has Windows line endings (CR LF), so its interpreter cannot be found: save it with LF")
	case filepath.IsAbs(fields[0]) && !exists(fields[0]):
		return errors.New(p.argv[0] + noInterpreter)
	}
	return nil
}

// isText reports whether a file begins as no program does: without any control
// characters but those of a text.
func isText(start []byte) bool {
	return len(start) > 0 && !bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f })
}

const (
	noDirectory   = "its working directory does not exist"
	noInterpreter = " exists, but the interpreter that it names does not"
	byteOrderMark = "\ufeff"
)

// path is the PATH of the program's environment.
func (p *program) path() string {
	for _, entry := range p.env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
}

// notStarted is the failure of a program that start could not start.
func (p *program) notStarted(err error) chain.Answer {
	return chain.Fail(chain.Spawn, "could not be started: "+p.why(err), fmt.Sprintf("%v, in directory %s", err, p.dir))
}

// why words an error of start in terms of the configuration. The system's "no
// such file or directory" does not say which of three files it means.
func (p *program) why(err error) string {
	name := p.argv[0]
	var errno syscall.Errno
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return name + " is not in the PATH of its environment"
	case errors.Is(err, syscall.ENOENT) && !exists(p.dir):
		return noDirectory
	case errors.Is(err, syscall.ENOENT) && exists(p.absolute()):
		return name + noInterpreter
	case errors.Is(err, syscall.ENOEXEC):
		return name + ": exec format error: neither a program for this machine nor a script that begins with #!"
	case errors.As(err, &errno):
		return name + ": " + errno.Error()
	}
	return err.Error()
}

// absolute is the absolute path of a program that has a directory part.
func (p *program) absolute() string {
	if filepath.IsAbs(p.argv[0]) {
		return p.argv[0]
	}
	return filepath.Join(p.dir, p.argv[0])
}

func exists(path string) bool {
	_, err := os.Stat(path) //nolint:gosec // the path of the operator's own program
	return err == nil
}

// pipes are both ends of stdin, stdout and stderr. All are close-on-exec, so
// that no other program inherits them.
type pipes struct{ ours, theirs [3]*os.File }

func openPipes() (*pipes, error) {
	var p pipes
	for n := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeOurs()
			p.closeTheirs()
			return nil, err
		}
		p.ours[n], p.theirs[n] = r, w
		if n == 0 {
			p.ours[n], p.theirs[n] = w, r
		}
	}
	return &p, nil
}

func (p *pipes) closeOurs()   { closeAll(p.ours[:]...) }
func (p *pipes) closeTheirs() { closeAll(p.theirs[:]...) }

// closeAll closes files whose contents are no longer needed, so it ignores the
// errors. Nil files are skipped.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// process is a running program that leads its own process group.
//
// A group is killed by the pid of its leader. The kernel keeps that pid
// reserved only until the leader is reaped; later it may belong to an unrelated
// process. The order is therefore fixed: the leader exits or end kills the
// group, and reap waits for end to have sent its signal before it reaps the
// leader.
type process struct {
	leader       *os.Process
	in, out, err *os.File
	hidden       *output.Secrets
	stderr       output.Tail

	drained chan struct{} // closed at the end of stderr
	exited  chan struct{} // closed once the leader has exited
	ended   chan struct{} // closed by end
	gone    chan struct{} // closed once the leader is reaped
	cleared chan struct{} // closed once nothing is left to reap
	ending  sync.Once
	state   *os.ProcessState // set once gone is closed; nil if unknown
}

// end kills the process group, whether the leader is running, stopped or has
// exited. A leader that joined another group is killed separately, since
// nothing else would ever end it.
func (p *process) end() {
	p.ending.Do(func() {
		_ = syscall.Kill(-p.leader.Pid, syscall.SIGKILL) // fails only if nobody is left
		_ = p.leader.Kill()                              // fails only if it has exited
		close(p.ended)
	})
}

// interrupt kills the group and unblocks readers and writers of its pipes,
// which a daemon outside the group may still hold open.
func (p *process) interrupt() {
	p.end()
	_ = p.in.SetWriteDeadline(longAgo()) // pipes support deadlines
	_ = p.out.SetReadDeadline(longAgo())
}

// longAgo, as a deadline, ends pending I/O. The zero time would mean no
// deadline.
func longAgo() time.Time { return time.Unix(1, 0) }

// abandon cleans up after a leader that has exited. Its output can still be
// read; a reader that waits for more is unblocked after settleWithin, even if a
// daemon holds the pipe open.
func (p *process) abandon() {
	p.end()
	_ = p.in.SetWriteDeadline(longAgo()) // pipes support deadlines
	_ = p.out.SetReadDeadline(time.Now().Add(settleWithin))
}

// reap waits for the leader to exit, for end, and then reaps the leader.
func (p *process) reap() {
	p.awaitExit()
	close(p.exited)
	<-p.ended
	p.wait()
	close(p.gone)
	p.adopt()
}

// wait reaps the leader, unless that is done.
func (p *process) wait() {
	if p.state == nil {
		p.state, _ = p.leader.Wait() // without a state, the way it ended is unknown
	}
}

// adopt reaps the rest of the killed group if it was reparented to the gateway,
// as in a container where the gateway is process 1. Otherwise there is no such
// child, and it returns at once.
func (p *process) adopt() {
	for {
		_, err := syscall.Wait4(-p.leader.Pid, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// settle waits for the last output on stderr until deadline, at most for
// settleWithin, and stops reading. Output of the group is in the pipe already,
// since the group is dead.
func (p *process) settle(deadline time.Time) {
	if soon := time.Now().Add(settleWithin); soon.Before(deadline) {
		deadline = soon
	}
	_ = p.err.SetReadDeadline(deadline) // pipes support deadlines
	<-p.drained
}

// fate is how the process ended: NoCause if it exited with status 0. It is
// valid once gone is closed.
func (p *process) fate() (chain.Cause, string) {
	if p.state == nil {
		return chain.Internal, "ended with an unknown exit status"
	}
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return chain.Signal, fmt.Sprintf("was ended by signal %v", status.Signal())
	}
	if code := p.state.ExitCode(); code != 0 {
		return chain.Exit, fmt.Sprintf("exited with status %d", code)
	}
	return chain.NoCause, "exited with status 0"
}

// close kills the process and releases everything. It waits until the group is
// reaped, but at most for reapWithin.
func (p *process) close() {
	p.end()
	closeAll(p.in, p.out, p.err)
	<-p.drained
	closedWithin(p.cleared, reapWithin)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closedWithin waits up to d for c to be closed, and reports whether it was.
func closedWithin(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return isClosed(c)
	}
}
