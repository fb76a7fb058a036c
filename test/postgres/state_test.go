package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/state"
	"github.com/hookgate/hookgate/gateway/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens the state in a database until the test ends.
func open(t *testing.T, url string) *state.Postgres {
	t.Helper()
	p, err := state.NewPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestADatabaseKeepsThePorts(t *testing.T) {
	server := Start(t)
	statetest.Suite(t, func(t *testing.T) statetest.Store {
		t.Helper()
		return open(t, server.Database())
	})
}

func TestReplicasThatStartTogetherMakeTheTablesOnce(t *testing.T) {
	server := Start(t)
	url := server.Database()
	var all sync.WaitGroup
	for n := range 8 {
		p := open(t, url)
		all.Go(func() {
			if _, err := p.Create(t.Context(), statetest.Question(fmt.Sprint(n)), time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	found, err := open(t, url).List(t.Context(), approval.Filter{Limit: 100})
	if err != nil || len(found) != 8 {
		t.Errorf("%d are there: %v", len(found), err)
	}
}

func TestTablesOfALaterVersionAreLeftAlone(t *testing.T) {
	server := Start(t)
	url := server.Database()
	if err := open(t, url).Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(url, `INSERT INTO hookgate_migrations VALUES (99, now())`)
	err := open(t, url).Tidy(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the tables of the database are of version 99 and this program knows up to 1") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPasswordIsNotInAnError(t *testing.T) {
	_, err := state.NewPostgres("postgres://u:CANARY@127.0.0.1:1/x?sslmode=nonsense")
	if err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("the error of a bad URL is %v", err)
	}
	_, err = open(t, "postgres://u:CANARY@127.0.0.1:1/x?sslmode=disable").Get(t.Context(), "1")
	if err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("the error of nobody there is %v", err)
	}
}

func TestWhatWasAcknowledgedOutlastsTheServerAndOperationsGoOnWithItsReturn(t *testing.T) {
	server := Start(t)
	p := open(t, server.Database())
	if _, err := p.Create(t.Context(), statetest.Question("1"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, won, err := p.Settle(t.Context(), "1", approval.Denied, approval.Settlement{By: "ann"}); err != nil || !won {
		t.Fatal(won, err)
	}
	if err := p.Append(t.Context(), []audit.Record{{Body: []byte(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := p.Get(ctx, "1"); err == nil || ctx.Err() != nil {
		t.Errorf("while the server is gone: %v", err)
	}
	server.Run()
	if a, err := p.Get(t.Context(), "1"); err != nil || a.State != approval.Denied || a.By != "ann" {
		t.Errorf("after it is back: %+v: %v", a, err)
	}
	if records, err := p.Read(t.Context(), 0, 10); err != nil || len(records) != 1 {
		t.Errorf("after it is back: %d records: %v", len(records), err)
	}
}

func TestAWatcherHearsAgainAfterTheServerReturned(t *testing.T) {
	server := Start(t)
	url := server.Database()
	p := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 1024), make(chan struct{})
	go func() {
		defer close(ended)
		p.Watch(ctx, func(id string) { heard <- id })
	}()
	wait := func(want string) {
		t.Helper()
		for deadline := time.After(30 * time.Second); ; {
			select {
			case got := <-heard:
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("never told of %q", want)
			}
		}
	}
	wait("") // it listens
	server.Stop()
	server.Run()
	wait("") // again
	if _, err := p.Create(t.Context(), statetest.Question("2"), time.Hour); err != nil {
		t.Fatal(err)
	}
	wait("2")
	cancel()
	<-ended
}

func TestAnOperationOnAServerThatHangsEndsWithItsContext(t *testing.T) {
	server := Start(t)
	p := open(t, server.Database())
	if err := p.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Signal(syscall.SIGSTOP)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := p.Get(ctx, "1")
	took := time.Since(began)
	server.Signal(syscall.SIGCONT)
	if err == nil || errors.Is(err, approval.ErrUnknown) || took > 5*time.Second {
		t.Errorf("it ended after %v: %v", took, err)
	}
	if _, err := p.List(t.Context(), approval.Filter{Limit: 1}); err != nil {
		t.Errorf("after the server goes on: %v", err)
	}
}
