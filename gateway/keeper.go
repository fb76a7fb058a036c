package gateway

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/state"
)

// kept is the store behind the gateway's state.
type kept interface {
	approval.Store
	audit.Store
	Close() error
}

// keeper opens the gateway's state on first use. All users share the one store,
// because a state file can be opened only once.
type keeper struct {
	dir, databaseURL string
	log              *slog.Logger

	mu   sync.Mutex
	open kept // nil until opened
}

// configured reports whether a place for state is configured.
func (k *keeper) configured() bool { return k.dir != "" || k.databaseURL != "" }

// get returns the store, opening it first if necessary.
func (k *keeper) get() (kept, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open != nil {
		return k.open, nil
	}
	if k.databaseURL != "" {
		p, err := state.NewPostgres(k.databaseURL)
		if err != nil {
			return nil, err
		}
		k.open = p
		return p, nil
	}
	b, err := state.OpenBolt(state.BoltOptions{Dir: k.dir})
	if err != nil {
		return nil, fmt.Errorf("HOOKGATE_STATE_DIR: %w", err)
	}
	k.open = b
	return b, nil
}

// close closes the store. It must not be used afterwards.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		return
	}
	if err := k.open.Close(); err != nil {
		k.log.Error("the approvals store could not be closed cleanly", slog.Any("error", err))
	}
	k.open = nil
}
