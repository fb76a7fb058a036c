package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogLinesAreWrittenTogetherAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		lines := newLineBuffer(&out)
		written := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if text := out.String(); strings.Count(text, "\n") != want {
				t.Errorf("%s there are %d lines, want %d: %.300s", when, strings.Count(text, "\n"), want, text)
			}
		}
		log := newLogger(settings{LogFormat: "text"}, lines).With("a", 1).WithGroup("g")
		log.Info("one")
		log.Info("two")
		written("at once", 0)
		time.Sleep(logDelay)
		written("after the delay", 2)
		log.Info("three")
		log.Warn("four")
		written("after a warning", 4)
		log.Info("long", slog.String("text", strings.Repeat("x", logBatch)))
		written("with a full buffer", 5)
		log.Info("last")
		lines.close()
		written("after the end", 6)
		log.Info("too late")
		written("long after the end", 6)
	})
}

// stalled is a writer whose other end is not read until it is released.
type stalled struct {
	release chan struct{}
	out     bytes.Buffer
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.release
	return s.out.Write(p)
}

func TestAReaderOfTheLogWhoStallsStallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stalled{release: make(chan struct{})}
		lines := newLineBuffer(out)
		line := []byte(strings.Repeat("x", 1023) + "\n")
		began := time.Now()
		for range 2 * logHeld / len(line) {
			if _, err := lines.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		lines.close()
		if took := time.Since(began); took > logFarewell {
			t.Errorf("it took %v", took)
		}
		close(out.release)
		<-lines.ended
		if !strings.Contains(out.out.String(), "log lines were dropped") {
			t.Error("nobody says that lines were dropped")
		}
	})
}
