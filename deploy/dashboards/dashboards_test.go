package dashboards_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/deploy/dashboards"
	"github.com/hookgate/hookgate/deploy/dashcheck"
)

// committed is the directory of the generated dashboards.
const committed = "../grafana"

var update = flag.Bool("update", false, "write the dashboards")

func TestD6_TheCommittedFilesAreWhatThisPackageMakes(t *testing.T) {
	files, err := dashboards.Files()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(committed, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what is made: run go run ./cmd/dashboards (-made +committed):\n%s", name, diff)
		}
	}
	found, err := filepath.Glob(filepath.Join(committed, "*.json"))
	if err != nil || len(found) != len(files) {
		t.Errorf("there are %v (%v), of which %d are made here", found, err, len(files))
	}
}

func TestD1ToD5_NothingIsWrongWithAnyDashboard(t *testing.T) {
	files, err := dashboards.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if _, err := dashcheck.Read(filepath.Join(committed, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestD4_NoQueryReadsBucketsAlone(t *testing.T) {
	files, err := dashboards.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		d, err := dashcheck.Read(filepath.Join(committed, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range d.Questions {
			if strings.Contains(q.Expr, "_seconds_count") || strings.Contains(q.Expr, "_seconds_sum") {
				t.Errorf("%s: panel %q reads a part of a histogram that a server with native histograms does not keep: %s", name, q.Panel, q.Expr)
			}
			if strings.Contains(q.Expr, "_bucket") && !strings.Contains(q.Expr, " or histogram_quantile(") {
				t.Errorf("%s: panel %q shows nothing where only native histograms are kept: %s", name, q.Panel, q.Expr)
			}
		}
	}
}
