package transport

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func newWorker(tb testing.TB, o WorkerOptions) *Worker {
	tb.Helper()
	w, err := NewWorker(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.Close)
	return w
}

func saidByWorker(t *testing.T, says string) chain.Binding {
	t.Helper()
	if !strings.HasSuffix(says, "\n") {
		says += "\n"
	}
	return newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "each", "file:"+written(t, says))}})
}

// obedient is a worker with one process that performs the steps in each call's
// input. A failed process is restarted at once.
func obedient(t *testing.T) *Worker {
	t.Helper()
	return newWorker(t, WorkerOptions{Processes: 1, Backoff: Backoff{Min: 1, Max: 1}, Command: CommandOptions{Argv: self(t, "obey")}})
}

// told is a call that tells an obedient worker what to do.
func told(tb testing.TB, steps ...string) chain.Call {
	tb.Helper()
	input, err := json.Marshal(steps)
	if err != nil {
		tb.Fatal(err)
	}
	return call(request(tb, chain.PreToolUse, string(input)), plenty)
}

// pid returns the pid of the process that answers.
func pid(t *testing.T, w *Worker) int {
	t.Helper()
	a := w.Ask(t.Context(), told(t, "facts"))
	var f facts
	if err := json.Unmarshal([]byte(a.Outcome.Reason), &f); err != nil {
		t.Fatalf("%v in %+v", err, a)
	}
	return f.PID
}

func TestOneProcessAnswersEveryCallInOrder(t *testing.T) {
	t.Parallel()
	w := obedient(t)
	first := pid(t, w)
	for n := range 100 {
		reason := fmt.Sprint("answer ", n)
		same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}},
			w.Ask(t.Context(), told(t, `say:{"decision":"deny","reason":"`+reason+"\"}\n")))
	}
	if last := pid(t, w); last != first {
		t.Errorf("process %d answered last, %d first", last, first)
	}
	if diff := cmp.Diff(Status{Workers: &WorkerStatus{Processes: 1, Alive: 1}}, w.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestAProcessIsGivenTheEnvelopeOnOneLine(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "each", "digest")}})
	for name, input := range map[string]string{
		"on one line":    `{"a":1}`,
		"on many lines":  "{\r\n  \"a\": \"x\\ny\"\n}",
		"over any pipe":  `"` + strings.Repeat("x", 8<<20) + `"`,
		"small again":    `""`,
		"with NUL and <": `"\u0000<>&"`,
	} {
		req := request(t, chain.PreToolUse, input)
		line := append(slices.Clone(req.Line()), '\n')
		reason := fmt.Sprintf("%d bytes %x", len(line), sha256.Sum256(line))
		t.Run(name, func(t *testing.T) {
			same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}}, w.Ask(t.Context(), call(req, plenty)))
		})
	}
}

func TestAsManyCallsAreAnsweredAtOnceAsThereAreProcesses(t *testing.T) {
	t.Parallel()
	const processes = 3
	w := newWorker(t, WorkerOptions{Processes: processes, Command: CommandOptions{Argv: self(t, "obey")}})
	dir := t.TempDir()
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			same(t, allowing(), w.Ask(t.Context(), told(t, fmt.Sprintf("meet:%s,%d", dir, processes), sayAllowLine)))
		})
	}
	all.Wait()
}

func TestMoreCallsThanProcessesWait(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 2, Command: CommandOptions{Argv: self(t, "obey")}})
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			reason := fmt.Sprint("answer ", n)
			same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}},
				w.Ask(t.Context(), told(t, `say:{"decision":"deny","reason":"`+reason+"\"}\n")))
		})
	}
	all.Wait()
}

func TestARewriteOutlivesTheNextAnswer(t *testing.T) {
	t.Parallel()
	w := obedient(t)
	first := w.Ask(t.Context(), told(t, `say:{"decision":"modify","input":{"a":1}}`+"\n"))
	second := w.Ask(t.Context(), told(t, `say:{"decision":"modify","input":{"b":2}}`+"\n"))
	same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"a":1}`)}}, first)
	same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"b":2}`)}}, second)
}

func TestAProcessOutOfStepFailsItsCallAndIsReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []string
		want  chain.Answer
	}{
		"dies":                        {[]string{"grumble:no memory\n", "exit:1"}, chain.Fail(chain.Worker, "worker exited with status 1", "stderr: no memory")},
		"exits in peace":              {[]string{"exit:0"}, chain.Fail(chain.Worker, "worker exited with status 0", "")},
		"is killed":                   {[]string{"signal:9"}, chain.Fail(chain.Worker, "worker was ended by signal killed", "")},
		"dies in mid answer":          {[]string{sayAllow, "exit:0"}, chain.Fail(chain.Worker, "worker exited with status 0", "")},
		"dies and leaves a child":     {[]string{"child:01,MARK", "exit:1"}, chain.Fail(chain.Worker, "worker exited with status 1", "")},
		"dies and leaves a daemon":    {[]string{"daemon:01,MARK", "exit:1"}, chain.Fail(chain.Worker, "worker exited with status 1", "")},
		"answers and leaves a daemon": {[]string{"daemon:01,MARK", sayAllow, "exit:1"}, chain.Fail(chain.Worker, "worker exited with status 1", "")},
		"closes its stdout":           {[]string{"close:1", "wait"}, chain.Fail(chain.Worker, "worker closed its stdin or stdout", "")},
		"answers twice":               {[]string{sayAllowLine + `{"decision":"allow"}` + "\n"}, chain.Fail(chain.Worker, "worker wrote more than its answer", "")},
		"begins a second answer":      {[]string{sayAllowLine + "{"}, chain.Fail(chain.Worker, "worker wrote more than its answer", "")},
		"answers nothing":             {[]string{"grumble:hm", "say:\n"}, chain.Fail(chain.Empty, "answered nothing", "stderr: hm")},
		"answers what cannot be read": {[]string{"say:ready\n"}, chain.Fail(chain.Malformed, "did not answer with one decision object", `invalid character 'r' at start of value in "ready"`)},
		"answers too much": {
			[]string{"say:" + strings.Repeat("x", 1025) + "\n"},
			chain.Fail(chain.Oversize, "answered with more than 1024 bytes", ""),
		},
		"answers without an end": {[]string{"endless:x"}, chain.Fail(chain.Oversize, "answered with more than 1024 bytes", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, WorkerOptions{
				Processes: 1, Backoff: Backoff{Min: 1, Max: 1},
				Command: CommandOptions{Argv: self(t, "obey"), MaxResponseBytes: 1024},
			})
			first, mark := pid(t, w), t.TempDir()+"/mark"
			for n := range c.steps {
				c.steps[n] = strings.ReplaceAll(c.steps[n], "MARK", mark)
			}
			began := time.Now()
			same(t, c.want, w.Ask(t.Context(), told(t, c.steps...)))
			soon(t, began)
			if exists(mark) {
				_ = syscall.Kill(marked(t, mark), syscall.SIGKILL)
			}
			if second := pid(t, w); second == first || runs(first) {
				t.Errorf("process %d runs (%v) and process %d answers", first, runs(first), second)
			}
			if got := w.Status().Workers.Restarts; got != 1 {
				t.Errorf("%d restarts, want 1", got)
			}
		})
	}
}

func TestT3_AWorkersAnswerMayBeAsLongAsTheCap(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "obey"), MaxResponseBytes: 100_000}})
	first := pid(t, w)
	answer := `{"decision":"allow","x":"` + strings.Repeat("x", 99_973) + `"}`
	if len(answer) != 100_000 {
		t.Fatal(len(answer))
	}
	path := written(t, answer+"\n")
	for range 2 {
		same(t, allowing(), w.Ask(t.Context(), told(t, "file:"+path)))
	}
	if second := pid(t, w); second != first {
		t.Error("the process was replaced")
	}
}

func TestAnUnknownDecisionLeavesAProcessInStep(t *testing.T) {
	t.Parallel()
	w := obedient(t)
	first := pid(t, w)
	same(t, chain.Fail(chain.WrongDecision, "answered an unknown decision", `decision "ask"`), w.Ask(t.Context(), told(t, `say:{"decision":"ask"}`+"\n")))
	if second := pid(t, w); second != first {
		t.Error("the process was replaced")
	}
}

func TestWhatAProcessWroteBeforeTheQuestionIsNoAnswerToIt(t *testing.T) {
	t.Parallel()
	w, dir := obedient(t), t.TempDir()
	same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine, "await:"+dir+"/go on", sayAllowLine, "mark:"+dir+"/wrote")))
	(&performer{}).step("mark", dir+"/go on")
	marked(t, dir+"/wrote")
	same(t, chain.Fail(chain.Worker, "worker wrote before it was asked", ""), w.Ask(t.Context(), told(t, `say:{"decision":"deny"}`+"\n")))
	same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny}}, w.Ask(t.Context(), told(t, `say:{"decision":"deny"}`+"\n")))
}

func TestACallIsNotFailedByAProcessThatDiedBeforeIt(t *testing.T) {
	t.Parallel()
	w := obedient(t)
	for range 20 {
		// The process dies at any time from here to the middle of the next call. That
		// call may be sent to another process only if the dead one certainly did not
		// read it.
		same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine)))
		p, f := w.pool.take(t.Context(), plain(t))
		if f != nil {
			t.Fatalf("failed: %+v", f)
		}
		p.end()
		<-p.exited
		w.pool.giveBack(p)
	}
	same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine)))
}

func TestT2_AnOverrunFailsItsCallAndNoOther(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"does not answer":      {},
		"stops itself":         {"signal:19"},
		"half an answer":       {sayAllow},
		"leaves its own group": {"desert"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := newWorker(t, WorkerOptions{
				Processes: 1, Patience: 100 * time.Millisecond, Backoff: Backoff{Min: 1, Max: 1}, Command: CommandOptions{Argv: self(t, "obey")},
			})
			first := pid(t, w)
			c := told(t, append(steps, "await:"+dir+"/too late", sayAllowLine)...)
			c.Allowed = 100 * time.Millisecond
			c.Deadline = time.Now().Add(c.Allowed)
			same(t, c.Expired(""), withoutDetail(w.Ask(t.Context(), c)))
			if late := time.Since(c.Deadline); late > lifetime/4 {
				t.Errorf("returned %v after the deadline", late)
			}
			(&performer{}).step("mark", dir+"/too late")
			same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny}}, w.Ask(t.Context(), told(t, `say:{"decision":"deny"}`+"\n")))
			if second := pid(t, w); second == first {
				t.Error("the process was asked again")
			}
		})
	}
}

// withoutDetail returns a failure without what it says to the operator.
func withoutDetail(a chain.Answer) chain.Answer {
	if a.Failure == nil {
		return a
	}
	return chain.Fail(a.Failure.Cause, a.Failure.Text, "")
}

func TestAnOverrunSaysHowFarTheExchangeCame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call func(*testing.T) chain.Call
		want string
	}{
		"it wrote nothing":   {func(t *testing.T) chain.Call { t.Helper(); return told(t, "wait") }, "it wrote nothing; a program that buffers its output must flush it after each line"},
		"it wrote no line":   {func(t *testing.T) chain.Call { t.Helper(); return told(t, sayAllow, "wait") }, fmt.Sprintf("it wrote %d bytes, but no line break", len(`{"decision":"allow"}`))},
		"it does not listen": {func(t *testing.T) chain.Call { t.Helper(); return large(t, 0) }, "it did not read the whole call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := "obey"
			if name == "it does not listen" {
				program = "wait"
			}
			w := newWorker(t, WorkerOptions{Processes: 1, Backoff: Backoff{Min: 1, Max: 1}, Command: CommandOptions{Argv: self(t, program)}})
			// The machine may be slow, so the time is doubled until it suffices.
			allowed := 50 * time.Millisecond
			eventually(t, "the detail is "+c.want, func() bool {
				call := c.call(t)
				call.Allowed = allowed
				call.Deadline = time.Now().Add(call.Allowed)
				allowed *= 2
				answer := w.Ask(t.Context(), call)
				return answer.Failure != nil && answer.Failure.Detail == c.want
			})
		})
	}
}

func TestT2_AProcessThatDoesNotReadCannotHoldTheCall(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "wait")}})
	c := large(t, 500*time.Millisecond)
	f := w.Ask(t.Context(), c).Failure
	if want := c.Expired("").Failure; f == nil || f.Cause != want.Cause || f.Text != want.Text {
		t.Errorf("failure %+v", f)
	}
	if late := time.Since(c.Deadline); late > lifetime/4 {
		t.Errorf("returned %v after the deadline", late)
	}
}

// never is a backoff longer than any test.
func never() Backoff { return Backoff{Min: time.Hour, Max: time.Hour} }

// givesUp are the ways in which a call ends before its answer, through no fault
// of the process. Each returns once the worker's only process has the request
// and the call has given up.
func givesUp() map[string]func(t *testing.T, w *Worker, c chain.Call) {
	short := func(late chain.Cause) func(*testing.T, *Worker, chain.Call) {
		return func(t *testing.T, w *Worker, c chain.Call) {
			t.Helper()
			eventually(t, "the process is up", func() bool { return w.Status().Workers.Alive == 1 })
			// The machine may be slow, so the time is doubled until it suffices to send
			// the request.
			c.Late = late
			for c.Allowed = 50 * time.Millisecond; !busy(w); c.Allowed *= 2 {
				c.Deadline = time.Now().Add(c.Allowed)
				same(t, c.Expired(""), withoutDetail(w.Ask(t.Context(), c)))
			}
		}
	}
	return map[string]func(*testing.T, *Worker, chain.Call){
		"its chain had less time":       short(chain.Budget),
		"it had waited for its process": short(chain.Timeout),
		"its caller hung up": func(t *testing.T, w *Worker, c chain.Call) {
			t.Helper()
			eventually(t, "the process is up", func() bool { return w.Status().Workers.Alive == 1 })
			for wait := 50 * time.Millisecond; !busy(w); wait *= 2 {
				ctx, hangUp := context.WithTimeout(t.Context(), wait)
				w.Ask(ctx, c)
				hangUp()
			}
		},
	}
}

// busy reports whether no process is free.
func busy(w *Worker) bool {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	return len(w.pool.idle) == 0
}

func TestT5_AnAnswerThatNobodyWaitsForIsThrownAway(t *testing.T) {
	t.Parallel()
	for name, giveUp := range givesUp() {
		for kind, c := range map[string]struct{ before, steps []string }{
			"of which nothing had come":         {nil, []string{"await:GO", `say:{"decision":"deny","reason":"stale"}` + "\n"}},
			"of which a part had come":          {nil, []string{`say:{"decision":"deny",`, "await:GO", `say:"reason":"stale"}` + "\n"}},
			"to a question that was half asked": {[]string{"await:GO"}, []string{`say:{"decision":"deny","reason":"stale","pad":"` + strings.Repeat("x", 512<<10) + "\"}\n"}},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				goOn := t.TempDir() + "/go on"
				for _, steps := range [][]string{c.before, c.steps} {
					for n := range steps {
						steps[n] = strings.ReplaceAll(steps[n], "GO", goOn)
					}
				}
				w := newWorker(t, WorkerOptions{
					Processes: 1, Patience: plenty, Backoff: never(), Command: CommandOptions{Argv: self(t, append(c.before, "obey")...)},
				})
				giveUp(t, w, told(t, c.steps...))
				// Another call waits for the process, and must get its own answer.
				next := make(chan chain.Answer, 1)
				go func() { next <- w.Ask(t.Context(), told(t, `say:{"decision":"deny","reason":"fresh"}`+"\n")) }()
				eventually(t, "it waits", func() bool {
					w.pool.mu.Lock()
					defer w.pool.mu.Unlock()
					return len(w.pool.waiting) == 1
				})
				(&performer{}).step("mark", goOn)
				same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "fresh"}}, <-next)
				if diff := cmp.Diff(&WorkerStatus{Processes: 1, Alive: 1}, w.Status().Workers); diff != "" {
					t.Errorf("workers (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestImpatientCallersStarveNobody(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 2, Patience: plenty, Backoff: never(), Command: CommandOptions{Argv: self(t, "obey")}})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				c := told(t, `say:{"decision":"deny","reason":"impatient"}`+"\n")
				c.Allowed, c.Late = time.Millisecond, chain.Budget
				c.Deadline = time.Now().Add(c.Allowed)
				if a := w.Ask(t.Context(), c); a.Failure != nil && a.Failure.Cause != chain.Budget {
					t.Errorf("failure %+v", a.Failure)
				}
			}
		})
	}
	for n := range 25 {
		reason := fmt.Sprint("answer ", n)
		same(t, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}},
			w.Ask(t.Context(), told(t, `say:{"decision":"deny","reason":"`+reason+"\"}\n")))
	}
	all.Wait()
	if got := w.Status().Workers.Restarts; got != 0 {
		t.Errorf("%d restarts", got)
	}
}

func TestACallWithoutTimeIsNotPutToAProcess(t *testing.T) {
	t.Parallel()
	w, mark := obedient(t), t.TempDir()+"/mark"
	same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine))) // the process is running
	c := told(t, "mark:"+mark, sayAllowLine)
	c.Deadline, c.Allowed = time.Now(), 0
	same(t, c.Expired(""), w.Ask(t.Context(), c))
	same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine)))
	if exists(mark) {
		t.Error("it was asked")
	}
}

func TestWhatAProcessDoesWithAnAnswerThatNobodyWaitsForCountsAsInAnyCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []string
		text  string
	}{
		"does not answer":    {[]string{"wait"}, "the last one timed out after 500 ms"},
		"never ends":         {[]string{sayAllow, "wait"}, "the last one timed out after 500 ms"},
		"answers twice":      {[]string{"await:GO", sayAllowLine + sayAllowLine}, "the last one wrote more than its answer"},
		"answers too much":   {[]string{"await:GO", "endless:x"}, "the last one answered with more than 1024 bytes"},
		"answers nonsense":   {[]string{"await:GO", "say:x\n"}, "the last one did not answer with one decision object"},
		"dies":               {[]string{"await:GO", "exit:1"}, "the last one exited with status 1"},
		"closes its stdout":  {[]string{"await:GO", "close:1", "wait"}, "the last one closed its stdin or stdout"},
		"dies, and a daemon": {[]string{"daemon:01,MARK", "await:GO", "exit:1"}, "the last one exited with status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goOn, mark := t.TempDir()+"/go on", t.TempDir()+"/mark"
			for n := range c.steps {
				c.steps[n] = strings.NewReplacer("GO", goOn, "MARK", mark).Replace(c.steps[n])
			}
			patience := plenty
			if strings.Contains(c.text, "500 ms") {
				patience = 500 * time.Millisecond
			}
			w := newWorker(t, WorkerOptions{
				Processes: 1, Patience: patience, Backoff: never(), Command: CommandOptions{Argv: self(t, "obey"), MaxResponseBytes: 1024},
			})
			givesUp()["its chain had less time"](t, w, told(t, c.steps...))
			(&performer{}).step("mark", goOn)
			began := time.Now()
			f := w.Ask(t.Context(), plain(t)).Failure
			soon(t, began)
			text, _, _ := strings.Cut(f.Text, "; the next start is in ")
			if f.Cause != chain.Worker || text != "has no running process: "+c.text {
				t.Errorf("failure %+v", f)
			}
			if exists(mark) {
				_ = syscall.Kill(marked(t, mark), syscall.SIGKILL)
			}
		})
	}
}

func TestT7_CloseDoesNotWaitForAnAnswerThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"which does not come":        {"obey"},
		"whose question is not read": {"wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, WorkerOptions{Processes: 1, Patience: time.Hour, Command: CommandOptions{Argv: self(t, steps...)}})
			givesUp()["its chain had less time"](t, w, told(t, "wait", strings.Repeat("x", 1<<20)))
			began := time.Now()
			w.Close()
			soon(t, began)
			if got := w.Status().Workers.Alive; got != 0 {
				t.Errorf("%d processes run", got)
			}
		})
	}
}

func TestAFailureIsFollowedByItsBackoff(t *testing.T) {
	t.Parallel()
	again := "; the next start is in "
	for name, c := range map[string]struct {
		steps  []string
		text   string
		detail string
	}{
		"after a death":    {[]string{"grumble:secret of another call", "exit:1"}, "the last one exited with status 1", "stderr: secret of another call"},
		"after a disorder": {[]string{sayAllowLine + "x"}, "the last one wrote more than its answer", ""},
		"after an answer":  {[]string{"say:x\n"}, "the last one did not answer with one decision object", `invalid character 'x' at start of value in "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, WorkerOptions{Processes: 1, Backoff: never(), Command: CommandOptions{Argv: self(t, "obey")}})
			w.Ask(t.Context(), told(t, c.steps...))
			began := time.Now()
			f := w.Ask(t.Context(), plain(t)).Failure
			soon(t, began)
			text, wait, _ := strings.Cut(f.Text, again)
			if f.Cause != chain.Worker || text != "has no running process: "+c.text || f.Detail != c.detail {
				t.Errorf("failure %+v", f)
			}
			if d, err := time.ParseDuration(wait); err != nil || d < 29*time.Minute || d > time.Hour {
				t.Errorf("it says that the next start is in %s", wait)
			}
			if got := w.Status().Workers.Alive; got != 0 {
				t.Errorf("%d processes run", got)
			}
		})
	}
}

func TestAWorkerThatCannotBeStartedSaysSoInEveryCall(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 2, Backoff: never(), Command: CommandOptions{Argv: []string{"./ghost"}, Dir: t.TempDir()}})
	for range 2 {
		f := w.Ask(t.Context(), plain(t)).Failure
		if f == nil || f.Cause != chain.Spawn || !strings.HasPrefix(f.Text, "has no running process: it could not be started: ./ghost: no such file or directory; the next start is in ") {
			t.Errorf("failure %+v", f)
		}
	}
}

func TestAnAnswerEndsARunOfFailures(t *testing.T) {
	t.Parallel()
	// After a second failure in a row, the backoff would be an hour.
	w := newWorker(t, WorkerOptions{Processes: 1, Backoff: Backoff{Min: time.Millisecond, Max: time.Hour}, Command: CommandOptions{Argv: self(t, "obey")}})
	for range 30 {
		same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine)))
		same(t, chain.Fail(chain.Worker, "worker exited with status 1", ""), w.Ask(t.Context(), told(t, "exit:1")))
	}
}

func TestWhatAProcessSaysLateIsNotTextInAnotherCall(t *testing.T) {
	t.Parallel()
	w, goOn := obedient(t), t.TempDir()+"/go on"
	same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine, "await:"+goOn, "grumble:password")))
	other := make(chan chain.Answer)
	go func() { other <- w.Ask(t.Context(), told(t, "exit:1")) }()
	eventually(t, "the other call has the process", func() bool { return busy(w) })
	(&performer{}).step("mark", goOn)
	if f := (<-other).Failure; f == nil || f.Cause != chain.Worker || f.Text != "worker exited with status 1" {
		t.Errorf("failure %+v", f)
	}
}

func TestWhatWasSaidInOneCallIsNoDetailOfTheNext(t *testing.T) {
	t.Parallel()
	w, mark := obedient(t), t.TempDir()+"/mark"
	p := w.pool
	same(t, allowing(), w.Ask(t.Context(), told(t, "grumble:password", sayAllowLine, "mark:"+mark)))
	marked(t, mark)
	eventually(t, "the words were heard", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.idle[0].stderr.String() == "password"
	})
	same(t, chain.Fail(chain.Worker, "worker exited with status 1", "stderr: oh"), w.Ask(t.Context(), told(t, "grumble:oh", "exit:1")))
}

func TestT6_TheBoundHoldsForThoseThatWaitToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "obey"), MaxInFlight: 2}})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			same(t, allowing(), w.Ask(t.Context(), told(t, "await:"+dir+"/go on", sayAllowLine)))
		})
	}
	eventually(t, "both are under way", func() bool { return w.Status().InFlight == 2 })
	same(t, chain.Fail(chain.Saturated, "was not asked: its limit of 2 calls in flight is reached", "max_in_flight is reached"), w.Ask(t.Context(), plain(t)))
	(&performer{}).step("mark", dir+"/go on")
	all.Wait()
}

func TestT7_CloseEndsProcessesAsAFilterEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "obey")}})
	// polite is between two requests, and writes its file at EOF on stdin.
	polite := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "mark:"+dir+"/began", "read", "mark:"+dir+"/parted")}})
	deaf := newWorker(t, WorkerOptions{Processes: 1, Command: CommandOptions{Argv: self(t, "child:012,"+dir+"/deaf", "wait")}})
	same(t, allowing(), w.Ask(t.Context(), told(t, sayAllowLine)))
	marked(t, dir+"/began")
	child := marked(t, dir+"/deaf")
	for _, w := range []*Worker{w, polite, deaf} {
		began := time.Now()
		w.Close()
		soon(t, began)
		want := chain.Fail(chain.Internal, "was not asked: the gateway has already closed it", "asked after Close")
		same(t, want, w.Ask(t.Context(), plain(t)))
		if got := w.Status().Workers.Alive; got != 0 {
			t.Errorf("%d processes run", got)
		}
		w.Close() // a second Close has no effect
	}
	if _, err := os.Stat(dir + "/parted"); err != nil {
		t.Errorf("the process was not let to exit by itself: %v", err)
	}
	dies(t, child)
}

func TestT7_CloseDoesNotWaitForABackoff(t *testing.T) {
	t.Parallel()
	w := newWorker(t, WorkerOptions{Processes: 1, Backoff: never(), Command: CommandOptions{Argv: []string{"/nonexistent/x"}}})
	w.Ask(t.Context(), plain(t))
	began := time.Now()
	w.Close()
	soon(t, began)
}

func TestOptionsThatAreNoWorkerAreRefusedWithEveryReason(t *testing.T) {
	_, err := NewWorker(WorkerOptions{
		Patience: -time.Second,
		Backoff:  Backoff{Min: time.Second, Max: time.Millisecond},
		Command:  CommandOptions{MaxInFlight: -1},
	})
	const want = "worker: processes 0 is not positive\n" +
		"worker: patience -1s is negative\n" +
		"worker: backoff from 1s to 1ms is not a range of positive times\n" +
		"command: max in flight -1 is negative\n" +
		"command: argv is empty"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func BenchmarkWorker(b *testing.B) {
	w := newWorker(b, WorkerOptions{Processes: 8, Command: CommandOptions{Argv: self(b, "each", sayAllowLine)}})
	benchmark(b, w)
}

func BenchmarkCommand(b *testing.B) { benchmark(b, hookCommand(b, "read", sayAllow)) }

func BenchmarkInProcess(b *testing.B) {
	for name, inline := range map[string]int{"goroutine": 0, "inline": 16 << 10} {
		b.Run(name, func(b *testing.B) {
			p, err := NewInProcess(InProcessOptions{Interceptor: returns(chain.Outcome{Decision: chain.Allow}), InlineUpTo: inline})
			if err != nil {
				b.Fatal(err)
			}
			benchmark(b, p)
		})
	}
}

func benchmark(b *testing.B, binding chain.Binding) {
	b.Helper()
	c := plain(b)
	b.SetParallelism(4) // times two processors: eight callers
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c := c
			c.Deadline = time.Now().Add(plenty)
			if a := binding.Ask(context.Background(), c); a.Failure != nil {
				b.Error(a.Failure)
			}
		}
	})
}
