// Package postgres runs a real PostgreSQL server for tests, and tests package
// gateway/state with it.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookgate/hookgate/test/freeport"
)

// patience is the timeout for starting and stopping the server.
const patience = 60 * time.Second

// Server is a PostgreSQL server on a free loopback port. It can be stopped and
// restarted.
type Server struct {
	t         testing.TB
	programs  string
	dir       string
	address   string
	databases atomic.Int64
	server    *exec.Cmd
}

// Start creates a new cluster in a directory of the test and starts its server,
// which is stopped at the end of the test. Without PostgreSQL on the machine
// the test fails.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, programs: programs(t), address: freeport.Address(t)}
	dir, err := os.MkdirTemp("", "hookgate-postgres") //nolint:usetesting // t.TempDir cannot be entered by another user
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if c := other(t); c != nil {
		if err := os.Chown(dir, int(c.Uid), int(c.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	// The tests do not check the server's own durability, and syncing would
	// dominate their duration.
	made := s.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "hookgate", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if said, err := made.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, said)
	}
	s.Run()
	t.Cleanup(s.Stop)
	return s
}

// programs returns the directory of the newest version's programs.
func programs(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		t.Fatalf("PostgreSQL is not installed (Debian: apt-get install postgresql): %v", err)
	}
	return filepath.Dir(path)
}

// other returns the user for running the server if this process is root,
// because the server refuses to run as root.
func other(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, errU := strconv.ParseUint(u.Uid, 10, 32)
	gid, errG := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errU, errG); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) command(program string, args ...string) *exec.Cmd {
	// Not the test's context: the server is shut down in order, after it has
	// ended.
	c := exec.CommandContext(context.Background(), filepath.Join(s.programs, program), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: other(s.t), Setpgid: true}
	return c
}

// Run starts a stopped server and returns once it answers.
func (s *Server) Run() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	s.server = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-p", s.address[strings.LastIndexByte(s.address, ':')+1:], "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=100", "-c", "shared_buffers=16MB")
	s.server.Stdout, s.server.Stderr = log, log
	if err := s.server.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		err := s.exec("postgres", "SELECT 1")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(s.dir, "log")) // for the message alone
			s.t.Fatalf("the server does not answer: %v: %s", err, said)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// Stop shuts the server down at once and closes its connections. Committed data
// is not lost.
func (s *Server) Stop() {
	s.t.Helper()
	if s.server == nil {
		return
	}
	if err := s.server.Process.Signal(syscall.SIGQUIT); err != nil {
		s.t.Error(err)
	}
	_ = s.server.Wait() // its status is that it was stopped
	s.server = nil
}

// Signal sends a signal to every process of the server: SIGSTOP makes it hang.
func (s *Server) Signal(signal syscall.Signal) {
	s.t.Helper()
	for _, pid := range append(s.children(), s.server.Process.Pid) {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			s.t.Fatal(err)
		}
	}
}

// children returns the server's connection processes, each of which has its own
// process group.
func (s *Server) children() []int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.server.Process.Pid, s.server.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	var all []int
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// Database creates a database and returns its URL.
func (s *Server) Database() string {
	s.t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if err := s.exec("postgres", "CREATE DATABASE "+name); err != nil {
		s.t.Fatal(err)
	}
	return s.url(name)
}

func (s *Server) url(database string) string {
	return "postgres://hookgate@" + s.address + "/" + database + "?sslmode=disable"
}

// exec runs a statement.
func (s *Server) exec(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Exec runs a statement in the database at a URL.
func (s *Server) Exec(url, statement string) {
	s.t.Helper()
	_, name, _ := strings.Cut(strings.TrimPrefix(url, "postgres://"), "/")
	name, _, _ = strings.Cut(name, "?")
	if err := s.exec(name, statement); err != nil {
		s.t.Fatal(err)
	}
}
