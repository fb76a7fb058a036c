package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// hook is a server whose behavior depends on the path, with counters.
type hook struct {
	mu sync.Mutex
	// counts holds, by path, how many requests were received and how many of
	// them are waiting.
	counts map[string]*count
}

type count struct {
	Asked   int `json:"asked"`
	Waiting int `json:"waiting"`
}

func newHook() *hook { return &hook{counts: map[string]*count{}} }

func (h *hook) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /allow", h.counted(func(w http.ResponseWriter, _ *http.Request) { allow(w) }))
	mux.HandleFunc("POST /after/{time}", h.counted(after))
	mux.HandleFunc("POST /hang", h.counted(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	mux.HandleFunc("POST /reset", h.counted(reset))
	mux.HandleFunc("POST /flap", h.counted(func(w http.ResponseWriter, _ *http.Request) {
		if time.Now().Second()%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		allow(w)
	}))
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		_ = json.NewEncoder(w).Encode(h.counts) // an error means that the client has left
	})
	return mux
}

// counted reads the request body, as every hook must, and counts the request.
func (h *hook) counted(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.count(r.URL.Path, 1, 1)
		defer h.count(r.URL.Path, 0, -1)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		answer(w, r)
	}
}

func (h *hook) count(path string, asked, waiting int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.counts[path]
	if c == nil {
		c = &count{}
		h.counts[path] = c
	}
	c.Asked += asked
	c.Waiting += waiting
}

func allow(w http.ResponseWriter) {
	w.Header()["Content-Type"] = []string{"application/json"}
	_, _ = io.WriteString(w, `{"decision":"allow"}`) // who left misses nothing
}

func after(w http.ResponseWriter, r *http.Request) {
	d, err := time.ParseDuration(r.PathValue("time"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		allow(w)
	case <-r.Context().Done():
	}
}

// reset aborts the connection with a TCP reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
