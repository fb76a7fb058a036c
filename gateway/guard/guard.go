package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// Guard is an in-process participant. It has the methods of
// transport.Interceptor; one that checks results also has Review.
type Guard interface {
	// Name is the name in reasons.
	Name() string
	// Intercept is called before the tool runs.
	Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error)
}

// Options select and configure a guard.
type Options struct {
	// Use is one of [Names].
	Use string
	// Name is the name in reasons; empty means Use.
	Name string
	// With holds the guard's options, each as JSON text.
	With map[string]json.RawMessage
}

// kind is one kind of guard.
type kind struct {
	description Description
	build       func(name string, o *options) Guard
}

// kinds returns all guards, in the order of the documentation.
func kinds() []kind {
	return []kind{
		{describeDestructive(), newDestructive},
		{describeNoForcePush(), newNoForcePush},
		{describeProtectedPaths(), newProtectedPaths},
		{describeSecrets(), newSecrets},
	}
}

// Names returns the names of all guards.
func Names() []string {
	all := kinds()
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.description.Use
	}
	return names
}

// New returns a guard, or all mistakes in its options.
func New(o Options) (Guard, error) {
	for _, k := range kinds() {
		if k.description.Use != o.Use {
			continue
		}
		name := o.Name
		if name == "" {
			name = o.Use
		}
		given := &options{given: o.With}
		given.checkNames(k.description.Options)
		g := k.build(name, given)
		if err := given.err(); err != nil {
			return nil, fmt.Errorf("guard %q: %w", o.Use, err)
		}
		return g, nil
	}
	return nil, fmt.Errorf("unknown guard %q: known are %s", o.Use, strings.Join(Names(), ", "))
}
