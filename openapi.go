// Package hookgate holds the OpenAPI description that the gateway serves and
// from which clients are generated.
package hookgate

import _ "embed"

// OpenAPI is the OpenAPI 3.1 description of the HTTP API, in YAML. It must not
// be modified.
//
//go:embed openapi.yaml
var OpenAPI []byte
