package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// turnStream writes the lines of a turn, flushing each within the write
// deadline: a client that does not read must tie up neither memory nor an agent.
type turnStream struct {
	events  bool // server-sent events rather than NDJSON
	abandon context.CancelCauseFunc

	mu     sync.Mutex
	stream eventStream
	begun  bool
	err    error // the first error; nothing is written after it

	done chan struct{} // ends the heartbeat
	beat sync.WaitGroup
}

func newTurnStream(w http.ResponseWriter, events bool, patience time.Duration, abandon context.CancelCauseFunc) *turnStream {
	return &turnStream{
		events: events, abandon: abandon, done: make(chan struct{}),
		stream: eventStream{w: w, control: http.NewResponseController(w), patience: patience},
	}
}

// begin sends the header, so that the caller learns at once that its turn has
// started, however long the agent is silent. It starts the heartbeat of an event
// stream.
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

// head writes the header once. The caller holds s.mu.
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

// live sends the heartbeat of an event stream until the stream is closed.
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

// close ends the heartbeat.
func (s *turnStream) close() {
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.beat.Wait()
}

// send writes a line that is not the last.
func (s *turnStream) send(ctx context.Context, l turnLine) error {
	return s.write(ctx, s.framed(l))
}

// hasBegun reports whether a status was sent.
func (s *turnStream) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// end writes the last line. Its error is dropped: a client that is gone cannot
// be told.
func (s *turnStream) end(ctx context.Context, l turnLine) {
	s.close()
	s.mu.Lock()
	s.head()
	s.mu.Unlock()
	_ = s.write(context.WithoutCancel(ctx), s.framed(l))
}

// framed returns a line in the format of the stream.
func (s *turnStream) framed(l turnLine) string {
	if s.events {
		return "event: " + l.kind + "\ndata: " + string(l.text) + "}\n\n"
	}
	return string(l.text) + "}\n"
}

// write writes text. It returns as soon as ctx ends, even if the client does not
// read.
func (s *turnStream) write(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = s.put(ctx, text)
	}
	return s.err
}

// put is write without the lock; the caller holds s.mu.
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
		_ = s.stream.control.SetWriteDeadline(time.Unix(1, 0)) // on an error the write deadline still applies
	})
	defer func() {
		if !stop() {
			<-interrupted // otherwise the past deadline could hit a later line
		}
	}()
	return s.stream.put(text)
}
