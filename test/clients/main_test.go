package clients_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Environment variables with the locations of programs.
const (
	modulesVariable = "HOOKGATE_TEST_NODE_MODULES" // what npm ci made of this folder's lock file
	gatewayVariable = "HOOKGATE_TEST_GATEWAY"      // the gateway's program, where the network is the loopback alone
)

func TestMain(m *testing.M) {
	if os.Getenv(modulesVariable) == "" {
		fmt.Fprintf(os.Stderr, "%s does not say where the agents are: run .ci/run clients, which installs them\n", modulesVariable)
		os.Exit(1)
	}
	if os.Getenv(gatewayVariable) == "" {
		os.Exit(alone())
	}
	if err := loopback(); err != nil {
		fmt.Fprintf(os.Stderr, "the loopback of the tests' own network: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// build builds the gateway, and gateway-ask beside it.
func build(dir string) (string, error) {
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "./cmd/gateway", "./cmd/gateway-ask")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join("..", ".."), os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return filepath.Join(dir, "gateway"), cmd.Run()
}

// alone runs the tests again in a network namespace that has only a loopback:
// agents cannot report anything to their vendors.
func alone() int {
	dir, err := os.MkdirTemp("", "hookgate-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in a temporary directory anyway
	program, err := build(dir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the gateway cannot be built: %v\n", err)
		return 1
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), gatewayVariable+"="+program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err = cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintf(os.Stderr, "the tests want a network of their own: %v\n", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// loopback activates the loopback interface of this network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // it was only used for an ioctl
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
