package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	logs "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// told is a request to the scripted collector, and its time.
type told struct {
	at     time.Time
	header http.Header
	body   []byte
}

// scripted replaces the network and the collector, so that pauses take no real
// time. It gives its answers in sequence and repeats the last one.
type scripted struct {
	mu      sync.Mutex
	answers []answer
	told    []told
}

// RoundTrip implements [http.RoundTripper].
func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, told{time.Now(), r.Header.Clone(), body})
	a := s.answers[min(len(s.told), len(s.answers))-1]
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body))}, nil
}

// answer is a scripted response, or a network error instead.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

func answering(status int, header http.Header, body ...byte) answer {
	return answer{status: status, header: header, body: body}
}

// before returns a sender with a scripted collector.
func before(t *testing.T, o Options, answers ...answer) (*sender, *scripted) {
	t.Helper()
	if o.URL == "" {
		o.URL = "http://collector:4318/v1/traces"
	}
	s, err := newSender(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &scripted{answers: answers}
	s.client.Transport = c
	return s, c
}

func TestO3_ABatchIsSentAgainWhereThatMayHelp(t *testing.T) {
	good := answering(http.StatusOK, nil)
	for name, c := range map[string]struct {
		first answer
		again bool
		want  string // the error, if it is not retried
	}{
		"taken":          {first: good},
		"too many":       {first: answering(http.StatusTooManyRequests, nil), again: true},
		"bad gateway":    {first: answering(http.StatusBadGateway, nil), again: true},
		"unavailable":    {first: answering(http.StatusServiceUnavailable, nil), again: true},
		"gateway slow":   {first: answering(http.StatusGatewayTimeout, nil), again: true},
		"no answer":      {first: answer{err: io.ErrUnexpectedEOF}, again: true},
		"malformed":      {first: answering(http.StatusBadRequest, nil), want: "the collector at http://collector:4318/v1/traces answered with status 400"},
		"unknown caller": {first: answering(http.StatusUnauthorized, nil), want: "the collector at http://collector:4318/v1/traces answered with status 401"},
		"too large":      {first: answering(http.StatusRequestEntityTooLarge, nil), want: "the collector at http://collector:4318/v1/traces answered with status 413"},
		"a fault":        {first: answering(http.StatusInternalServerError, nil), want: "the collector at http://collector:4318/v1/traces answered with status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, collector := before(t, Options{}, c.first, good)
				defer s.close()
				err := s.send(t.Context(), []byte("batch"))
				if got := fmt.Sprint(err); err != nil && got != c.want || err == nil && c.want != "" {
					t.Errorf("it ended with %v, want %q", err, c.want)
				}
				if again := len(collector.told) == 2; again != c.again {
					t.Errorf("it was sent %d times", len(collector.told))
				}
				for _, one := range collector.told {
					if string(one.body) != "batch" {
						t.Errorf("sent was %q", one.body)
					}
				}
			})
		})
	}
}

func TestO3_PausesGrowAndEndAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, collector := before(t, Options{}, answering(http.StatusServiceUnavailable, nil))
		defer s.close()
		began := time.Now()
		err := s.send(t.Context(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "the collector at http://collector:4318/v1/traces answered with status 503; it is not retried, because the next try would be in ") {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		pause := 500 * time.Millisecond
		for i := 1; i < len(collector.told); i++ {
			if got := collector.told[i].at.Sub(collector.told[i-1].at); got < pause/2 || got > pause*3/2 {
				t.Errorf("pause %d was %v, want about %v", i, got, pause)
			}
			pause = min(2*pause, 30*time.Second)
		}
		if n := len(collector.told); n < 6 || n > 8 {
			t.Errorf("it was sent %d times", n)
		}
	})
}

func TestO3_NothingIsSentBeforeTheCollectorWantsIt(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		want  time.Duration // at least
	}{
		"seconds": {"20", 20 * time.Second}, "no number": {"soon", 0}, "negative": {"-5", 0},
		"a date": {"DATE", 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.after == "DATE" {
					c.after = time.Now().Add(c.want).UTC().Format(http.TimeFormat)
				}
				s, collector := before(t, Options{}, answering(http.StatusTooManyRequests, http.Header{"Retry-After": {c.after}}), answering(http.StatusOK, nil))
				defer s.close()
				began := time.Now()
				if err := s.send(t.Context(), nil); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); len(collector.told) != 2 || waited < c.want || waited > c.want+time.Second {
					t.Errorf("it was sent %d times, at last after %v", len(collector.told), waited)
				}
			})
		})
	}
	t.Run("longer than it is tried", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, collector := before(t, Options{}, answering(http.StatusServiceUnavailable, http.Header{"Retry-After": {"120"}}))
			defer s.close()
			began := time.Now()
			const want = "the collector at http://collector:4318/v1/traces answered with status 503; it is not retried, because the next try would be in 2m0s, after the deadline"
			if err := s.send(t.Context(), nil); err == nil || err.Error() != want {
				t.Errorf("it ended with %v", err)
			}
			if waited := time.Since(began); len(collector.told) != 1 || waited > 0 {
				t.Errorf("it was sent %d times, and waited %v", len(collector.told), waited)
			}
		})
	})
}

func TestO3_TheCallersDeadlineEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, collector := before(t, Options{}, answering(http.StatusServiceUnavailable, nil))
		defer s.close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		if err := s.send(ctx, nil); err == nil {
			t.Error("what was refused counts as sent")
		}
		if took := time.Since(began); took > 5*time.Second || len(collector.told) < 3 {
			t.Errorf("it took %v and was sent %d times", took, len(collector.told))
		}
	})
}

func TestAClosedSenderWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := before(t, Options{}, answering(http.StatusServiceUnavailable, http.Header{"Retry-After": {"50"}}))
		began, ended := time.Now(), make(chan error)
		go func() { ended <- s.send(t.Context(), nil) }()
		synctest.Wait() // until it pauses
		s.close()
		if err := <-ended; err == nil || time.Since(began) > 0 {
			t.Errorf("after %v it ended with %v", time.Since(began), err)
		}
		if err := s.send(t.Context(), nil); err == nil {
			t.Error("a closed sender sends")
		}
	})
}

// wire encodes a message of the official types.
func wire(t *testing.T, m proto.Message) []byte {
	t.Helper()
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestO4_WhatWasNotKeptIsAnError(t *testing.T) {
	protobuf := http.Header{"Content-Type": {"application/x-protobuf"}}
	spansLost := wire(t, &traces.ExportTraceServiceResponse{PartialSuccess: &traces.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "they are too old"}})
	recordsLost := wire(t, &logs.ExportLogsServiceResponse{PartialSuccess: &logs.ExportLogsPartialSuccess{RejectedLogRecords: 1}})
	warns := wire(t, &traces.ExportTraceServiceResponse{PartialSuccess: &traces.ExportTracePartialSuccess{ErrorMessage: "use another endpoint"}})
	// A google.rpc.Status has its message in field 2, as a partial success
	// does.
	refused := append([]byte{0x08, 0x03, 0x12, 0x0b}, "no, Bearer 7"...)[:15]
	for name, c := range map[string]struct {
		status  int
		header  http.Header
		body    []byte
		want    string
		warning string
	}{
		"all kept":               {status: 200, header: protobuf},
		"spans lost":             {status: 200, header: protobuf, body: spansLost, want: `the collector at http://collector:4318/v1/traces rejected 3 of them: "they are too old"`},
		"records lost":           {status: 200, header: http.Header{"Content-Type": {"application/x-protobuf; charset=x"}}, body: recordsLost, want: "the collector at http://collector:4318/v1/traces rejected 1 of them"},
		"a warning":              {status: 200, header: protobuf, body: warns, warning: "use another endpoint"},
		"another type":           {status: 200, header: http.Header{"Content-Type": {"text/plain"}}, body: spansLost},
		"nothing that is one":    {status: 200, header: protobuf, body: []byte{0xff, 0xff}},
		"a number of another":    {status: 200, header: protobuf, body: wire(t, wrapperspb.Int64(7))},
		"refused with its words": {status: 400, header: protobuf, body: refused, want: `the collector at http://collector:4318/v1/traces answered with status 400: "no, Bearer "`},
		"refused in HTML":        {status: 400, header: http.Header{"Content-Type": {"text/html"}}, body: refused, want: "the collector at http://collector:4318/v1/traces answered with status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s, _ := before(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, answering(c.status, c.header, c.body...))
			defer s.close()
			got := ""
			if err := s.send(t.Context(), nil); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("it ended with\n%s\nwant\n%s", got, c.want)
			}
			if c.warning == "" && log.Len() > 0 || !strings.Contains(log.String(), c.warning) {
				t.Errorf("the log says %s", &log)
			}
		})
	}
}

func TestO5_CredentialsFollowNoRedirectAndAreInNoError(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	headers := make(chan http.Header, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		w.Header().Set("Location", other.URL)
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.WriteHeader(http.StatusTemporaryRedirect)
		said := "who is " + r.Header.Get("Authorization") + "?"
		_, _ = w.Write(append([]byte{0x12, byte(len(said))}, said...))
	}))
	defer collector.Close()
	s, err := newSender(Options{URL: collector.URL + "/v1/logs?key=hidden", Header: http.Header{"Authorization": {"Bearer secret-7"}}, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	want := "the collector at " + collector.URL + `/v1/logs answered with status 307: "who is …?"`
	if err := s.send(t.Context(), nil); err == nil || err.Error() != want {
		t.Errorf("it ended with %v, want %s", err, want)
	}
	if sent := <-headers; sent.Get("Authorization") != "Bearer secret-7" || sent.Get("User-Agent") != "hookgate/v1" || sent.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("sent was %v", sent)
	}
	collector.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.send(ctx, nil); err == nil || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "secret-7") {
		t.Errorf("without a collector it ended with %v", err)
	}
}

func TestABatchIsCompressedWhereThatIsAskedFor(t *testing.T) {
	s, collector := before(t, Options{Gzip: true}, answering(http.StatusOK, nil))
	defer s.close()
	want := strings.Repeat("batch ", 1000)
	if err := s.send(t.Context(), []byte(want)); err != nil {
		t.Fatal(err)
	}
	sent := collector.told[0]
	plain, err := gzip.NewReader(bytes.NewReader(sent.body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(plain)
	if err != nil || string(got) != want || len(sent.body) >= len(want) {
		t.Errorf("%d bytes were sent: %d bytes, %v", len(sent.body), len(got), err)
	}
	if diff := cmp.Diff([]string{"gzip"}, sent.header["Content-Encoding"]); diff != "" {
		t.Errorf("Content-Encoding (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoCollectorIsRefused(t *testing.T) {
	for _, at := range []string{"", "collector:4318", "ftp://collector", "http://", "http://[::1"} {
		_, errTraces := NewTraces(t.Context(), Options{URL: at})
		_, errLogs := NewLogs(t.Context(), Options{URL: at})
		for _, err := range []error{errTraces, errLogs} {
			if err == nil || errors.Unwrap(err) != nil || !strings.Contains(err.Error(), "must begin with http:// or https://") {
				t.Errorf("%q: %v", at, err)
			}
		}
	}
}
