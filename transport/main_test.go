package transport

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests or, if the first argument says so, one of the
// programs that the tests need: the test binary is its own hook.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hookWord {
		newPerformer().run(os.Args[2:])
		exit(0)
	}
	goleak.VerifyTestMain(m)
}
