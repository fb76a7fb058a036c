package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerFile); path != "" {
		os.Exit(writeUntilKilled(path))
	}
	goleak.VerifyTestMain(m)
}

// counter counts records by their result.
type counter struct {
	mu                       sync.Mutex
	written, dropped, failed int
}

func (c *counter) add(to *int, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*to += n
}
func (c *counter) Written(_ string, n int) { c.add(&c.written, n) }
func (c *counter) Dropped(_ string, n int) { c.add(&c.dropped, n) }
func (c *counter) Failed(_ string, n int)  { c.add(&c.failed, n) }

func (c *counter) want(t *testing.T, written, dropped, failed int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff([]int{written, dropped, failed}, []int{c.written, c.dropped, c.failed}); diff != "" {
		t.Errorf("written, dropped, failed (-want +got):\n%s", diff)
	}
}

// fake is a sink with scripted behavior.
type fake struct {
	does   func(ctx context.Context, records []Record, durable bool) error
	closed bool
}

func (f *fake) Write(ctx context.Context, records []Record, durable bool) error {
	return f.does(ctx, records, durable)
}
func (f *fake) Close() error { f.closed = true; return nil }

func trail(c *counter, outputs ...Output) *Trail {
	return New(Options{Outputs: outputs, Observer: c, Logger: slog.New(slog.DiscardHandler), MaxRecords: 100, MaxBytes: 1 << 20})
}

func record(i int) Record {
	return Record{Time: time.Unix(int64(i), 0), Body: fmt.Appendf(nil, `{"i":%d}`, i)}
}

// corrected returns the record that replaces one that was not kept.
func corrected(error) Record {
	return Record{Time: time.Unix(0, 0), Body: []byte(`{"corrected":true}`)}
}

func TestL4_RecordsThatAreWaitedForShareASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		var batches, syncs atomic.Int64
		tr := trail(c, Output{Name: "disk", Durable: true, Sink: &fake{does: func(_ context.Context, _ []Record, durable bool) error {
			batches.Add(1)
			if durable {
				syncs.Add(1)
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}}})
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				if err := tr.KeepSafely(t.Context(), record(i), corrected); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if syncs.Load() > 3 { // the first one may have been synced alone
			t.Errorf("64 records took %d syncs", syncs.Load())
		}
		before := batches.Load()
		for i := range 50 {
			tr.Keep(record(i))
		}
		synctest.Wait()
		if batches.Load() != before {
			t.Error("a record that nobody waits for did not wait for others")
		}
		time.Sleep(gather)
		synctest.Wait()
		if batches.Load() != before+1 || syncs.Load() > 3 {
			t.Errorf("50 records that nobody waits for took %d batches and %d syncs in all", batches.Load()-before, syncs.Load())
		}
		c.want(t, 114, 0, 0)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestL3_WhatDoesNotFitIsCountedAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, release := &counter{}, make(chan struct{})
		stalls := &fake{does: func(context.Context, []Record, bool) error { <-release; return nil }}
		quick := &counter{}
		var seen atomic.Int64
		tr := trail(c, Output{Name: "stalls", Sink: stalls})
		other := trail(quick, Output{Name: "works", Sink: &fake{does: func(_ context.Context, r []Record, _ bool) error { seen.Add(int64(len(r))); return nil }}})
		began := time.Now()
		for i := range 1000 {
			tr.Keep(record(i))
		}
		tr.Keep(Record{Body: make([]byte, 1<<20)})
		if took := time.Since(began); took > 0 {
			t.Errorf("keeping took %v", took)
		}
		c.want(t, 0, 901, 0)
		other.Keep(record(1))
		time.Sleep(time.Second)
		if seen.Load() != 1 {
			t.Error("a sink that stalls held up another")
		}
		close(release)
		if err := errors.Join(tr.Close(), other.Close()); err != nil {
			t.Error(err)
		}
		c.want(t, 100, 901, 0)
		if !stalls.closed {
			t.Error("the sink is not closed")
		}
		tr.Keep(record(1))
		c.want(t, 100, 902, 0)
	})
}

func TestL5_NotBeingToldInTimeIsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, release := &counter{}, make(chan struct{})
		tr := trail(c, Output{Name: "disk", Durable: true, Sink: &fake{does: func(context.Context, []Record, bool) error { <-release; return nil }}},
			Output{Name: "stream", Sink: &fake{does: func(context.Context, []Record, bool) error { return errors.New("gone") }}})
		began := time.Now()
		err := tr.KeepSafely(t.Context(), record(1), corrected)
		if err == nil || time.Since(began) != 5*time.Second || !strings.Contains(err.Error(), "did not confirm the record in time") {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := tr.KeepSafely(gone, record(1), corrected); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that is gone: %v", err)
		}
		close(release)
		if err := tr.KeepSafely(t.Context(), record(1), corrected); err != nil {
			t.Errorf("a stream that fails counts although it makes nothing safe: %v", err)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		c.want(t, 5, 0, 5) // including the two corrections
		if err := tr.KeepSafely(t.Context(), record(1), corrected); err == nil {
			t.Error("a closed trail keeps records")
		}
	})
}

func TestL5_AFailureAndNowhereToKeepAreNo(t *testing.T) {
	c := &counter{}
	tr := trail(c, Output{Name: "disk", Durable: true, Sink: &fake{does: func(context.Context, []Record, bool) error { return errors.New("disk full") }}})
	if err := tr.KeepSafely(t.Context(), record(1), corrected); err == nil || err.Error() != "audit disk: disk full" || !tr.Durable() || tr.Empty() {
		t.Errorf("error %v", err)
	}
	c.want(t, 0, 0, 1)
	empty := trail(c)
	if err := empty.KeepSafely(t.Context(), record(1), corrected); err == nil || empty.Durable() || !empty.Empty() {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(tr.Close(), empty.Close()); err != nil {
		t.Error(err)
	}
}

func TestL5_ASinkThatNeverEndsDoesNotKeepTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		tr := trail(&counter{}, Output{Name: "hangs", Sink: &fake{does: func(context.Context, []Record, bool) error { <-release; return nil }}})
		tr.Keep(record(1))
		time.Sleep(time.Second)
		if err := tr.Close(); err == nil || err.Error() != "audit hangs: it did not stop in time" {
			t.Errorf("error %v", err)
		}
		close(release)
	})
}

func opened(t *testing.T, o FileOptions) *File {
	t.Helper()
	f, err := OpenFile(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t *testing.T, f *File, from, to int) {
	t.Helper()
	var records []Record
	for i := from; i < to; i++ {
		records = append(records, record(i))
	}
	if err := f.Write(t.Context(), records, true); err != nil {
		t.Fatal(err)
	}
}

func closed(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// bodies returns the records in the files of a path, and the result of reading
// them.
func bodies(path string) (string, Head, error) {
	var all []string
	head, err := Read(path, func(l Line) error { all = append(all, string(l.Body)); return nil })
	return strings.Join(all, ""), head, err
}

func TestL6_AFileCarriesOnOverRestartsAndRotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	want := ""
	for i := range 40 {
		f := opened(t, FileOptions{Path: path, MaxBytes: 500})
		write(t, f, i*2, i*2+2)
		closed(t, f)
		want += fmt.Sprintf(`{"i":%d}{"i":%d}`, i*2, i*2+1)
	}
	got, head, err := bodies(path)
	if err != nil || got != want || head.First != 1 || head.Last != 80 {
		t.Errorf("%s, records %d to %d, error %v", got, head.First, head.Last, err)
	}
	files, err := earlierFiles(path)
	if err != nil || len(files) < 10 {
		t.Errorf("it was rotated to %v, error %v", files, err)
	}
	f := opened(t, FileOptions{Path: path, MaxBytes: 500, Keep: 2})
	write(t, f, 80, 90)
	write(t, f, 90, 100)
	closed(t, f)
	_, later, err := bodies(path)
	if files, _ := earlierFiles(path); err != nil || len(files) != 2 || later.First < 50 || later.Last != 100 {
		t.Errorf("of the earlier ones %v are kept, records %d to %d, error %v", files, later.First, later.Last, err)
	}
}

func TestL6_NoRecordPutsInALineOrBreaksTheChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	forged := string(appendLine(nil, 2, [sha256.Size]byte{}, []byte(`{"i":"forged"}`)))
	for name, tc := range map[string]struct {
		body, want string // an empty want means refused
	}{
		"a line break":                  {"{\"i\":\n1}", `{"i": 1}`},
		"a line break of another kind":  {"{\"i\":\r\n1}", `{"i":  1}`},
		"one at its end":                {"{\"i\":1}\n", `{"i":1} `},
		"a line of its own":             {"{\"i\":1}}\n" + forged, `{"i":1}} ` + forged},
		"one within a text":             {"{\"i\":\"\n\"}", `{"i":" "}`},
		"nothing":                       {"", ""},
		"the longest there can be":      {strings.Repeat("x", largestBody), strings.Repeat("x", largestBody)},
		"longer than what can be read":  {strings.Repeat("x", largestBody+1), ""},
		"line breaks and nothing else":  {"\n\n", "  "},
		"the longest, with line breaks": {strings.Repeat("\n", largestBody), strings.Repeat(" ", largestBody)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			var stream bytes.Buffer
			c := &counter{}
			file, kept := opened(t, FileOptions{Path: path}), &doubtful{}
			tr := New(Options{Observer: c, Logger: slog.New(slog.DiscardHandler), Outputs: []Output{
				{Name: "file", Sink: file, Durable: true}, {Name: "stream", Sink: &Lines{To: &stream}}, {Name: "state", Sink: kept, Durable: true},
			}})
			bad := Record{Body: []byte(tc.body)}
			if err := tr.KeepSafely(t.Context(), bad, corrected); (err != nil) != (tc.want == "") {
				t.Errorf("it was kept safely: %v", err)
			}
			tr.Keep(bad)
			if err := errors.Join(tr.KeepSafely(t.Context(), record(7), corrected), tr.Close()); err != nil {
				t.Fatal(err)
			}
			want := []string{tc.want, tc.want, `{"i":7}`}
			if tc.want == "" {
				want = []string{`{"corrected":true}`, `{"i":7}`}
				c.want(t, 6, 0, 6)
			}
			var lines []string
			if _, err := Read(path, func(l Line) error { lines = append(lines, string(l.Body)); return nil }); err != nil {
				t.Errorf("the chain is broken: %v", err)
			}
			for where, got := range map[string][]string{"the file": lines, "the stream": strings.Split(strings.TrimSuffix(stream.String(), "\n"), "\n"), "the state": kept.has} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s has (-want +got):\n%.500s", where, diff)
				}
			}
			f := opened(t, FileOptions{Path: path}) // reads the last line
			if err := f.Write(t.Context(), []Record{bad, record(8)}, true); (err != nil) != (tc.want == "") {
				t.Errorf("written without a trail: %v", err)
			}
			closed(t, f)
			if _, err := Read(path, func(Line) error { return nil }); err != nil {
				t.Errorf("the chain is broken: %v", err)
			}
		})
	}
}

func TestL6_WhatWasBeingWrittenAtTheEndIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := opened(t, FileOptions{Path: path})
	write(t, f, 0, 3)
	closed(t, f)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"n":4,"prev":"00`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := bodies(path); err != nil || got != `{"i":0}{"i":1}{"i":2}` {
		t.Errorf("read while it is written: %s, error %v", got, err)
	}
	f = opened(t, FileOptions{Path: path})
	write(t, f, 3, 4)
	closed(t, f)
	if got, _, err := bodies(path); err != nil || got != `{"i":0}{"i":1}{"i":2}{"i":3}` {
		t.Errorf("afterwards: %s, error %v", got, err)
	}
	// The process died between renaming a file and creating the next one.
	if err := os.Rename(path, path+".000000000000001"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := bodies(path); err != nil || got != `{"i":0}{"i":1}{"i":2}{"i":3}` {
		t.Errorf("between two files: %s, error %v", got, err)
	}
	f = opened(t, FileOptions{Path: path})
	write(t, f, 4, 5)
	closed(t, f)
	if got, head, err := bodies(path); err != nil || got != `{"i":0}{"i":1}{"i":2}{"i":3}{"i":4}` || head.Last != 5 {
		t.Errorf("after that: %s, error %v", got, err)
	}
}

func TestL8_AfterARotationThatMayNotSurviveACrashNothingIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trail")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := opened(t, FileOptions{Path: filepath.Join(dir, "audit.jsonl"), MaxBytes: 1})
	defer closed(t, f)
	write(t, f, 0, 1)
	write(t, f, 1, 2) // rotates first
	if f.unsettled {
		t.Error("the rotation is not synced")
	}
	f.unsettled = true // as after a rotation whose directory could not be synced
	for _, rename := range [][2]string{{dir, dir + " away"}, {dir + " away", dir}} {
		if err := os.Rename(rename[0], rename[1]); err != nil {
			t.Fatal(err)
		}
		there := rename[1] == dir
		err := f.Write(t.Context(), []Record{record(2)}, true)
		if kept := err == nil; kept != there || f.unsettled == there || err != nil && !strings.Contains(err.Error(), "cannot sync the directory after a rotation: ") {
			t.Errorf("with the directory there: %v, error %v, unsettled %v", there, err, f.unsettled)
		}
	}
	if got, _, err := bodies(f.options.Path); err != nil || got != `{"i":0}{"i":1}{"i":2}` {
		t.Errorf("kept %s, error %v", got, err)
	}
}

func TestL6_AReaderFindsNoBreakInAFileThatIsRotatedMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		keep int
		want string
	}{
		"all files are kept":       {0, `{"i":0}{"i":1}{"i":2}`},
		"old files are removed":    {1, `{"i":1}{"i":2}`},
		"some of those to be read": {2, `{"i":0}{"i":1}{"i":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			f := opened(t, FileOptions{Path: path, MaxBytes: 1, Keep: tc.keep})
			defer closed(t, f)
			for i := range 3 { // a file each
				write(t, f, i, i+1)
			}
			var got strings.Builder
			head, err := Read(path, func(l Line) error {
				if got.Len() == 0 {
					write(t, f, 3, 4)
				}
				got.Write(l.Body)
				return nil
			})
			if err != nil || got.String() != tc.want || head.Last != 3 {
				t.Errorf("read %s up to %d, error %v", got.String(), head.Last, err)
			}
		})
	}
}

func TestL6_WhateverIsDoneToALineShows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	f := opened(t, FileOptions{Path: path})
	write(t, f, 0, 5)
	closed(t, f)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))[:5]
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	for name, tc := range map[string]struct {
		text []byte
		want string
	}{
		"changed":      {bytes.Replace(text, []byte(`{"i":2}`), []byte(`{"i":7}`), 1), "audit.jsonl:4: the chain is broken: record 4 does not match the line before it"},
		"removed":      {join(lines[0], lines[1], lines[3], lines[4]), "audit.jsonl:3: the chain is broken: record 4 follows record 2"},
		"moved":        {join(lines[0], lines[2], lines[1], lines[3]), "record 3 follows record 1"},
		"put in":       {join(lines[0], lines[1], lines[1], lines[2]), "record 2 follows record 2"},
		"renumbered":   {join(lines[0], lines[1], bytes.Replace(lines[3], []byte(`"n":4`), []byte(`"n":3`), 1), lines[4]), "does not match the line before it"},
		"begun anew":   {bytes.Replace(lines[1], []byte(`"n":2`), []byte(`"n":1`), 1), "the first record refers to a record before it"},
		"no line":      {join(lines[0], []byte("{}\n")), "it is not a valid line"},
		"more in it":   {join(bytes.Replace(lines[0], []byte(`"record":`), []byte(`"x":1,"record":`), 1), lines[1]), "it is not a valid line"},
		"no number":    {[]byte("{\"n\":01,\"prev\":\"\n"), "it is not a valid line"},
		"hash cut":     {[]byte(`{"n":1,"prev":"` + strings.Repeat("z", 64) + "\",\"record\":{}}\n"), "it is not a valid line"},
		"record empty": {[]byte(`{"n":1,"prev":"` + strings.Repeat("0", 64) + "\",\"record\":}\n"), "it is not a valid line"},
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "audit.jsonl")
			if err := os.WriteFile(at, tc.text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := bodies(at); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want …%s", err, tc.want)
			}
		})
	}
	// A truncated end is detected only by those who noted the head.
	if err := os.WriteFile(path, join(lines[:3]...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, head, err := bodies(path)
	if err != nil || head.Last != 3 || head.SHA256 != sha256.Sum256(bytes.TrimSuffix(lines[2], []byte("\n"))) {
		t.Errorf("head %d:%x, error %v", head.Last, head.SHA256, err)
	}
}

func TestAFileHasOneWriterAndHasToBeOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := opened(t, FileOptions{Path: path})
	_, err := OpenFile(FileOptions{Path: path})
	if err == nil || !strings.Contains(err.Error(), "another process is writing to it") {
		t.Errorf("error %v", err)
	}
	closed(t, f)
	for text, want := range map[string]string{"hello\n": "its last line is not an audit record", strings.Repeat("x", largestTail+1): "its last line is incomplete"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFile(FileOptions{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want …%s", err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(FileOptions{Path: path}); err == nil || err.Error() != "the audit file "+path+": is not a regular file" {
		t.Errorf("a pipe: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(FileOptions{Path: filepath.Join(path, "x")}); err == nil {
		t.Error("a file in a file was opened")
	}
}

func TestAFileThatIsNoneOfOursIsLeftAsItIs(t *testing.T) {
	for text, ours := range map[string]bool{
		"hello": false, "hello\n": false, "hello\nwor": false, `{"a":1}`: false, "{}": false, `{"n"`: true, `{"n":1,"prev":"00`: true,
		"\x00\x00\x00": true, "\x00\x00\x00x": false, "{": true, "": true, " ": false,
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := OpenFile(FileOptions{Path: path})
		if (err == nil) != ours {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil {
			closed(t, f)
			text = ""
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != text {
			t.Errorf("%q became %q: %v", text, left, err)
		}
	}
}

func TestL6_AFailedWriteIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := opened(t, FileOptions{Path: path})
	write(t, f, 0, 2)
	usable := f.file
	broken, err := os.Open(path) // can be neither written nor truncated
	if err != nil {
		t.Fatal(err)
	}
	f.file = broken
	for range 2 {
		if err := f.Write(t.Context(), []Record{record(2)}, true); err == nil {
			t.Error("a write to a file that cannot be written to went well")
		}
	}
	f.file = usable
	closed(t, broken)
	if _, err := usable.WriteAt([]byte("half a li"), f.size); err != nil {
		t.Fatal(err)
	}
	write(t, f, 2, 3)
	closed(t, f)
	if got, _, err := bodies(path); err != nil || got != `{"i":0}{"i":1}{"i":2}` {
		t.Errorf("%s, error %v", got, err)
	}
}

func TestL8_AFileThatIsTakenAwayKeepsNoRecordUnseen(t *testing.T) {
	moved := func(path string) error { return os.Rename(path, path+".moved") }
	for name, tc := range map[string]struct {
		does func(path string) error
		// refused is why the next record is not kept: once, or with stays until
		// the file is moved away.
		refused string
		stays   bool
		// before are the earlier records that are still readable at the path.
		before string
	}{
		"removed":    {does: os.Remove, refused: "a new one continues the chain"},
		"moved away": {does: moved, refused: "a new one continues the chain"},
		"emptied":    {does: func(path string) error { return os.Truncate(path, 0) }, refused: "a new one continues the chain"},
		"cut": {does: func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, text[:bytes.IndexByte(text, '\n')+1], 0o600))
		}, refused: "other content", stays: true},
		"written to by another": {does: func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(text, '{'), 0o600))
		}, refused: "other content", stays: true},
		"replaced": {does: func(path string) error {
			return errors.Join(moved(path), os.WriteFile(path, []byte("hello"), 0o600))
		}, refused: "other content", stays: true},
		"a directory": {does: func(path string) error {
			return errors.Join(moved(path), os.Mkdir(path, 0o700))
		}, refused: "no longer where it was", stays: true},
		"a device": {does: func(path string) error {
			return errors.Join(moved(path), os.Symlink(os.DevNull, path))
		}, refused: "not a regular file", stays: true},
		"copied into its place": {does: func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, moved(path), os.WriteFile(path, text, 0o600))
		}, before: `{"i":0}{"i":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			f := opened(t, FileOptions{Path: path})
			write(t, f, 0, 2)
			if err := tc.does(path); err != nil {
				t.Fatal(err)
			}
			for n := 0; tc.refused != "" && (n == 0 || tc.stays && n < 2); n++ {
				if err := f.Write(t.Context(), []Record{record(9)}, true); err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Fatalf("write %d: error %v, want …%s", n, err, tc.refused)
				}
			}
			if tc.stays {
				if err := os.Rename(path, path+".other"); err != nil {
					t.Fatal(err)
				}
				if err := f.Write(t.Context(), []Record{record(9)}, true); err == nil || !strings.Contains(err.Error(), "a new one continues the chain") {
					t.Fatalf("after it was moved away: error %v", err)
				}
			}
			write(t, f, 2, 4)
			closed(t, f)
			got, head, err := bodies(path)
			if err != nil || got != tc.before+`{"i":2}{"i":3}` || head.Last != 4 {
				t.Errorf("%s up to record %d, error %v", got, head.Last, err)
			}
		})
	}
}

func TestL8_AFileThatIsEmptiedBehindAFailedWriteIsNotFilledUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	f := opened(t, FileOptions{Path: path})
	write(t, f, 0, 2)
	f.broken = true // as after a write that could not be undone
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), []Record{record(2)}, true); err == nil || !strings.Contains(err.Error(), "a new one continues the chain") {
		t.Errorf("error %v", err)
	}
	write(t, f, 2, 3)
	closed(t, f)
	if got, head, err := bodies(path); err != nil || got != `{"i":2}` || head.First != 3 {
		t.Errorf("%s from record %d, error %v", got, head.First, err)
	}
}

func TestL7_ACorrectionThatNoOutputCanKeepHoldsNoOtherRecordUp(t *testing.T) {
	for name, body := range map[string]string{"too long": strings.Repeat("x", largestBody+1), "empty": ""} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			c := &counter{}
			tr := trail(c, Output{Name: "file", Durable: true, Sink: opened(t, FileOptions{Path: path})})
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			for range 20 { // a record is sometimes durable before the caller is seen to be gone
				_ = tr.KeepSafely(gone, record(1), func(error) Record { return Record{Body: []byte(body)} })
			}
			if err := errors.Join(tr.KeepSafely(t.Context(), record(2), corrected), tr.Close()); err != nil {
				t.Fatal(err)
			}
			if got, _, err := bodies(path); err != nil || !strings.HasSuffix(got, `{"i":2}`) {
				t.Errorf("kept %s, error %v", got, err)
			}
		})
	}
}

func TestLinesAreRecordsAsTheyAre(t *testing.T) {
	var out bytes.Buffer
	l := &Lines{To: &out}
	if err := errors.Join(l.Write(t.Context(), []Record{record(1), record(2)}, false), l.Close()); err != nil || out.String() != "{\"i\":1}\n{\"i\":2}\n" {
		t.Errorf("%q, error %v", out.String(), err)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(appendLine(nil, 1, [sha256.Size]byte{}, []byte(`{}`)))
	f.Add([]byte(`{"n":18446744073709551616,"prev":"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLine(text)
		if err != nil {
			return
		}
		if again := appendLine(nil, l.N, l.Prev, l.Body); !bytes.EqualFold(again, text) { // the case of hex digits may differ
			t.Errorf("%q reads as %q", text, again)
		}
	})
}
