module github.com/hookgate/hookgate/bench

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/sys v0.48.0
)
