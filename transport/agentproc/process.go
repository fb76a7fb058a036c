package agentproc

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// process is a running agent: the leader of its own process group, and the
// gateway's ends of its three pipes.
//
// A group is signalled by the pid of its leader, which the kernel reserves only
// until the leader is reaped. mu therefore keeps reaping and signalling apart.
type process struct {
	leader *os.Process
	stdin  *os.File
	stdout *outlet
	stderr *outlet
	// exited is closed after the process has ended and was reaped, and after
	// status was set.
	exited chan struct{}
	status syscall.WaitStatus

	mu     sync.Mutex
	state  *os.ProcessState
	reaped bool
}

// start starts the process. A caller that reads both outlets to EOF and then
// calls close has released everything.
func start(l launch) (*process, error) {
	var ours, theirs [3]*os.File
	closeAll := func(files [3]*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close() // a pipe to which nothing was written
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

// wait waits for the process to end, and kills what is left of its group.
func (p *process) wait() {
	p.awaitExit()
	p.reap()
	p.stdout.end()
	p.stderr.end()
	close(p.exited)
	p.adopt()
}

// reap kills the rest of the group and reaps the leader, which has ended.
func (p *process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill(syscall.SIGKILL)
	if p.state == nil {
		p.state, _ = p.leader.Wait()
	}
	p.reaped = true
	p.status = 255 << 8 // unknown status counts as a failure
	if p.state != nil {
		p.status, _ = p.state.Sys().(syscall.WaitStatus) // always a WaitStatus on Unix
	}
}

// adopt reaps the rest of the group if it was reparented to the gateway, as in
// a container where the gateway is process 1. Otherwise there is no such child.
func (p *process) adopt() {
	for {
		_, err := syscall.Wait4(-p.leader.Pid, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// signal signals the process group, unless its leader was reaped, in which case
// the rest of the group was killed too.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.kill(s)
	}
}

// kill signals the group. A leader that moved to another group is signalled
// separately: always with SIGKILL, but with another signal only if the group
// did not get it, since many programs take a second SIGTERM for "at once". The
// caller holds p.mu.
func (p *process) kill(s syscall.Signal) {
	if err := syscall.Kill(-p.leader.Pid, s); err != nil || s == syscall.SIGKILL {
		_ = p.leader.Signal(s) // fails only if the leader has ended
	}
}

// close closes the gateway's ends of the pipes, which unblocks a writer.
func (p *process) close() {
	_ = p.stdin.Close() // may be closed already
	_ = p.stdout.file.Close()
	_ = p.stderr.file.Close()
}

// outlet reads what the process writes to one pipe. It ends at EOF or, once the
// process has ended, when the pipe is empty, so that a descendant that left the
// group and holds the pipe open cannot hold up the turn (A6). What the process
// wrote before it ended is in the pipe by then, and is read.
type outlet struct {
	file  *os.File
	ended bool // whether the process has ended, as far as the reader knows
	left  int  // how many more bytes are read after that
}

// maxLeftover is the maximum capacity of a pipe. Bytes beyond it cannot be the
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

// readNow reads what is in the pipe, without waiting for more.
func (o *outlet) readNow(buf []byte) (n int) {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), buf)
			if !errors.Is(err, syscall.EINTR) {
				return true // also if the pipe is empty: false would wait
			}
		}
	})
	return n
}
