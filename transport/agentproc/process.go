package agentproc

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// process is a running agent: the leader of a process group of its own, and
// our ends of its three pipes.
//
// A group is signalled by the number of its leader, which belongs to it only
// until the leader is reaped. So reaping and signalling exclude each other.
type process struct {
	leader *os.Process
	stdin  *os.File
	stdout *outlet
	stderr *outlet
	// exited is closed once the process has ended and was reaped; status is set
	// before.
	exited chan struct{}
	status syscall.WaitStatus

	mu     sync.Mutex
	state  *os.ProcessState
	reaped bool
}

// start starts the process. Whoever reads its outlets to their end and closes
// it has released everything.
func start(l launch) (*process, error) {
	var ours, theirs [3]*os.File
	closeAll := func(files [3]*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close() // a pipe that nothing was written to
			}
		}
	}
	defer func() { closeAll(theirs) }()
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			return nil, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	started, err := os.StartProcess(l.path, l.argv, &os.ProcAttr{
		Dir: l.dir, Env: l.env, Files: theirs[:], Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	p := &process{
		leader: started, stdin: ours[0],
		stdout: &outlet{file: ours[1], left: maxLeftover},
		stderr: &outlet{file: ours[2], left: maxLeftover},
		exited: make(chan struct{}),
	}
	go p.wait()
	return p, nil
}

// wait waits for the process, and ends what is left of its group.
func (p *process) wait() {
	p.awaitExit()
	p.reap()
	p.stdout.end()
	p.stderr.end()
	close(p.exited)
	p.adopt()
}

// reap ends the rest of the group and takes the ended leader away.
func (p *process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill(syscall.SIGKILL)
	if p.state == nil {
		p.state, _ = p.leader.Wait()
	}
	p.reaped = true
	p.status = 255 << 8 // a process that cannot be waited for has not succeeded
	if p.state != nil {
		p.status, _ = p.state.Sys().(syscall.WaitStatus) // which it is on every Unix
	}
}

// adopt reaps what was left of the group where that has become ours: in a
// container the gateway may be process 1, which gets every orphan. Anywhere
// else there is no such child.
func (p *process) adopt() {
	for {
		_, err := syscall.Wait4(-p.leader.Pid, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// signal sends a signal to the process group, unless its leader has ended and
// was reaped: the rest was ended then.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.kill(s)
	}
}

// kill sends a signal. A leader that has moved to another group is met by
// itself: always by SIGKILL, and by a gentler signal only if it cannot have got
// that already, since a second one means "at once" to many programs. It is
// called with the lock held.
func (p *process) kill(s syscall.Signal) {
	if err := syscall.Kill(-p.leader.Pid, s); err != nil || s == syscall.SIGKILL {
		_ = p.leader.Signal(s) // its error is that the leader has ended
	}
}

// close releases our ends of the pipes. Whoever is blocked writing to the agent
// returns.
func (p *process) close() {
	_ = p.stdin.Close() // closed before where the agent's input ended
	_ = p.stdout.file.Close()
	_ = p.stderr.file.Close()
}

// outlet is what the process writes to one pipe. It ends with the pipe or, once
// the process has ended, where the pipe is empty: a descendant that left the
// group and holds the other end cannot hold the turn (A6). What the process
// wrote before it ended is in the pipe by then and is read.
type outlet struct {
	file  *os.File
	ended bool // the process has, as the reader knows
	left  int  // how much more is read after that
}

// maxLeftover is the most that a pipe holds. What comes after is not the
// process's.
const maxLeftover = 1 << 20

// end tells the reader that the process has ended. It is called once.
func (o *outlet) end() { _ = o.file.SetReadDeadline(time.Unix(1, 0)) }

func (o *outlet) Read(buf []byte) (int, error) {
	if !o.ended {
		n, err := o.file.Read(buf)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		o.ended = true
		_ = o.file.SetReadDeadline(time.Time{})
	}
	if o.left <= 0 {
		return 0, io.EOF
	}
	n := o.readNow(buf[:min(len(buf), o.left)])
	if n <= 0 {
		return 0, io.EOF
	}
	o.left -= n
	return n, nil
}

// readNow reads what the pipe holds, without waiting for more.
func (o *outlet) readNow(buf []byte) (n int) {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), buf)
			if !errors.Is(err, syscall.EINTR) {
				return true // also where the pipe is empty: nobody waits here
			}
		}
	})
	return n
}
