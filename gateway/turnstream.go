package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// turnStream writes the lines of a turn, each flushed and within the patience: a
// reader that does not read holds neither memory nor an agent.
type turnStream struct {
	events  bool // server-sent events, else lines of JSON
	abandon context.CancelCauseFunc

	mu     sync.Mutex
	stream eventStream
	begun  bool
	err    error // of an earlier line: none may follow it

	done chan struct{} // ends the heartbeat
	beat sync.WaitGroup
}

func newTurnStream(w http.ResponseWriter, events bool, patience time.Duration, abandon context.CancelCauseFunc) *turnStream {
	return &turnStream{
		events: events, abandon: abandon, done: make(chan struct{}),
		stream: eventStream{w: w, control: http.NewResponseController(w), patience: patience},
	}
}

// begin sends the header, so that a caller knows at once that its turn runs,
// however long the agent is silent. An idle event stream says that it lives.
func (s *turnStream) begin() {
	s.mu.Lock()
	s.head()
	s.mu.Unlock()
	if err := s.write(context.Background(), ""); err != nil {
		s.abandon(err)
		return
	}
	if s.events {
		s.beat.Go(s.live)
	}
}

// head is called with the lock held.
func (s *turnStream) head() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.stream.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Content-Type", "application/x-ndjson")
	if s.events {
		h.Set("Content-Type", "text/event-stream")
	}
	s.stream.w.WriteHeader(http.StatusOK)
}

// live keeps an event stream alive until it ends.
func (s *turnStream) live() {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-beat.C:
			if err := s.write(context.Background(), ": alive\n\n"); err != nil {
				s.abandon(err)
				return
			}
		}
	}
}

// close ends the heartbeat. Nothing is written after it.
func (s *turnStream) close() {
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.beat.Wait()
}

// send writes a line that is followed by others.
func (s *turnStream) send(ctx context.Context, l turnLine) error {
	return s.write(ctx, s.framed(l))
}

// hasBegun reports whether a status was sent.
func (s *turnStream) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// end writes the last line. A reader that is gone cannot be told.
func (s *turnStream) end(ctx context.Context, l turnLine) {
	s.close()
	s.mu.Lock()
	s.head()
	s.mu.Unlock()
	_ = s.write(context.WithoutCancel(ctx), s.framed(l))
}

// framed is a line as it is sent.
func (s *turnStream) framed(l turnLine) string {
	if s.events {
		return "event: " + l.kind + "\ndata: " + string(l.text) + "}\n\n"
	}
	return string(l.text) + "}\n"
}

// write returns as soon as ctx ends, whether or not the reader reads.
func (s *turnStream) write(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.put(ctx, text)
	}
	return s.err
}

// put is called with the lock held.
func (s *turnStream) put(ctx context.Context, text string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.stream.bound(); err != nil {
		return err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = s.stream.control.SetWriteDeadline(time.Unix(1, 0)) // where it fails the patience is what is left
	})
	defer func() {
		if !stop() {
			<-interrupted // or it would meet a later line
		}
	}()
	return s.stream.put(text)
}
