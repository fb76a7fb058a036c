package ask

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ran is what a run printed and its exit code.
type ran struct {
	Code           int
	Stdout, Stderr string
}

func run(t *testing.T, stdin io.Reader, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &Program{Name: "gateway ask", Stdin: stdin, Stdout: &stdout, Stderr: &stderr, Version: "v1.2.3"}
	code := p.Run(t.Context(), args)
	return ran{code, stdout.String(), stderr.String()}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (broken) Read([]byte) (int, error)  { return 0, errors.New("broken pipe") }
