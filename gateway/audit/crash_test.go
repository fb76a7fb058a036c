package audit

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// writerFile is the environment variable that makes the test binary write
// records to the named file and print each one once it is durable.
const writerFile = "HOOKGATE_TEST_AUDIT_WRITER"

func writeUntilKilled(path string) int {
	f, err := OpenFile(FileOptions{Path: path, MaxBytes: 64 << 10})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tr := New(Options{Outputs: []Output{{Name: "file", Sink: f, Durable: true}}, Observer: &counter{}, Logger: slog.New(slog.DiscardHandler)})
	var out sync.Mutex
	var all sync.WaitGroup
	for caller := range 16 {
		all.Go(func() {
			for n := 0; ; n++ {
				body := fmt.Sprintf(`{"id":"%d/%d/%d"}`, os.Getpid(), caller, n)
				if err := tr.KeepSafely(context.Background(), Record{Body: []byte(body)}, corrected); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				if n%3 == 0 {
					tr.Keep(Record{Body: []byte(`{"optional":true}`)})
				}
				out.Lock()
				fmt.Println(body)
				out.Unlock()
			}
		})
	}
	all.Wait()
	return 1
}

func TestL1_NothingThatWasToldToBeSafeIsLostToAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var told []string
	for range 5 {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), writerFile+"="+path)
		var complaints strings.Builder
		writer.Stderr = &complaints
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 1; lines.Scan(); n++ {
			told = append(told, lines.Text())
			if n == 300 { // at an arbitrary moment; its earlier output is still read
				if err := writer.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := writer.Wait(); err == nil || complaints.Len() > 0 {
			t.Fatalf("it ended by itself: %v: %s", err, complaints.String())
		}
	}
	kept := map[string]bool{}
	head, err := Read(path, func(l Line) error { kept[string(l.Body)] = true; return nil })
	if err != nil {
		t.Fatalf("the chain is broken behind record %d: %v", head.Last, err)
	}
	for _, body := range told {
		if !kept[body] && strings.HasSuffix(body, "}") { // the last line may be half a line
			t.Errorf("%s was told to be safe, and is not there", body)
		}
	}
	if files, err := earlierFiles(path); err != nil || len(files) == 0 {
		t.Errorf("no file was put away: %v, error %v", files, err)
	}
	t.Logf("%d records were told to be safe, %d are there", len(told), head.Last)
}
