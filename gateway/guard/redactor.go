package guard

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hookgate/hookgate/gateway/guard/internal/secret"
)

var errInName = errors.New("the name of a member holds a credential")

// Redactor removes credentials from JSON values by the rules of the secrets
// guard, for code that records such values.
type Redactor struct{ finder *secret.Finder }

// NewRedactor returns a redactor for all kinds of credentials.
func NewRedactor() *Redactor { return &Redactor{finder: secret.NewFinder(nil)} }

// Redact returns the value with its credentials redacted. It returns an error if
// that is impossible, because a credential is in the name of a member or because
// ctx ended.
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
