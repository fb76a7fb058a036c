package transport

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// TestWebhook_LeavesNothingBehindWhateverTheEndpointDoes is not parallel,
// because it counts the descriptors of the whole process.
func TestWebhook_LeavesNothingBehindWhateverTheEndpointDoes(t *testing.T) {
	questions := []chain.Call{sized(t, 1), sized(t, 1<<20)}
	for way, by := range ways() {
		t.Run(way, func(t *testing.T) {
			h := listen(t, nil, func(c *hookConn) {
				for nth := c.number; ; nth++ {
					if nth%7 == 6 { // responds without reading the request
						c.say(response("413 Too Large", "", ""))
						return
					}
					if !c.next() {
						return
					}
					switch nth % 7 {
					case 0:
						c.reset()
						return
					case 1:
						c.say("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")
						return
					case 2:
						c.say(allowed + allowed)
					case 3:
						c.say("HTTP/1.1 503 Busy\r\nContent-Length: 20\r\n\r\n{")
						c.wait()
						return
					case 4:
						c.wait() // until the caller's time is up
						return
					default:
						c.say(allowed)
					}
				}
			})
			quietly(t)
			files, routines := len(openFiles(t)), runtime.NumGoroutine()
			w, err := NewWebhook(by(WebhookOptions{URL: h.url, Breaker: BreakerOptions{ConsecutiveFailures: 1 << 20}}))
			if err != nil {
				t.Fatal(err)
			}
			var callers sync.WaitGroup
			for caller := range 8 {
				callers.Go(func() {
					for range 10 {
						w.Ask(t.Context(), call(questions[caller%2].Request, 100*time.Millisecond))
					}
				})
			}
			callers.Wait()
			w.Close()
			eventually(t, "files are closed", func() bool { return len(openFiles(t)) <= files })
			eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= routines })
		})
	}
}
