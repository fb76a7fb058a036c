package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// isProgram is the variable that makes the test binary run as the program.
const isProgram = "HOOKGATE_TEST_ASK"

func TestMain(m *testing.M) {
	if os.Getenv(isProgram) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

func TestTheProgramCallsItselfByItsName(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"-h"}, 2, "", "Usage of gateway-ask:\n"},
		{[]string{"ask", "--help"}, 2, "", "Usage of gateway-ask:\n"},
		{[]string{"--client", "nobody"}, 2, "", "gateway-ask: denied because --url is missing: use --url http://127.0.0.1:8080"},
		{nil, 0, `{"decision":"deny","reason":"gateway-ask could not get a decision: --url is missing: use --url http://127.0.0.1:8080`, "gateway-ask: denied because --url is missing: use --url http://127.0.0.1:8080"},
	} {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), self, tc.args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), isProgram+"=1"), &stdout, &stderr
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](cmd.Run()); ok {
			code = exit.ExitCode()
		}
		if code != tc.code || !strings.HasPrefix(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
			t.Errorf("%q: exit %d\n%s%s\nwant exit %d\n%s\n%s", tc.args, code, &stdout, &stderr, tc.code, tc.stdout, tc.stderr)
		}
		if tc.stdout == "" && stdout.Len() > 0 {
			t.Errorf("%q: it prints %s", tc.args, &stdout)
		}
	}
}
