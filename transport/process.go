package transport

import (
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
)

const (
	// busyPause is how long a program that is being written is waited for
	// before it is tried once more.
	busyPause = 20 * time.Millisecond
	// settleWithin is how long the last words on stderr are waited for after
	// the process has exited. Only something that left its group can still
	// hold stderr then.
	settleWithin = 50 * time.Millisecond
	// reapWithin is how long a killed process is waited for. Only one that
	// hangs inside the kernel takes longer than an instant.
	reapWithin = 5 * time.Second
)

// program is what CommandOptions say to run, checked once.
type program struct {
	argv []string
	dir  string
	env  []string
	// hidden is what env has in it that nobody else may read.
	hidden *secrets
	// alive bounds the processes that are not reaped yet. Killed ones that
	// hang inside the kernel would otherwise pile up without end.
	alive limit
	// isInit says that this process is process 1, whom the kernel gives every
	// orphan.
	isInit bool
}

func newProgram(o CommandOptions, most int) (*program, error) {
	var errs []error
	switch {
	case len(o.Argv) == 0 || o.Argv[0] == "":
		errs = append(errs, errors.New("command: argv names no program"))
	case slices.ContainsFunc(o.Argv, hasNUL):
		errs = append(errs, fmt.Errorf("command: argv %q has a NUL character", o.Argv))
	}
	if hasNUL(o.Dir) {
		errs = append(errs, fmt.Errorf("command: dir %q has a NUL character", o.Dir))
	}
	env, err := environment(o.Env)
	errs = append(errs, err)
	errs = append(errs, sealDescriptors())
	// Settled now, so that no later change of directory moves it.
	dir, err := filepath.Abs(o.Dir)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return &program{
		argv: slices.Clone(o.Argv), dir: dir, env: env, hidden: secretsAmong(o.Secrets),
		alive: limit{max: int64(most)}, isInit: os.Getpid() == 1,
	}, nil
}

// environment holds each name once, with the last of its values: of two, some
// programs would read the first and some the last. It is never nil, which the
// standard library would take for the gateway's own.
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

// sealDescriptors keeps from every program what the gateway was itself started
// with. The standard library sees to all that it opens, but what a careless
// parent left open would be handed on.
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

// start runs the program. It can take as long as the file system wants; ctx
// only ends the wait for a file that is busy.
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
		return nil, fmt.Errorf("%d of its processes are there already, some of them killed and not yet gone", p.alive.max)
	}
	pipes, err := openPipes()
	if err != nil {
		p.alive.leave()
		return nil, err
	}
	defer pipes.closeTheirs()
	leader, err := os.StartProcess(path, p.argv, &os.ProcAttr{
		Dir: p.dir, Env: p.env, Files: pipes.theirs[:],
		// A group of its own is what can be killed with everything that the
		// program starts, and no terminal's.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		pipes.closeOurs()
		p.alive.leave()
		return nil, err
	}
	running := &process{
		leader: leader, in: pipes.ours[0], out: pipes.ours[1], err: pipes.ours[2],
		hidden: p.hidden, stderr: tail{hidden: p.hidden},
		drained: make(chan struct{}),
		exited:  make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}), cleared: make(chan struct{}),
	}
	go func() {
		defer close(running.drained)
		running.stderr.drain(running.err)
	}()
	go func() {
		defer p.alive.leave()
		defer close(running.cleared)
		running.reap()
		p.reapStrays()
	}()
	return running, nil
}

// reapStrays reaps what left the groups of programs and has died since. It is
// called whenever a program ends and a worker has answered, rather than at the
// moment of each death: what waits for it then is what the last calls left,
// which does not grow.
func (p *program) reapStrays() {
	if p.isInit {
		reapStrays()
	}
}

// find returns the path to execute. One with a directory part is left as it
// is: the kernel looks it up once the child stands in its directory. A bare
// name is looked up in the PATH that the program is given, not in the
// gateway's, and never in a relative directory.
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

// findable is [Command.Findable].
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
		return errors.New(p.why(err))
	case p.dir != "" && !exists(p.dir):
		return errors.New(noDirectory)
	}
	return p.scriptable(name)
}

// scriptable says of a script why its interpreter would not be found. What its
// first line names is all that the system looks at, the end of a line of Windows
// included.
func (p *program) scriptable(path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // a pipe is not opened: it would wait for its other end
	}
	f, err := os.Open(path) //nolint:gosec // the operator's own program
	if err != nil {
		return nil // one may be allowed to run what one may not read
	}
	defer f.Close() //nolint:errcheck // it was only read from
	start := make([]byte, 256)
	n, _ := io.ReadFull(f, start)
	line, script := strings.CutPrefix(string(start[:n]), "#!")
	line, _, whole := strings.Cut(line, "\n")
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case !script || !whole || len(fields) == 0:
		return nil
	case strings.HasSuffix(line, "\r"):
		return errors.New(p.argv[0] + " is there, but its lines end as those of Windows do (CR LF), which is taken for a part of its interpreter's name: save it with LF")
	case filepath.IsAbs(fields[0]) && !exists(fields[0]):
		return errors.New(p.argv[0] + noInterpreter)
	}
	return nil
}

const (
	noDirectory   = "its working directory does not exist"
	noInterpreter = " is there, but the interpreter that it names does not exist"
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

// notStarted is the failure of a program that start could not run.
func (p *program) notStarted(err error) chain.Answer {
	return chain.Fail(chain.Spawn, "could not be started: "+p.why(err), fmt.Sprintf("%v, in directory %s", err, p.dir))
}

// why says a start's error with the names that stand in the configuration. The
// system's "no such file" does not say which of three files it means.
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

// absolute is where a program with a directory part is.
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

// pipes are the two ends each of stdin, stdout and stderr. All are closed in
// other programs that this process starts.
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

// closeAll closes files whose content nobody wants any more, which is why the
// errors say nothing. A missing one is left out.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// process is a running program that leads a process group of its own.
//
// A group is killed by the number of its leader. That number belongs to it
// only until the leader is reaped; afterwards it may become that of a stranger.
// So the order is fixed: the leader exits, or end kills the group, and only
// after end has sent its signal does reap take the leader away.
type process struct {
	leader       *os.Process
	in, out, err *os.File
	hidden       *secrets
	stderr       tail

	drained chan struct{} // closed at the end of stderr
	exited  chan struct{} // closed once the leader has exited
	ended   chan struct{} // closed by end
	gone    chan struct{} // closed once the leader is reaped
	cleared chan struct{} // closed once nothing is left to reap
	ending  sync.Once
	state   *os.ProcessState // once gone; nil if it could not be learned
}

// end kills what there is of the group. It is the same whether the leader
// still runs, has stopped itself or has exited. One that has joined another
// group is met by itself: nobody else would ever end it.
func (p *process) end() {
	p.ending.Do(func() {
		_ = syscall.Kill(-p.leader.Pid, syscall.SIGKILL) // its error is that there is nobody left
		_ = p.leader.Kill()                              // its error is that it has exited
		close(p.ended)
	})
}

// interrupt ends the process and whoever waits for its words. A daemon outside
// of its group may hold the pipe still.
func (p *process) interrupt() {
	p.end()
	_ = p.in.SetWriteDeadline(longAgo()) // a pipe has deadlines
	_ = p.out.SetReadDeadline(longAgo())
}

// longAgo as a deadline ends whatever waits. The zero time would mean none.
func longAgo() time.Time { return time.Unix(1, 0) }

// abandon clears up after a leader that has exited. What it wrote can be read
// still; who waits for more of it learns in a moment that there is none, even
// if a daemon holds the pipe.
func (p *process) abandon() {
	p.end()
	_ = p.in.SetWriteDeadline(longAgo()) // a pipe has deadlines
	_ = p.out.SetReadDeadline(time.Now().Add(settleWithin))
}

// reap follows the leader to its end.
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
		p.state, _ = p.leader.Wait() // without a state the process counts as lost
	}
}

// adopt reaps the rest of the killed group where it has become ours: in a
// container the gateway may be process 1, whom the kernel gives every orphan.
// Anywhere else there is no such child, and it returns at once.
func (p *process) adopt() {
	for {
		_, err := syscall.Wait4(-p.leader.Pid, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// settle waits a moment for the last words on stderr, which must be there
// since the group is dead, and stops listening.
func (p *process) settle(deadline time.Time) {
	if soon := time.Now().Add(settleWithin); soon.Before(deadline) {
		deadline = soon
	}
	_ = p.err.SetReadDeadline(deadline) // a pipe has deadlines
	<-p.drained
}

// fate is how the process ended: NoCause where it exited with status 0. It is
// known once the process is gone.
func (p *process) fate() (chain.Cause, string) {
	if p.state == nil {
		return chain.Internal, "ended, but how could not be learned"
	}
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return chain.Signal, fmt.Sprintf("was ended by signal %v", status.Signal())
	}
	if code := p.state.ExitCode(); code != 0 {
		return chain.Exit, fmt.Sprintf("exited with status %d", code)
	}
	return chain.NoCause, "exited with status 0"
}

// close ends the process and gives everything back. It waits until
// nothing of it is left, though not for ever.
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

// closedWithin waits for a channel to be closed, and says whether it was.
func closedWithin(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return isClosed(c)
	}
}
