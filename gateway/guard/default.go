package guard

import _ "embed" // for the file below

//go:embed default.yaml
var defaultChain string

// DefaultChain returns the text of the hooks file that is used if the operator
// configures none.
func DefaultChain() []byte { return []byte(defaultChain) }
