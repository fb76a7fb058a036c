package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/state"
	"github.com/hookgate/hookgate/gateway/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens the state in a database; it is closed at the end of the test.
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
	t.Parallel()
	server := Start(t)
	statetest.Suite(t, func(t *testing.T) statetest.Store {
		t.Helper()
		return open(t, server.Database())
	})
}

func TestReplicasThatStartTogetherMakeTheTablesOnce(t *testing.T) {
	t.Parallel()
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

// latest returns the version of the tables that this program creates.
func latest(t *testing.T) string {
	t.Helper()
	steps, err := filepath.Glob("../../gateway/state/migrations/*.sql")
	if err != nil || len(steps) == 0 {
		t.Fatalf("there are no migrations: %v", err)
	}
	return strconv.Itoa(len(steps))
}

func TestTablesOfALaterVersionAreLeftAlone(t *testing.T) {
	t.Parallel()
	server := Start(t)
	url := server.Database()
	if err := open(t, url).Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(url, `INSERT INTO hookgate_migrations VALUES (99, now())`)
	err := open(t, url).Tidy(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the database tables have version 99, but this program supports versions up to "+latest(t)) {
		t.Errorf("the error is %v", err)
	}
}

// tablesOfVersion1 creates the tables of version 1.
func tablesOfVersion1(t *testing.T, server *Server, url string) {
	t.Helper()
	first, err := os.ReadFile("../../gateway/state/migrations/1.sql")
	if err != nil {
		t.Fatal(err)
	}
	server.Exec(url, string(first))
	server.Exec(url, `CREATE TABLE hookgate_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL)`)
	server.Exec(url, `INSERT INTO hookgate_migrations VALUES (1, now())`)
}

func TestWhatWaitsInTablesOfAnEarlierVersionWaitsOn(t *testing.T) {
	t.Parallel()
	server := Start(t)
	url := server.Database()
	tablesOfVersion1(t, server, url)
	const ask = `INSERT INTO hookgate_approvals (id, chain, asker, decision_id, envelope, digest, tool, agent, state, created_at, expires_at)
		VALUES ('%s', 'operator', 'person', '', '{}', 'd', '', '', 'pending', now(), now() + interval '1 hour')`
	server.Exec(url, fmt.Sprintf(ask, "before"))
	p := open(t, url)
	if err := p.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Exec(url, fmt.Sprintf(ask, "by a gateway that is not replaced yet"))
	found, err := p.List(t.Context(), approval.Filter{State: approval.Pending, Limit: 10})
	if err != nil || len(found) != 2 || found[0].Deserted || found[1].Deserted {
		t.Errorf("what waits is %+v: %v", found, err)
	}
}

func TestP9_WhatNobodyAttendsIsDesertedUntilSomebodyDoes(t *testing.T) {
	t.Parallel()
	server := Start(t)
	url := server.Database()
	p := open(t, url)
	for _, id := range []string{"1", "2", "3"} {
		if _, err := p.Create(t.Context(), statetest.Question(id), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.Settle(t.Context(), "3", approval.Denied, approval.Settlement{}); err != nil {
		t.Fatal(err)
	}
	deserted := func() (all []string) {
		t.Helper()
		found, err := p.List(t.Context(), approval.Filter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range found {
			one, err := p.Get(t.Context(), a.ID)
			if err != nil || one.Deserted != a.Deserted {
				t.Errorf("as listed and as read: %+v, %+v: %v", a, one, err)
			}
			if a.Deserted {
				all = append(all, a.ID)
			}
		}
		return all
	}
	if got := deserted(); len(got) != 0 {
		t.Errorf("at first %q are", got)
	}
	server.Exec(url, `UPDATE hookgate_approvals SET attended_until = now()`)
	if diff := cmp.Diff([]string{"2", "1"}, deserted()); diff != "" {
		t.Errorf("of what nobody attends (-want +got):\n%s", diff)
	}
	if err := p.Attend(t.Context(), []string{"2", "3"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1"}, deserted()); diff != "" {
		t.Errorf("after one is attended (-want +got):\n%s", diff)
	}
}

func TestAPasswordIsNotInAnError(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// silenced returns the URL of a database through a proxy that stops forwarding in
// both directions once a client has sent the given text. told is closed then.
func silenced(t *testing.T, target, text string) (through string, told <-chan struct{}) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, silent := u.Host, make(chan struct{})
	silence := sync.OnceFunc(func() { close(silent) })
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
			if err != nil {
				_ = client.Close() // the test fails by it
				return
			}
			// Both stay open until the test ends, like the connections of a
			// frozen replica.
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			pass := func(to, from net.Conn, watch bool) {
				buffer := make([]byte, 64<<10)
				for {
					n, err := from.Read(buffer)
					if watch && bytes.Contains(buffer[:n], []byte(text)) {
						silence()
					}
					select {
					case <-silent:
						return
					default:
					}
					if _, errTo := to.Write(buffer[:n]); err != nil || errTo != nil {
						return
					}
				}
			}
			all.Go(func() { pass(server, client, true) })
			all.Go(func() { pass(client, server, false) })
		}
	})
	t.Cleanup(all.Wait)
	t.Cleanup(func() { _ = l.Close() }) // there are no more connections
	u.Host = l.Addr().String()
	return u.String(), silent
}

func TestAReplicaThatFallsSilentWhileItRecordsHoldsUpTheOthersForAMomentOnly(t *testing.T) {
	t.Parallel()
	server := Start(t)
	target := server.Database()
	other := open(t, target)
	record := []audit.Record{{Time: time.Now(), Body: []byte(`{}`)}}
	if err := other.Append(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	through, told := silenced(t, target, "INSERT INTO hookgate_audit")
	frozen, err := state.NewPostgres(through)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Close() }() // a hanging connection cannot be closed cleanly
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- frozen.Append(ctx, record) }()
	<-told // the replica holds the lock
	waiting, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := other.Append(waiting, record); err != nil {
		t.Errorf("another replica: %v", err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the one that was silent has recorded")
	}
	if records, err := other.Read(t.Context(), 0, 10); err != nil || len(records) != 2 {
		t.Errorf("%d records are there: %v", len(records), err)
	}
}
