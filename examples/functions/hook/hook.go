// Package hook is a hook that fails closed: the policy, and what makes it an
// HTTP handler. The programs beside it put it on a platform.
//
// What is not understood is denied. A question that is not genuine gets a status
// other than 200, which the gateway takes as a failure, and so as a deny too.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/signature"
)

// maxQuestion is the gateway's own bound of a request, in bytes.
const maxQuestion = 16 << 20

// Options configure a hook.
type Options struct {
	// Secrets are one or more whsec_… separated by blanks: only questions that
	// one of them signed are answered. Or it is the word none, where the
	// platform itself lets nobody but the gateway in. Nothing is an error.
	Secrets string
	// Log gets a line for each decision.
	Log *slog.Logger
}

// Hook answers questions. It may be used by many goroutines at once.
type Hook struct {
	policy   policy
	verifier *signature.Verifier // nil where the platform authenticates the gateway
	log      *slog.Logger
}

// New returns a hook, or why it cannot be one.
func New(o Options) (*Hook, error) {
	h := &Hook{policy: newPolicy(), log: o.Log}
	if h.log == nil {
		return nil, errors.New("a hook needs a log")
	}
	if o.Secrets == "none" {
		return h, nil
	}
	var keys []signature.Key
	for secret := range strings.FieldsSeq(o.Secrets) {
		key, err := signature.ParseKey(secret)
		if err != nil {
			return nil, fmt.Errorf("HOOK_SECRETS is neither a list of whsec_… nor none: %w", err)
		}
		keys = append(keys, key)
	}
	verifier, err := signature.NewVerifier(signature.VerifierOptions{Keys: keys})
	if err != nil {
		return nil, fmt.Errorf("HOOK_SECRETS is neither a list of whsec_… nor none: %w", err)
	}
	h.verifier = verifier
	return h, nil
}

// ServeHTTP answers a question that is posted.
func (h *Hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "questions are posted", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		http.Error(w, "the question is too long or was cut short", http.StatusBadRequest)
		return
	}
	status, answer := h.Answer(r.Header, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // it is JSON and said to be, and a gateway that is gone needs none
}

// Answer judges one question: body as it arrived, before anything parsed it. A
// status other than 200 goes with a deny all the same.
func (h *Hook) Answer(header http.Header, body []byte) (status int, text []byte) {
	status, said := h.judge(header, body)
	text, err := json.Marshal(said)
	if err != nil {
		return http.StatusInternalServerError, []byte(`{"decision":"deny","reason":"the answer cannot be written"}`)
	}
	id := header.Get(signature.HeaderID)
	if id == "" || status != http.StatusOK {
		return status, text
	}
	// Repeated, for gateways that bind answers to questions.
	bound, err := signature.BindAnswer(text, id)
	if err != nil {
		return http.StatusBadRequest, []byte(`{"decision":"deny","reason":"webhook-id cannot be repeated"}`)
	}
	return status, bound
}

func (h *Hook) judge(header http.Header, body []byte) (status int, said answer) {
	if h.verifier != nil {
		if _, err := h.verifier.Verify(header, body); err != nil {
			return http.StatusUnauthorized, deny("the question is not signed as agreed: %v", err)
		}
	}
	call, err := chain.ParseRequest(body)
	if err != nil {
		return http.StatusBadRequest, deny("the question is not understood: %v", err)
	}
	said = h.policy.decide(call)
	h.log.Info("decided", slog.String("tool_call_id", call.ToolCallID()), slog.String("decision", said.Decision))
	return http.StatusOK, said
}
