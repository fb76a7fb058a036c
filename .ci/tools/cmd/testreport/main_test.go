package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func said(action, pkg, test, output string) string {
	return fmt.Sprintf("{%q:%q,%q:%q,%q:%q,%q:%q}\n", "Action", action, "Package", pkg, "Test", test, "Output", output)
}

func TestTheLastLineCountsWhatRan(t *testing.T) {
	passes := said("start", "p", "", "") + said("run", "p", "TestA", "") + said("output", "p", "TestA", "quiet\n") +
		said("pass", "p", "TestA", "") + said("output", "p", "", "PASS\n") + said("output", "p", "", "ok  \tp\t0.1s\n") + said("pass", "p", "", "")
	for name, c := range map[string]struct {
		stream  string
		want    string
		wantErr string
	}{
		"everything passes": {passes, "ok  \tp\t0.1s\n1 passed, 0 failed\n", ""},
		"a test fails": {
			passes + said("start", "q", "", "") + said("output", "q", "TestB", "why\n") + said("fail", "q", "TestB", "") +
				said("output", "q", "", "FAIL\tq\t0.1s\n") + said("fail", "q", "", ""),
			"ok  \tp\t0.1s\nwhy\nFAIL\tq\t0.1s\n1 passed, 1 failed\n", "tests failed",
		},
		"a package fails though no test of it did": {
			said("start", "p", "", "") + said("pass", "p", "TestA", "") + said("output", "p", "", "leaked\n") + said("fail", "p", "", ""),
			"leaked\n1 passed, 1 failed\n", "tests failed",
		},
		"a package is not built": {
			`{"ImportPath":"p","Action":"build-output","Output":"p.go:1: what?\n"}` + "\n" + `{"ImportPath":"p","Action":"build-fail"}` + "\n" +
				said("start", "p", "", "") + said("output", "p", "", "FAIL\tp [build failed]\n") + said("fail", "p", "", ""),
			"p.go:1: what?\nFAIL\tp [build failed]\n0 passed, 1 failed\n", "tests failed",
		},
		"a test is skipped": {passes + said("skip", "p", "TestC", ""), "ok  \tp\t0.1s\n1 passed, 0 failed, 1 skipped\n", ""},
		"no test ran":       {said("start", "p", "", "") + said("skip", "p", "", ""), "0 passed, 0 failed\n", "no test ran"},
		"nothing was said":  {"", "0 passed, 0 failed\n", "no test ran"},
		"the stream is cut": {passes + said("start", "q", "", ""), "ok  \tp\t0.1s\n1 passed, 0 failed\n", "ended before these did: q"},
		"it is no stream":   {"panic: x\n", "", "not a line of go test -json"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := newSummary(&out)
			err := s.read(strings.NewReader(c.stream))
			if err == nil {
				err = s.close()
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			switch {
			case c.wantErr == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.wantErr != "" && !strings.Contains(fmt.Sprint(err), c.wantErr):
				t.Errorf("error %v, want one that says %q", err, c.wantErr)
			}
		})
	}
}
