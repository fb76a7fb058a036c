package transport

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or, where its first argument says so, what the
// tests need a program for: this binary is its own hooks.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hookWord {
		newPerformer().run(os.Args[2:])
		exit(0)
	}
	goleak.VerifyTestMain(m)
}
