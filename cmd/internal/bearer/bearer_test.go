package bearer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/cmd/internal/bearer"
)

func TestTheFilesOnlyTokenBecomesTheHeader(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3cr3t":                          "Bearer s3cr3t",
		"\n s3cr3t \r\n":                  "Bearer s3cr3t",
		strings.Repeat("a", 65535) + "\n": "Bearer " + strings.Repeat("a", 65535),
	} {
		if got, err := bearer.Authorization(fileWith(t, text)); got != want || err != nil {
			t.Errorf("of %.20q: %.40q, %v", text, got, err)
		}
	}
}

func TestB1_B2_AnythingElseIsAnErrorThatDoesNotQuoteIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            " is empty",
		" \n":                         " is empty",
		"s3cr3t two":                  " does not contain exactly one token: it has blanks or characters that no token has",
		"s3cr3t\nX-Other: 1":          " does not contain exactly one token: it has blanks or characters that no token has",
		"s3cr3té":                     " does not contain exactly one token: it has blanks or characters that no token has",
		strings.Repeat("s3cr3t", 2e4): " has more than 65536 bytes, so it does not contain a token",
	} {
		file := fileWith(t, text)
		if got, err := bearer.Authorization(file); got != "" || err == nil || err.Error() != file+want {
			t.Errorf("of %.20q: %.40q, %v", text, got, err)
		}
	}
	if got, err := bearer.Authorization(filepath.Join(t.TempDir(), "none")); got != "" || !os.IsNotExist(err) {
		t.Errorf("of no file: %q, %v", got, err)
	}
}

// A read that is not limited would never end here.
func TestAnEndlessFileIsRefused(t *testing.T) {
	t.Parallel()
	if got, err := bearer.Authorization("/dev/zero"); got != "" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
