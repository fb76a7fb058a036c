package guard

import _ "embed" // for the file below

//go:embed default.yaml
var defaultChain string

// DefaultChain is the text of the hooks file that stands in for the operator's
// where there is none.
func DefaultChain() []byte { return []byte(defaultChain) }
