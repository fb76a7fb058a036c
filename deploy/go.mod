module github.com/hookgate/hookgate/deploy

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/grafana/grafana-foundation-sdk/go v0.0.22
)

require go.yaml.in/yaml/v4 v4.0.0
