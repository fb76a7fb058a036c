// Package hookgate carries the API description that the gateway serves and
// that clients are generated from.
package hookgate

import _ "embed"

// OpenAPI is the description of the HTTP API, OpenAPI 3.1 in YAML. It must not
// be changed.
//
//go:embed openapi.yaml
var OpenAPI []byte
