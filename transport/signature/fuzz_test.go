package signature_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/transport/signature"
)

// FuzzParseKey: text that parses as a key works as one, and no error quotes it.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{vectorSecret, vectorSeed, vectorPrivate, vectorPublic, "whsec_", "whsk_AAAA", "", "canary-canary"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := signature.ParseKey(text)
		if err != nil {
			_, secret, _ := strings.Cut(text, "_")
			if len(secret) > 12 && strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes the key: %v", err)
			}
			return
		}
		_, noSigner := signature.NewSigner(k)
		_, noVerifier := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{k}})
		if noSigner != nil && noVerifier != nil {
			t.Errorf("a key that is good for nothing: %v, %v", noSigner, noVerifier)
		}
	})
}

// FuzzVerify: a verifier whose keys signed one request accepts that request and
// no other.
func FuzzVerify(f *testing.F) {
	f.Add(vectorID, "1614265330", vectorSymmetric, []byte(vectorBody))
	f.Add(vectorID, "1614265330", "v1,x "+vectorEd25519, []byte(vectorBody))
	f.Add("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330", "1614265330", vectorSymmetric, []byte(vectorBody))
	f.Add("", "", "", []byte(nil))
	f.Add(vectorID, "+1614265330", "v1a,", []byte("{}"))
	f.Fuzz(func(t *testing.T, id, timestamp, list string, body []byte) {
		v := mustVerifier(t, signature.VerifierOptions{Now: at(vectorTime)}, vectorSecret, public(t, vectorSeed))
		h := http.Header{signature.HeaderID: {id}, signature.HeaderTimestamp: {timestamp}, signature.HeaderSignature: {list}}
		got, err := v.Verify(h, body)
		switch {
		case err != nil:
			if !errors.Is(err, signature.ErrHeader) && !errors.Is(err, signature.ErrStale) && !errors.Is(err, signature.ErrSignature) {
				t.Errorf("a refusal of no kind: %v", err)
			}
		case got != vectorID || id != vectorID || timestamp != "1614265330" || string(body) != vectorBody:
			t.Errorf("accepted what nobody signed: %q %q %q %q", id, timestamp, list, body)
		case !strings.Contains(list, vectorSymmetric) && !strings.Contains(list, vectorEd25519):
			t.Errorf("accepted a signature that nobody made: %q", list)
		}
	})
}

// FuzzBindAnswer: binding an answer keeps its other fields, and the bound
// answer is accepted.
func FuzzBindAnswer(f *testing.F) {
	for _, seed := range []string{`{"decision":"allow"}`, ` {"input":{"a":[1e400]} , "webhook_id" : 1} `, `{}`, `{"answer_signature":"x"}`, `null`, "{\"\xff\":1}"} {
		f.Add([]byte(seed), "msg_1", []byte(question))
	}
	f.Fuzz(func(t *testing.T, answer []byte, id string, question []byte) {
		signer, verifier := mustSigner(t, vectorSecret), mustVerifier(t, signature.VerifierOptions{}, vectorSecret)
		bound, err := signer.BindAnswer(answer, id, question)
		if err != nil {
			return
		}
		if err := verifier.CheckBoundAnswer(bound, id, question); err != nil {
			t.Fatalf("%s is refused: %v", bound, err)
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(answer, &before); err != nil {
			t.Fatalf("%q was bound and is no object: %v", answer, err)
		}
		if err := json.Unmarshal(bound, &after); err != nil {
			t.Fatalf("%q is no object any more: %v", bound, err)
		}
		if len(after) != len(before)+2 {
			t.Errorf("%d fields became %d", len(before), len(after))
		}
		for name, value := range before {
			if !bytes.Equal(after[name], value) {
				t.Errorf("field %q was %s and is %s", name, value, after[name])
			}
		}
	})
}

// FuzzCheckBoundAnswer: only the answer that was signed is accepted.
func FuzzCheckBoundAnswer(f *testing.F) {
	const answer = `{"decision":"deny","webhook_id":"msg_1"}`
	good, err := mustSigner(f, vectorSecret).BindAnswer([]byte(`{"decision":"deny"}`), "msg_1", []byte(question))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(good), answer, "\n" + string(good) + " ", strings.Replace(string(good), "deny", "allow", 1),
		strings.TrimSuffix(string(good), "}") + `,"decision":"allow"}`, `{"webhook_id":"msg_1","answer_signature":""}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		v := mustVerifier(t, signature.VerifierOptions{}, vectorSecret)
		if err := v.CheckBoundAnswer(said, "msg_1", []byte(question)); err != nil {
			if !errors.Is(err, signature.ErrUnbound) {
				t.Errorf("a refusal of no kind: %v", err)
			}
			return
		}
		if !strings.HasPrefix(strings.TrimSpace(string(said)), strings.TrimSuffix(answer, "}")+`,"answer_signature":"`) {
			t.Errorf("accepted what nobody signed: %s", said)
		}
	})
}
