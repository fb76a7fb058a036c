package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server responds with h and counts its requests.
func server(t *testing.T, h http.HandlerFunc) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func allow(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, `{"decision":"allow"}`)
}

func run(t *testing.T, o Options) Result {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryGoodAnswerIsCountedOnce(t *testing.T) {
	url, asked := server(t, allow)
	var began, ended int64
	r := run(t, Options{
		URL: url, Body: []byte("{}"), Want: `"allow"`, Conns: 4, Measure: 200 * time.Millisecond,
		Begin: func() { began = asked.Load() }, End: func() { ended = asked.Load() },
	})
	if r.Failed > 0 {
		t.Fatalf("%d failed: %s", r.Failed, r.Why)
	}
	// At the end, one request on each connection may be unanswered.
	if got, served := int64(len(r.Answers)), ended-began; got == 0 || served-got < 0 || served-got > 4 {
		t.Errorf("%d answers counted, %d served", got, served)
	}
}

func TestTheWarmTimeDoesNotCount(t *testing.T) {
	var calls atomic.Int64
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusTeapot)
		}
		allow(w, r)
	})
	r := run(t, Options{URL: url, Want: "allow", Conns: 1, Warm: 100 * time.Millisecond, Measure: 100 * time.Millisecond})
	if r.Failed > 0 || len(r.Answers) == 0 {
		t.Errorf("%d failed, %d good", r.Failed, len(r.Answers))
	}
}

func TestWhatIsNotTheWantedAnswerFailed(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"another status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "503"},
		"another body":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"decision":"deny"}`) }, "deny"},
		"no length": {func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, `{"decision":"allow"}`)
		}, "without a Content-Length"},
		"a broken connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed before a whole answer"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := server(t, c.h)
			r := run(t, Options{URL: url, Want: "allow", Conns: 2, Measure: 50 * time.Millisecond})
			if len(r.Answers) > 0 || r.Failed < 2 || !strings.Contains(r.Why, c.want) {
				t.Errorf("%d good, %d failed: %s", len(r.Answers), r.Failed, r.Why)
			}
		})
	}
}

func TestALargeQuestionArrivesWhole(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 3<<20)
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, bytes.Equal(got, body))
	})
	r := run(t, Options{URL: url, Body: body, Want: "true", Conns: 2, Once: true, Measure: 10 * time.Second})
	if len(r.Answers) != 2 || r.Failed > 0 {
		t.Errorf("%d good, %d failed: %s", len(r.Answers), r.Failed, r.Why)
	}
}

func TestALongAnswerIsReadWhole(t *testing.T) {
	long := strings.Repeat("y", 100<<10) + "the end"
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(long)))
		_, _ = io.WriteString(w, long)
	})
	r := run(t, Options{URL: url, Want: "the end", Conns: 2, Once: true, Measure: 10 * time.Second})
	if len(r.Answers) != 2 || r.Failed > 0 {
		t.Errorf("%d good, %d failed: %s", len(r.Answers), r.Failed, r.Why)
	}
}

func TestOnceAsksOnEveryConnectionAtTheSameTime(t *testing.T) {
	all := make(chan struct{})
	var waiting atomic.Int64
	url, asked := server(t, func(w http.ResponseWriter, r *http.Request) {
		if waiting.Add(1) == 50 {
			close(all)
		}
		<-all
		allow(w, r)
	})
	r := run(t, Options{URL: url, Want: "allow", Conns: 50, Once: true, Measure: 30 * time.Second})
	if len(r.Answers) != 50 || r.Failed != 0 || asked.Load() != 50 {
		t.Errorf("%d good, %d failed, %d asked", len(r.Answers), r.Failed, asked.Load())
	}
}

func TestOnceCountsWhatDidNotComeInTime(t *testing.T) {
	url, _ := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r := run(t, Options{URL: url, Conns: 3, Once: true, Measure: 50 * time.Millisecond})
	if r.Failed != 3 || r.Why != "no answer in time" {
		t.Errorf("%d failed: %s", r.Failed, r.Why)
	}
}

func TestARateIsKeptAndMeasuredFromWhenAQuestionWasDue(t *testing.T) {
	const pause = 300 * time.Millisecond
	var calls atomic.Int64
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			select { // hold the only connection, so that others wait behind it
			case <-time.After(pause):
			case <-r.Context().Done():
			}
		}
		allow(w, r)
	})
	r := run(t, Options{URL: url, Want: "allow", Conns: 1, Rate: 100, Measure: 2 * time.Second})
	// If the machine stalls at the end, requests are missing, but there are
	// never more than the rate permits.
	if n := len(r.Answers) + r.Failed; n == 0 || n > 201 {
		t.Errorf("%d questions at 100 a second in 2 s", n)
	}
	// Requests that were due while the connection was blocked have waited, too.
	if waited := r.Quantile(0.93); waited < pause/10 {
		t.Errorf("the 93rd of 100 took %v: the wait behind the slow answer is not in it", waited)
	}
}

func TestLoadIsPutOnTheLoopbackOnly(t *testing.T) {
	for _, url := range []string{"http://192.0.2.1:80/", "http://localhost:80/", "http://[::1]:80/", "http://127.0.0.1/"} {
		if _, err := Run(t.Context(), Options{URL: url}); err == nil {
			t.Errorf("%s: no error", url)
		}
	}
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	if _, err := Run(t.Context(), Options{URL: s.URL, Conns: 1}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v", err)
	}
}

func TestItEndsWithItsContext(t *testing.T) {
	url, _ := server(t, allow)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, Options{URL: url, Conns: 1, Measure: time.Hour, Begin: cancel})
	if err == nil {
		t.Error("no error")
	}
}

func TestQuantilesAreThoseOfTheSortedAnswers(t *testing.T) {
	var r Result
	if got := r.Quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 100 {
		r.Answers = append(r.Answers, time.Duration(i+1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := r.Quantile(q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
}
