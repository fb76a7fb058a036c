package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary act as the started program.
func TestMain(m *testing.M) {
	switch os.Getenv("PROC_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "waits":
		fmt.Println("ready")
		<-time.After(time.Hour)
	case "ends well":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		fmt.Println("ready")
		<-stop
	case "ends badly":
		fmt.Fprintln(os.Stderr, "for this reason")
		os.Exit(3)
	case "spins":
		fmt.Println("ready")
		for turns := (&atomic.Int64{}); ; turns.Add(1) {
		}
	case "leaves a zombie":
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"PROC_TEST_ROLE=ends badly"}
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Println("ready")
		<-time.After(time.Hour)
	}
}

func started(t *testing.T, role string) *Process {
	t.Helper()
	p, err := Start(t.Context(), filepath.Join(t.TempDir(), "log"), []string{"PROC_TEST_ROLE=" + role}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ready(t *testing.T, role string) *Process {
	t.Helper()
	p := started(t, role)
	line, err := p.FirstLine(t.Context())
	if err != nil || line != "ready" {
		t.Fatalf("said %q, %v", line, err)
	}
	return p
}

func TestAProgramThatEndsAsAskedIsNoError(t *testing.T) {
	for _, role := range []string{"waits", "ends well"} {
		if err := ready(t, role).Stop(); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
}

func TestAProgramThatFailedIsAnErrorWithWhatItSaid(t *testing.T) {
	p := started(t, "ends badly")
	if _, err := p.FirstLine(t.Context()); err == nil {
		t.Error("its first line is no error")
	}
	<-p.Ended()
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "exit status 3: for this reason") {
		t.Errorf("error %v", err)
	}
}

func TestAProgramThatIsNotThereCannotBeStarted(t *testing.T) {
	if _, err := Start(t.Context(), filepath.Join(t.TempDir(), "log"), nil, "/nowhere"); err == nil {
		t.Error("no error")
	}
}

// eventually retries until good holds; only the test's timeout limits it.
func eventually(t *testing.T, good func() bool) {
	t.Helper()
	for !good() {
		select {
		case <-t.Context().Done():
			t.Fatal("it never did")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestProcessorTimeIsThatOfTheProgram(t *testing.T) {
	p := ready(t, "spins")
	defer func() { _ = p.Stop() }()
	var last time.Duration
	eventually(t, func() bool {
		used, err := p.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if used < last {
			t.Fatalf("it went back from %v to %v", last, used)
		}
		last = used
		return used > 50*time.Millisecond
	})
	if wall := time.Since(p.Began); last > 64*wall {
		t.Errorf("it used %v in %v", last, wall)
	}
}

func TestMemoryAndFilesAreThoseOfTheProgram(t *testing.T) {
	p := ready(t, "waits")
	defer func() { _ = p.Stop() }()
	if n, err := p.Memory(); err != nil || n < 100<<10 || n > 1<<30 {
		t.Errorf("memory: %d, %v", n, err)
	}
	if n, err := p.Files(); err != nil || n < 3 || n > 100 {
		t.Errorf("files: %d, %v", n, err)
	}
	if all, zombies, err := p.Children(); err != nil || all != 0 || zombies != 0 {
		t.Errorf("children: %d, %d, %v", all, zombies, err)
	}
}

func TestAChildNobodyWaitedForIsAZombie(t *testing.T) {
	p := ready(t, "leaves a zombie")
	defer func() { _ = p.Stop() }()
	eventually(t, func() bool {
		all, zombies, err := p.Children()
		if err != nil || all != 1 {
			t.Fatalf("children: %d, %v", all, err)
		}
		return zombies == 1
	})
}

func TestOfAProgramThatEndedNothingIsMeasured(t *testing.T) {
	p := ready(t, "waits")
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CPU(); err == nil {
		t.Error("CPU: no error")
	}
	if _, err := p.Memory(); err == nil {
		t.Error("memory: no error")
	}
	if _, err := p.Files(); err == nil {
		t.Error("files: no error")
	}
}

func TestAProgramEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, filepath.Join(t.TempDir(), "log"), []string{"PROC_TEST_ROLE=waits"}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-p.Ended()
}
