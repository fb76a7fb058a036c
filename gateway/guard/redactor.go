package guard

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hookgate/hookgate/gateway/guard/internal/secret"
)

var errInName = errors.New("the name of a member holds a credential")

// Redactor takes credentials out of JSON values by the rules of the guard that
// takes them out of results, for whoever writes such values down.
type Redactor struct{ finder *secret.Finder }

// NewRedactor returns a redactor of every kind of credential.
func NewRedactor() *Redactor { return &Redactor{finder: secret.NewFinder(nil)} }

// Redact returns the value without its credentials. A value that cannot be made
// free of them, because one stands in the name of a member or because ctx ended,
// is an error.
func (r *Redactor) Redact(ctx context.Context, value json.RawMessage) (json.RawMessage, error) {
	found, err := r.finder.Redact(ctx, value)
	switch {
	case err != nil:
		return nil, err
	case found.InName:
		return nil, errInName
	case found.JSON != nil:
		return found.JSON, nil
	}
	return value, nil
}
