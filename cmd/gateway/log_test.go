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
		var out bytes.Buffer
		lines := newLineBuffer(&out)
		log := newLogger(settings{LogFormat: "text"}, lines).With("a", 1).WithGroup("g")
		log.Info("one")
		log.Info("two")
		if out.Len() != 0 {
			t.Errorf("written at once: %s", &out)
		}
		time.Sleep(logDelay)
		synctest.Wait()
		if got := strings.Count(out.String(), "\n"); got != 2 {
			t.Errorf("%d lines after the delay: %s", got, &out)
		}
		log.Info("three")
		log.Warn("four")
		if got := strings.Count(out.String(), "\n"); got != 4 {
			t.Errorf("a warning is kept waiting: %s", &out)
		}
		log.Info("long", slog.String("text", strings.Repeat("x", logBatch)))
		if got := strings.Count(out.String(), "\n"); got != 5 {
			t.Error("a full buffer is kept")
		}
		log.Info("last")
		lines.close()
		log.Info("after the last")
		if got := strings.Count(out.String(), "\n"); got != 7 {
			t.Errorf("lines are lost at the end: %s", &out)
		}
	})
}
