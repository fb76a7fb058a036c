package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// Guard is a participant in this process. It has the methods that package
// transport asks an interceptor for; one that looks at results has Review too.
type Guard interface {
	// Name is what reasons call it.
	Name() string
	// Intercept is asked before the tool runs.
	Intercept(ctx context.Context, req *chain.Request) (chain.Outcome, error)
}

// Options say which guard is wanted.
type Options struct {
	// Use is one of [Names].
	Use string
	// Name is what reasons call it; empty means Use.
	Name string
	// With are the guard's options, each as JSON text.
	With map[string]json.RawMessage
}

// kind is one of the guards that there are.
type kind struct {
	description Description
	build       func(name string, o *options) Guard
}

// kinds are all guards, in the order of the documentation.
func kinds() []kind {
	return []kind{
		{describeDestructive(), newDestructive},
		{describeNoForcePush(), newNoForcePush},
		{describeProtectedPaths(), newProtectedPaths},
		{describeSecrets(), newSecrets},
	}
}

// Names are the guards that can be used.
func Names() []string {
	all := kinds()
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.description.Use
	}
	return names
}

// New returns a guard, or every reason why there is none of those options.
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
	return nil, fmt.Errorf("guard %q is unknown; there are %s", o.Use, strings.Join(Names(), ", "))
}
