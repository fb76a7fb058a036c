package transport

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/signature"
)

// byID accepts the answers that repeat the id of their request.
type byID struct{}

func (byID) CheckBoundAnswer(answer []byte, id string, _ []byte) error {
	return signature.CheckBoundAnswer(answer, id)
}

const (
	answerSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	unshown      = "gave an answer that does not prove that it belongs to this call: "
)

func verifierOf(t *testing.T, secret string) *signature.Verifier {
	t.Helper()
	key, err := signature.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	v, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{key}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// answeringWith starts a hook that answers each request with what says returns
// for its id and body.
func answeringWith(t *testing.T, says func(id string, body []byte) string) *hook {
	t.Helper()
	return listen(t, nil, func(c *hookConn) {
		for c.next() {
			c.say(response("200 OK", "", says(c.header.Get("Webhook-Id"), c.body)))
		}
	})
}

func bindTo(t *testing.T, answer, id string) string {
	t.Helper()
	bound, err := signature.BindAnswer([]byte(answer), id)
	if err != nil {
		t.Error(err)
	}
	return string(bound)
}

func TestT9_AnAnswerHasToShowWhichQuestionItIsTo(t *testing.T) {
	const allow, deny = `{"decision":"allow"}`, `{"decision":"deny","reason":"no"}`
	signed := func(t *testing.T, secret, answer, id string, body []byte) string {
		t.Helper()
		bound, err := newSigner(t, secret).BindAnswer([]byte(answer), id, body)
		if err != nil {
			t.Error(err)
		}
		return string(bound)
	}
	denying := chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "no"}}
	for _, c := range []struct {
		name string
		by   AnswerChecker
		says func(t *testing.T, id string, body []byte) string
		want chain.Answer
	}{
		{"it repeats the id", byID{}, func(t *testing.T, id string, _ []byte) string { t.Helper(); return bindTo(t, allow, id) }, allowing()},
		{
			"it says nothing",
			byID{},
			func(*testing.T, string, []byte) string { return allow },
			failure(chain.Malformed, unshown+"webhook_id: the answer has no such field, so it may belong to another request"),
		},
		{
			"it is another's",
			byID{},
			func(t *testing.T, _ string, _ []byte) string { t.Helper(); return bindTo(t, allow, "msg_other") },
			failure(chain.Malformed, unshown+"webhook_id: the answer belongs to another request"),
		},
		{
			"a rewrite is another's",
			byID{},
			func(t *testing.T, _ string, _ []byte) string {
				t.Helper()
				return bindTo(t, `{"decision":"modify","input":{}}`, "msg_other")
			},
			failure(chain.Malformed, unshown+"webhook_id: the answer belongs to another request"),
		},
		{"a deny needs no proof", byID{}, func(*testing.T, string, []byte) string { return deny }, denying},
		{
			"it is no answer at all",
			byID{},
			func(*testing.T, string, []byte) string { return `{"webhook_id":"x"}` },
			failure(chain.Malformed, "did not answer with one decision object"),
		},
		{"it is signed", verifierOf(t, answerSecret), func(t *testing.T, id string, body []byte) string {
			t.Helper()
			return signed(t, answerSecret, allow, id, body)
		}, allowing()},
		{
			"it should be signed", verifierOf(t, answerSecret),
			func(t *testing.T, id string, _ []byte) string { t.Helper(); return bindTo(t, allow, id) },
			failure(chain.Malformed, unshown+"answer_signature: the answer has no such field, so anyone on the network path may have written it"),
		},
		{
			"it is signed for another body", verifierOf(t, answerSecret), func(t *testing.T, id string, body []byte) string {
				t.Helper()
				return signed(t, answerSecret, allow, id, append(body, ' '))
			},
			failure(chain.Malformed, unshown+"answer_signature: no signature matches: there are 1 of version v1, 0 of v1a and 0 of others; "+
				"the verifier has 1 keys for v1 and 0 for v1a. Either the two sides have different keys, or the body was changed before it was verified"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, o := range senders() {
				t.Run(name, func(t *testing.T) {
					h := answeringWith(t, func(id string, body []byte) string { return c.says(t, id, body) })
					o.URL, o.Answers, o.Breaker = h.url, c.by, BreakerOptions{ConsecutiveFailures: 1}
					w := webhookTo(t, o)
					same(t, c.want, public(t, ask(t, w)))
					if sent := h.heard()[0].header; sent.Get("Webhook-Id") == "" || sent.Get("Webhook-Id") != sent.Get("Idempotency-Key") {
						t.Errorf("the question has the ids %q and %q", sent.Get("Webhook-Id"), sent.Get("Idempotency-Key"))
					}
					if open := w.Status().Breaker.State == BreakerOpen; open != (c.want.Failure != nil) {
						t.Errorf("the breaker is open: %v", open)
					}
				})
			}
		})
	}
}

func TestT9_CachedCrossedAndReplayedAllowsAreFailures(t *testing.T) {
	for name, o := range senders() {
		t.Run(name+", cached", func(t *testing.T) {
			var cached string
			h := answeringWith(t, func(id string, _ []byte) string {
				if cached == "" {
					cached = bindTo(t, `{"decision":"allow"}`, id)
				}
				return cached
			})
			o.URL, o.Answers = h.url, byID{}
			w := webhookTo(t, o)
			same(t, allowing(), ask(t, w))
			for range 2 {
				same(t, failure(chain.Malformed, unshown+"webhook_id: the answer belongs to another request"), public(t, ask(t, w)))
			}
		})
		t.Run(name+", crossed", func(t *testing.T) {
			var mu sync.Mutex
			var ids []string
			var both sync.WaitGroup
			both.Add(2)
			h := answeringWith(t, func(id string, _ []byte) string {
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
				both.Done()
				both.Wait()
				mu.Lock()
				defer mu.Unlock()
				return bindTo(t, `{"decision":"allow"}`, ids[1-slices.Index(ids, id)])
			})
			o.URL, o.Answers = h.url, byID{}
			w := webhookTo(t, o)
			var asking sync.WaitGroup
			for range 2 {
				asking.Go(func() {
					same(t, failure(chain.Malformed, unshown+"webhook_id: the answer belongs to another request"), public(t, ask(t, w)))
				})
			}
			asking.Wait()
		})
	}
}

// bindsAnswers is an obedient worker whose answers must repeat the ids of their
// calls.
func bindsAnswers(t *testing.T) *Worker {
	t.Helper()
	return newWorker(t, WorkerOptions{
		Processes: 1, BindAnswers: true, Backoff: Backoff{Min: 1, Max: 1}, Command: CommandOptions{Argv: self(t, "obey")},
	})
}

func TestT9_AWorkersAnswerHasToRepeatTheIdOfItsCall(t *testing.T) {
	t.Parallel()
	denied := chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "no"}}
	for name, c := range map[string]struct {
		step  string
		want  chain.Answer
		fails string // the failure's text, instead of want
		kept  bool   // the process is
	}{
		"an allow with it":                  {step: `bound:"decision":"allow"`, want: allowing(), kept: true},
		"a rewrite with it":                 {step: `bound:"decision":"modify","input":{"a":1}`, want: chain.Answer{Outcome: chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"a":1}`)}}, kept: true},
		"a deny with it":                    {step: `bound:"decision":"deny","reason":"no"`, want: denied, kept: true},
		"a deny without it":                 {step: `say:{"decision":"deny","reason":"no"}` + "\n", want: denied, kept: true},
		"a deny with that of another call":  {step: `stale:"decision":"deny","reason":"no"`, want: denied},
		"an allow without it":               {step: sayAllowLine, fails: unshown + "it does not repeat the field webhook_id"},
		"an allow with a number":            {step: `say:{"decision":"allow","webhook_id":1}` + "\n", fails: unshown + "it does not repeat the field webhook_id"},
		"an allow with that of another":     {step: `stale:"decision":"allow"`, fails: unshown + "its field webhook_id is that of another call"},
		"a rewrite with that of another":    {step: `stale:"decision":"modify","input":{"a":1}`, fails: unshown + "its field webhook_id is that of another call"},
		"an allow that has it in its input": {step: `say:{"decision":"modify","input":{"webhook_id":"msg_x"}}` + "\n", fails: unshown + "it does not repeat the field webhook_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := bindsAnswers(t)
			first := pid(t, w) // also the other call
			got := w.Ask(t.Context(), told(t, c.step))
			if c.fails == "" {
				same(t, c.want, got)
			} else if got.Failure == nil || got.Failure.Cause != chain.Malformed || got.Failure.Text != c.fails {
				t.Errorf("answer %+v with failure %+v, want it to fail as malformed: %s", got.Outcome, got.Failure, c.fails)
			}
			if kept := pid(t, w) == first; kept != c.kept {
				t.Errorf("the process is kept: %v, want %v", kept, c.kept)
			}
		})
	}
}

// Without ids, the second line would be the answer to the second call.
func TestT9_ASecondAnswerThatComesAfterTheNextCallIsNotTakenForItsAnswer(t *testing.T) {
	t.Parallel()
	w := bindsAnswers(t)
	same(t, allowing(), w.Ask(t.Context(), told(t, `bound:"decision":"allow"`)))
	got := w.Ask(t.Context(), told(t, `stale:"decision":"allow"`, `bound:"decision":"deny","reason":"no"`))
	if got.Failure == nil {
		t.Fatalf("the second call was answered with %+v", got.Outcome)
	}
	same(t, allowing(), w.Ask(t.Context(), told(t, `bound:"decision":"allow"`)))
}

func TestT9_TheIdOfACallStandsBesideWhatItsEnvelopeHas(t *testing.T) {
	t.Parallel()
	const id, envelope = "msg_A", ` {"hook_schema":1,"x":{"webhook_id":"theirs"},"input":"\"webhook_id\""}`
	got, err := appendBound([]byte("kept "), []byte(envelope), id)
	if err != nil {
		t.Fatal(err)
	}
	want := `kept  {"webhook_id":"msg_A","hook_schema":1,"x":{"webhook_id":"theirs"},"input":"\"webhook_id\""}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
}

func TestT9_ACallWithAnIdOfItsOwnIsNotAsked(t *testing.T) {
	t.Parallel()
	w := bindsAnswers(t)
	first := pid(t, w)
	for _, name := range []string{"webhook_id", "Webhook_ID", `webhook\u005fid`} {
		req, err := chain.ParseRequest([]byte(`{"hook_schema":1,"event":"pre_tool_use","workspace":"/","agent_id":"a","tool_call_id":"c","tool_name":"t","input":["bound:\"decision\":\"allow\""],"` + name + `":"msg_mine"}`))
		if err != nil {
			t.Fatal(err)
		}
		want := chain.Fail(chain.Malformed, "was not asked: the call has a field webhook_id of its own, so its answer could not be told from another's", "")
		same(t, want, w.Ask(t.Context(), call(req, plenty)))
	}
	if second := pid(t, w); second != first {
		t.Error("the process was replaced")
	}
}
