package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hookgate/hookgate/gateway/logbuffer"
)

func TestOfTheLogOnlyWhatIsNoWarningWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		lines := logbuffer.New(&out)
		defer lines.Close()
		log := newLogger(settings{LogFormat: "text"}, lines).With("a", 1).WithGroup("g")
		for _, c := range []struct {
			say  func(string, ...any)
			want int
		}{{log.Info, 0}, {log.Info, 0}, {log.Warn, 3}, {log.Info, 3}, {log.Error, 5}} {
			c.say("a line")
			synctest.Wait()
			if got := strings.Count(out.String(), "\n"); got != c.want {
				t.Errorf("%d lines are written, want %d: %s", got, c.want, out.String())
			}
		}
	})
}
