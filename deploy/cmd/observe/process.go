package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a started program.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   string        // the file with its output
	ended chan struct{} // closed when it has ended and err is set
	err   error
}

// grace is how long a program may take to end after SIGTERM.
const grace = 10 * time.Second

// run starts a program with its output in a file in dir.
func run(ctx context.Context, dir, name string, env []string, argv ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), ended: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the program has its own descriptor
	p.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = out, out, dir
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = grace
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the program. It returns an error if the program ended before or
// failed.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended by itself: %w\n%s", p.name, p.err, p.said())
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(grace):
		return errors.Join(fmt.Errorf("%s does not end:\n%s", p.name, p.said()), p.cmd.Process.Kill())
	}
	if p.err != nil {
		return fmt.Errorf("%s did not end well: %w\n%s", p.name, p.err, p.said())
	}
	return nil
}

// said returns the end of its output.
func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// freeAddrs returns n distinct unused loopback addresses. All of them are
// reserved before any is released, so that they differ.
func freeAddrs(ctx context.Context, n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
