package gateway

import (
	"log/slog"
	"sync"

	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/state"
)

// kept is what keeps the gateway's state.
type kept interface {
	approval.Store
	audit.Store
	Close() error
}

// keeper opens the gateway's state when something first needs it. What needs it
// shares it: a file can be opened once.
type keeper struct {
	dir, databaseURL string
	log              *slog.Logger

	mu   sync.Mutex
	open kept // nil until it is opened
}

// configured reports whether there is a place for state.
func (k *keeper) configured() bool { return k.dir != "" || k.databaseURL != "" }

// get returns the state, opened.
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
		return nil, err
	}
	k.open = b
	return b, nil
}

// close lets go of the state. Nobody may use it any more.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		return
	}
	if err := k.open.Close(); err != nil {
		k.log.Error("the state could not be closed", slog.Any("error", err))
	}
	k.open = nil
}
