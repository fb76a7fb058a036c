package transport

import (
	"slices"
	"sync"
	"testing"

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
