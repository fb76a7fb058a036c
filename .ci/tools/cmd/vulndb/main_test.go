package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func reports(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	two = `{"id":"GO-2022-0002","modified":"2022-02-02T00:00:00Z","aliases":["CVE-2"],"affected":[
		{"package":{"name":"example.test/b"},"ranges":[]},{"package":{"name":"example.test/b"}},{"package":{"name":"example.test/a"}}]}`
	one = `{"id":"GO-2021-0001","modified":"2021-01-01T00:00:00Z","affected":[{"package":{"name":"example.test/b"}}]}`
)

func TestTheLayoutIsTheOneThatReadersKnow(t *testing.T) {
	from := reports(t, map[string]string{"GO-2022-0002.json": two, "GO-2021-0001.json": one, "README.json": "not a report"})
	to := filepath.Join(t.TempDir(), "db")
	n, err := layOut(from, to, time.Date(2026, 11, 5, 1, 2, 3, 0, time.UTC), 2)
	if err != nil || n != 2 {
		t.Fatalf("layOut = %d, %v", n, err)
	}
	want := map[string]string{
		"ID/GO-2021-0001.json": one,
		"ID/GO-2022-0002.json": two,
		"index/db.json":        `{"modified":"2026-11-05T01:02:03Z"}`,
		"index/modules.json": `[{"path":"example.test/a","vulns":[{"id":"GO-2022-0002","modified":"2022-02-02T00:00:00Z"}]},` +
			`{"path":"example.test/b","vulns":[{"id":"GO-2021-0001","modified":"2021-01-01T00:00:00Z"},{"id":"GO-2022-0002","modified":"2022-02-02T00:00:00Z"}]}]`,
		"index/vulns.json": `[{"id":"GO-2021-0001","modified":"2021-01-01T00:00:00Z"},` +
			`{"id":"GO-2022-0002","modified":"2022-02-02T00:00:00Z","aliases":["CVE-2"]}]`,
	}
	got := map[string]string{}
	for name := range want {
		text, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("database (-want +got):\n%s", diff)
	}
}

func TestReportsThatCannotBeTrustedMakeNoDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		atLeast int
		want    string
	}{
		"too few":           {map[string]string{"GO-2021-0001.json": one}, 2, "which is fewer than 2"},
		"not JSON":          {map[string]string{"GO-2021-0001.json": "<html>"}, 1, "invalid character"},
		"under another id":  {map[string]string{"GO-2021-0009.json": one}, 1, `its id is "GO-2021-0001"`},
		"nothing was found": {nil, 1, "holds 0 reports"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := layOut(reports(t, c.files), filepath.Join(t.TempDir(), "db"), time.Time{}, c.atLeast)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestADatabaseIsNeverMixedWithAnOlderOne(t *testing.T) {
	_, err := layOut(reports(t, map[string]string{"GO-2021-0001.json": one}), t.TempDir(), time.Time{}, 1)
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("error is %v", err)
	}
}
