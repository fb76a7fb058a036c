package signature_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/hookgate/hookgate/transport/signature"
)

// Example_hook is a hook that accepts only requests of the gateway, and binds
// its answers to them.
func Example_hook() {
	// Read it from the environment or a mounted secret. The gateway's entry
	// has the same text under signing.
	const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	key, err := signature.ParseKey(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{key}})
	if err != nil {
		fmt.Println(err)
		return
	}
	hook := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
		if err != nil {
			http.Error(w, "the body is too long or was cut short", http.StatusBadRequest)
			return
		}
		id, err := verifier.Verify(r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		decision := []byte(`{"decision":"allow"}`)
		if bytes.Contains(body, []byte("--force")) { // a real hook would parse the body here
			decision = []byte(`{"decision":"deny","reason":"not by force"}`)
		}
		answer, err := signature.BindAnswer(decision, id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer) // ignored: a caller that is gone needs no answer
	}

	// A request of the gateway.
	signer, err := signature.NewSigner(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	question := []byte(`{"tool_name":"shell","input":{"command":"git push --force"}}`)
	r := httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(question))
	if err := signer.SetHeaders(r.Header, "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", time.Now(), question); err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	hook(w, r)
	fmt.Println(w.Code, w.Body)

	// A request of anybody else.
	r = httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(question))
	w = httptest.NewRecorder()
	hook(w, r)
	fmt.Println(w.Code, w.Body)

	// Output:
	// 200 {"decision":"deny","reason":"not by force","webhook_id":"msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"}
	// 401 webhook-id: the header is missing
}

// A hook with its own key pair proves that an answer comes from it, and which
// request it answers. The gateway has the public key.
func ExampleSigner_BindAnswer() {
	private, err := signature.ParseKey("whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=")
	if err != nil {
		fmt.Println(err)
		return
	}
	signer, err := signature.NewSigner(private)
	if err != nil {
		fmt.Println(err)
		return
	}
	question := []byte(`{"tool_name":"shell","input":{"command":"ls"}}`)
	answer, err := signer.BindAnswer([]byte(`{"decision":"allow"}`), "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", question)
	if err != nil {
		fmt.Println(err)
		return
	}

	public, err := signature.ParseKey(private.Public())
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{public}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(verifier.CheckBoundAnswer(answer, "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", question))
	fmt.Println(verifier.CheckBoundAnswer(answer, "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", question))
	// Output:
	// <nil>
	// webhook_id: the answer belongs to another request
}
