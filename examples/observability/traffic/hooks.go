package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Answers of the hooks.
const (
	allow   = `{"decision":"allow"}`
	deny    = `{"decision":"deny","reason":"production is off limits"}`
	rewrite = `{"decision":"modify","input":{"path":"/sandbox/file","text":"…"},"reason":"moved to the sandbox"}`
	redact  = `{"decision":"replace","output":"[redacted]","reason":"looked like a token"}`
)

// answerTo denies calls that mention production.
func answerTo(call []byte) string {
	if strings.Contains(string(call), "prod") {
		return deny
	}
	return allow
}

// program is the subprocess hook of config/hooks.yaml.
func program(in io.Reader, out io.Writer) error {
	call, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if strings.Contains(string(call), "crash") {
		return errors.New("told to crash")
	}
	_, err = io.WriteString(out, answerTo(call))
	return err
}

// hooks serves the remote hooks.
type hooks struct {
	slow atomic.Int64 // number of calls to the slow hook
}

func newHooks() *hooks { return &hooks{} }

func (h *hooks) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /policy", func(w http.ResponseWriter, r *http.Request) {
		call, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the call was cut", http.StatusBadRequest)
			return
		}
		said(w, answerTo(call))
	})
	mux.HandleFunc("POST /broken", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("POST /flapping", serveFlapping)
	mux.HandleFunc("POST /slow", h.serveSlow)
	mux.HandleFunc("POST /rewrite", func(w http.ResponseWriter, _ *http.Request) { said(w, rewrite) })
	mux.HandleFunc("POST /redact", serveRedact)
	return mux
}

// serveFlapping fails for one second in every four.
func serveFlapping(w http.ResponseWriter, _ *http.Request) {
	if time.Now().Unix()%4 == 0 {
		http.Error(w, "deploying", http.StatusBadGateway)
		return
	}
	said(w, allow)
}

// serveSlow exceeds its entry's timeout on every fourth call.
func (h *hooks) serveSlow(w http.ResponseWriter, r *http.Request) {
	wait := 20 * time.Millisecond
	if h.slow.Add(1)%4 == 0 {
		wait = time.Second
	}
	select {
	case <-time.After(wait):
		said(w, allow)
	case <-r.Context().Done():
	}
}

// serveRedact replaces results that look like tokens.
func serveRedact(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Output json.RawMessage `json:"output"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, "no call", http.StatusBadRequest)
		return
	}
	if strings.Contains(string(call.Output), "token") {
		said(w, redact)
		return
	}
	said(w, allow)
}

func said(w http.ResponseWriter, answer string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer) // a gateway that hung up cannot be told
}
