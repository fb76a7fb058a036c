package logbuffer

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is a writer that can be read concurrently, and stalls until it is
// released.
type output struct {
	mu       sync.Mutex
	text     bytes.Buffer
	released chan struct{}
}

func newOutput() *output { return &output{released: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	<-o.released
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func put(t *testing.T, b *Buffer, line string) {
	t.Helper()
	if n, err := b.Write([]byte(line + "\n")); n != len(line)+1 || err != nil {
		t.Fatalf("took %d bytes: %v", n, err)
	}
}

func TestLinesAreWrittenTogetherAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		close(out.released)
		b := New(out)
		want := ""
		written := func(when string) {
			t.Helper()
			synctest.Wait()
			if got := out.String(); got != want {
				t.Errorf("%s there are %d bytes, want %d: %.300s", when, len(got), len(want), got)
			}
		}
		put(t, b, "one")
		put(t, b, "two")
		written("at once")
		want = "one\ntwo\n"
		time.Sleep(delay)
		written("after the delay")
		put(t, b, "three")
		b.Flush()
		want += "three\n"
		written("after a flush")
		long := strings.Repeat("x", batch)
		for range 3 { // every second batch reuses the same memory
			put(t, b, long)
			want += long + "\n"
			written("with a full buffer")
		}
		put(t, b, "last")
		b.Close()
		want += "last\n"
		written("after the end")
		put(t, b, "too late")
		time.Sleep(delay)
		written("long after the end")
	})
}

func TestAReaderWhoStallsStallsNobodyAndIsToldWhatHeMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newOutput()
		b := New(out)
		line := strings.Repeat("x", 1023)
		began := time.Now()
		for range 2 * held / (len(line) + 1) {
			put(t, b, line)
		}
		b.Close()
		if took := time.Since(began); took > farewell {
			t.Errorf("it took %v", took)
		}
		close(out.released)
		<-b.ended
		if lines := strings.Count(out.String(), "\n"); !strings.Contains(out.String(), `"msg":"log lines were dropped`) || lines > 2*held/(len(line)+1) {
			t.Errorf("nobody says that lines were dropped, of which there are %d", lines)
		}
	})
}
