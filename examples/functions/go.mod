module github.com/hookgate/hookgate/examples/functions

go 1.26.0

require (
	github.com/aws/aws-lambda-go v1.55.1
	github.com/hookgate/hookgate v0.0.0
)

require github.com/go-json-experiment/json v1.27.2 // indirect

// In a repository of your own, this line goes, and go get takes a release.
replace github.com/hookgate/hookgate => ../..
