// Package hook is a hook that fails closed: the policy, and an HTTP handler around
// it. The programs beside it run it on a platform.
//
// The hook denies what it does not understand. A request without a valid
// signature gets a status other than 200, which the gateway treats as a failure,
// and so as a deny too.
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

// maxRequest is the gateway's own default limit of a request, in bytes.
const maxRequest = 16 << 20

// Options configure a hook.
type Options struct {
	// Secrets are one or more whsec_… secrets separated by spaces: only requests
	// signed with one of them are answered. The word none disables the check, for
	// platforms that themselves admit only the gateway. Empty is an error.
	Secrets string
	// Log receives a line for each decision.
	Log *slog.Logger
}

// Hook answers calls. It is safe for concurrent use.
type Hook struct {
	policy   policy
	verifier *signature.Verifier // nil if the platform authenticates the gateway
	log      *slog.Logger
}

// New returns a hook, or the error in its options.
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

// ServeHTTP answers one request.
func (h *Hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request is too long or was cut off", http.StatusBadRequest)
		return
	}
	status, answer := h.Answer(r.Header, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) //nolint:gosec // JSON with its content type; a gateway that disconnected needs no answer
}

// Answer handles one request. body must be the raw body, before any parsing. A
// status other than 200 also comes with a deny.
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
	// The id is repeated for gateways that bind answers to calls.
	bound, err := signature.BindAnswer(text, id)
	if err != nil {
		return http.StatusBadRequest, []byte(`{"decision":"deny","reason":"webhook-id cannot be repeated"}`)
	}
	return status, bound
}

func (h *Hook) judge(header http.Header, body []byte) (status int, said answer) {
	if h.verifier != nil {
		if _, err := h.verifier.Verify(header, body); err != nil {
			return http.StatusUnauthorized, deny("the request has no valid signature: %v", err)
		}
	}
	call, err := chain.ParseRequest(body)
	if err != nil {
		return http.StatusBadRequest, deny("the request is not a valid call: %v", err)
	}
	said = h.policy.decide(call)
	h.log.Info("decided", slog.String("tool_call_id", call.ToolCallID()), slog.String("decision", said.Decision))
	return http.StatusOK, said
}
