package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATokenIsMadeWithItsHash(t *testing.T) {
	first, second := commandLine(t, nil, "", "token"), commandLine(t, nil, "", "token")
	if !regexp.MustCompile(`^hookgate_[A-Za-z0-9_-]{43}\n$`).MatchString(first.stdout) || first.code != 0 || first.stdout == second.stdout {
		t.Errorf("made %+v and %+v", first, second)
	}
	hashed := commandLine(t, nil, first.stdout, "token", "--hash")
	if hashed.code != 0 || !strings.Contains(first.stderr, "      - sha256: "+hashed.stdout) {
		t.Errorf("its hash is %+v, and it was made with %s", hashed, first.stderr)
	}
	if strings.Contains(first.stderr, strings.TrimSpace(first.stdout)) {
		t.Error("the token is on stderr too")
	}
}

func TestWhatIsNoTokenIsNotHashed(t *testing.T) {
	want := ran{1, "", "gateway token: the token on stdin has 6 bytes: it needs at least 32 random bytes, because the hash of a shorter token can be reversed by guessing\n"}
	if diff := cmp.Diff(want, commandLine(t, nil, "secret\n", "token", "--hash"), cmp.AllowUnexported(ran{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	long := strings.Repeat("x", 40)
	for name, text := range map[string]string{
		"two lines": long + "\n" + long + "\n", "two words": long + " " + long, "a byte order mark": "\ufeff" + long,
		"not ASCII": long + "é", "bytes": long + "\xff\x00", "more than a header can carry": strings.Repeat("x", 64<<10+1),
	} {
		if got := commandLine(t, nil, text, "token", "--hash"); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "stdin does not contain one token") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, args := range [][]string{{"token", "x"}, {"token", "--nope"}} {
		if got := commandLine(t, nil, "", args...); got.code != 2 || got.stdout != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := commandLine(t, nil, "", "token", "-h"); got.code != 0 {
		t.Errorf("help: %+v", got)
	}
}
