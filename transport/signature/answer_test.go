package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/transport/signature"
)

const question = `{"hook_schema":1,"event":"pre_tool_use","tool_name":"shell","input":{"command":"ls"}}`

func TestS5_AnAnswerIsBoundByTheIDOfItsQuestion(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"an allow", `{"decision":"allow"}`, `{"decision":"allow","webhook_id":"msg_1"}`},
		{"blanks around it", " \n{ \"decision\" : \"allow\" \t}\r\n", `{ "decision" : "allow","webhook_id":"msg_1"}`},
		{"an empty object", `{ }`, `{"webhook_id":"msg_1"}`},
		{"an object at its end", `{"decision":"modify","input":{"a":{}}}`, `{"decision":"modify","input":{"a":{}},"webhook_id":"msg_1"}`},
		{"numbers and order as they were", `{"z":1e400,"a":9007199254740993,"b":"<&>"}`, `{"z":1e400,"a":9007199254740993,"b":"<&>","webhook_id":"msg_1"}`},
		{"the field's name deeper down", `{"input":{"webhook_id":"x"}}`, `{"input":{"webhook_id":"x"},"webhook_id":"msg_1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := []byte(c.answer)
			got, err := signature.BindAnswer(given, "msg_1")
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("bound as %s, want %s", got, c.want)
			}
			if string(given) != c.answer {
				t.Errorf("what was given became %s", given)
			}
			if err := signature.CheckBoundAnswer(got, "msg_1"); err != nil {
				t.Errorf("is not bound: %v", err)
			}
			if err := signature.CheckBoundAnswer(got, "msg_2"); !errors.Is(err, signature.ErrUnbound) {
				t.Errorf("is bound to another question too: %v", err)
			}
		})
	}
}

func TestS5_WhatCannotBeBoundIsNotBound(t *testing.T) {
	for _, c := range []struct{ name, answer, id, want string }{
		{"no answer", ``, "msg_1", "the answer is not one JSON object"},
		{"a list", `["allow"]`, "msg_1", "the answer is not one JSON object"},
		{"null", `null`, "msg_1", "the answer is not one JSON object"},
		{"two answers", `{"decision":"allow"} {}`, "msg_1", "the answer is not one JSON object"},
		{"half an answer", `{"decision":"allow"`, "msg_1", "the answer is not one JSON object"},
		{"one that is bound", `{"webhook_id":"msg_0"}`, "msg_1", "the answer is already bound"},
		{"one that is signed", `{"answer_signature":""}`, "msg_1", "the answer is already bound"},
		{"one that is bound twice", `{"webhook_id":"msg_0","webhook_id":"msg_1"}`, "msg_1", "the answer has the field webhook_id twice"},
		{"no id", `{}`, "", "the id is empty"},
		{"an id that ends its string", `{}`, `a","decision":"allow`, `the id contains the byte '"', which would make the signature ambiguous`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := signature.BindAnswer([]byte(c.answer), c.id); err == nil || err.Error() != c.want {
				t.Errorf("bound as %s: %v, want %s", got, err, c.want)
			}
			if got, err := mustSigner(t, vectorSecret).BindAnswer([]byte(c.answer), c.id, []byte(question)); err == nil || err.Error() != c.want {
				t.Errorf("signed as %s: %v, want %s", got, err, c.want)
			}
		})
	}
	if got, err := new(signature.Signer).BindAnswer([]byte(`{}`), "msg_1", nil); err == nil {
		t.Errorf("the zero signer signs: %s", got)
	}
}

func TestS5_AnAnswerThatDoesNotRepeatTheIDIsRefused(t *testing.T) {
	for _, c := range []struct{ name, answer, id, want string }{
		{"nothing said of a question", `{"decision":"allow"}`, "msg_1", "webhook_id: the answer has no such field, so it may belong to another request"},
		{"another question's", `{"decision":"allow","webhook_id":"msg_2"}`, "msg_1", "webhook_id: the answer belongs to another request"},
		{"null", `{"webhook_id":null}`, "msg_1", "webhook_id: the answer belongs to another request"},
		{"a list of all questions", `{"webhook_id":["msg_1"]}`, "msg_1", "webhook_id: the answer belongs to another request"},
		{"the field in other letters", `{"Webhook_ID":"msg_1"}`, "msg_1", "webhook_id: the answer has no such field, so it may belong to another request"},
		{"the field deeper down", `{"input":{"webhook_id":"msg_1"}}`, "msg_1", "webhook_id: the answer has no such field, so it may belong to another request"},
		{"both ids", `{"webhook_id":"msg_2","webhook_id":"msg_1"}`, "msg_1", "webhook_id: the answer has the field webhook_id twice"},
		{"both ids, one in escapes", `{"webhook_id":"msg_2","webhook\u005fid":"msg_1"}`, "msg_1", "webhook_id: the answer has the field webhook_id twice"},
		{"no object", `"msg_1"`, "msg_1", "webhook_id: the answer is not one JSON object"},
		{"a question without an id", `{"webhook_id":""}`, "", "webhook_id: the request has no valid id: the id is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := signature.CheckBoundAnswer([]byte(c.answer), c.id)
			if !errors.Is(err, signature.ErrUnbound) || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			v := mustVerifier(t, signature.VerifierOptions{}, vectorSecret)
			if err := v.CheckBoundAnswer([]byte(c.answer), c.id, []byte(question)); !errors.Is(err, signature.ErrUnbound) || err.Error() != c.want {
				t.Errorf("of a signed one: error %v, want %s", err, c.want)
			}
		})
	}
}

func TestS5_TheSignatureOfAnAnswerIsThatOfTheDocumentation(t *testing.T) {
	got, err := mustSigner(t, vectorSecret).BindAnswer([]byte(`{"decision":"allow"}`), "msg_1", []byte(question))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(question))
	answer := `{"decision":"allow","webhook_id":"msg_1"}`
	mac := hmac.New(sha256.New, decoded(t, vectorSecret))
	mac.Write([]byte("answer.msg_1." + hex.EncodeToString(digest[:]) + "." + answer))
	want := `{"decision":"allow","webhook_id":"msg_1","answer_signature":"v1,` + base64.StdEncoding.EncodeToString(mac.Sum(nil)) + `"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if !json.Valid(got) {
		t.Error("it is no JSON any more")
	}
}

func TestS5_ASignedAnswerAnswersOneQuestionAndNoOther(t *testing.T) {
	for _, c := range []struct{ name, sign, verify string }{
		{"a shared secret", vectorSecret, vectorSecret},
		{"a key pair of the hook", vectorPrivate, vectorPublic},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustVerifier(t, signature.VerifierOptions{}, c.verify)
			answer, err := mustSigner(t, c.sign).BindAnswer([]byte(`{"decision":"allow"}`), "msg_1", []byte(question))
			if err != nil {
				t.Fatal(err)
			}
			if err := v.CheckBoundAnswer(append(answer, " \n"...), "msg_1", []byte(question)); err != nil {
				t.Errorf("was refused: %v", err)
			}
			if err := signature.CheckBoundAnswer(answer, "msg_1"); err != nil {
				t.Errorf("the weaker check refuses it: %v", err)
			}
			for name, err := range map[string]error{
				"another id":       v.CheckBoundAnswer(answer, "msg_2", []byte(question)),
				"another question": v.CheckBoundAnswer(answer, "msg_1", []byte(question+" ")),
				"another decision": v.CheckBoundAnswer([]byte(strings.Replace(string(answer), "allow", "modify", 1)), "msg_1", []byte(question)),
				"another key": mustVerifier(t, signature.VerifierOptions{}, "whsec_"+strings.Repeat("A", 32)).
					CheckBoundAnswer(answer, "msg_1", []byte(question)),
			} {
				if !errors.Is(err, signature.ErrUnbound) {
					t.Errorf("it answers %s too: %v", name, err)
				}
			}
		})
	}
}

func TestS5_ASignatureThatIsNotTheAnswersOwnIsRefused(t *testing.T) {
	good, err := mustSigner(t, vectorSecret).BindAnswer([]byte(`{"decision":"deny"}`), "msg_1", []byte(question))
	if err != nil {
		t.Fatal(err)
	}
	_, sig, _ := strings.Cut(string(good), `"answer_signature":"`)
	sig = strings.TrimSuffix(sig, `"}`)
	const (
		unsigned = "answer_signature: the answer has no such field, so anyone on the network path may have written it"
		misplace = "answer_signature: must be the last field of the answer, without a blank before or after it or its colon"
		mismatch = "answer_signature: no signature matches: there are 1 of version v1, 0 of v1a and 0 of others; the verifier has 1 keys for v1 and 0 for v1a. Either the two sides have different keys, or the body was changed before it was verified"
	)
	for _, c := range []struct{ name, answer, want string }{
		{"none", `{"decision":"allow","webhook_id":"msg_1"}`, unsigned},
		{"none at the top", `{"decision":"allow","webhook_id":"msg_1","input":{"a":1,"answer_signature":"` + sig + `"}}`, unsigned},
		{"in a string", `{"webhook_id":"msg_1","reason":"x\",\"answer_signature\":\"` + sig + `"}`, unsigned},
		{"another decision's", `{"decision":"allow","webhook_id":"msg_1","answer_signature":"` + sig + `"}`, mismatch},
		{"a decision behind it", `{"decision":"deny","webhook_id":"msg_1","answer_signature":"` + sig + `","decision":"allow"}`, misplace},
		{"a blank after it", `{"decision":"deny","webhook_id":"msg_1","answer_signature":"` + sig + `" }`, misplace},
		{"a blank after its name", `{"decision":"deny","webhook_id":"msg_1","answer_signature": "` + sig + `"}`, misplace},
		{"before all others", `{"answer_signature":"` + sig + `","decision":"deny","webhook_id":"msg_1"}`, misplace},
		{"its name in escapes", `{"decision":"deny","webhook_id":"msg_1","answer\u005fsignature":"` + sig + `"}`, misplace},
		{"itself in escapes", `{"decision":"deny","webhook_id":"msg_1","answer_signature":"\u0076` + sig[1:] + `"}`, misplace},
		{"no text", `{"decision":"deny","webhook_id":"msg_1","answer_signature":1}`, misplace},
		{"empty", `{"decision":"deny","webhook_id":"msg_1","answer_signature":""}`, "answer_signature: has 0 signatures, and 1 to 32 are accepted"},
		{"twice", `{"decision":"deny","webhook_id":"msg_1","answer_signature":"` + sig + `","answer_signature":"` + sig + `"}`, "webhook_id: the answer has the field answer_signature twice"},
		{"a request's", `{"decision":"deny","webhook_id":"msg_1","answer_signature":"` + vectorSymmetric + `"}`, mismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustVerifier(t, signature.VerifierOptions{}, vectorSecret)
			err := v.CheckBoundAnswer([]byte(c.answer), "msg_1", []byte(question))
			if !errors.Is(err, signature.ErrUnbound) || err.Error() != c.want {
				t.Errorf("error\n%v, want\n%s", err, c.want)
			}
		})
	}
	if err := new(signature.Verifier).CheckBoundAnswer(good, "msg_1", []byte(question)); !errors.Is(err, signature.ErrUnbound) {
		t.Errorf("the zero verifier accepts: %v", err)
	}
}
