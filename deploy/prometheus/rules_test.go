package prometheus

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// runbook is the page that every alert links to.
const runbook = "../../docs/runbook.md"

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// alerts returns the alerting rules by name.
func alerts(t *testing.T) map[string]rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	read(t, "rules.yaml", &file)
	all := map[string]rule{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				all[r.Alert] = r
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func names(t *testing.T) []string {
	t.Helper()
	var names []string
	for name := range alerts(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestEveryAlertSaysHowBadItIsAndLeadsToItsEntryInTheRunbook(t *testing.T) {
	for name, r := range alerts(t) {
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q", name, s)
		}
		for _, annotation := range []string{"summary", "description"} {
			if r.Annotations[annotation] == "" {
				t.Errorf("%s has no %s", name, annotation)
			}
		}
		want := "https://github.com/hookgate/hookgate/blob/main/docs/runbook.md#" + strings.ToLower(name)
		if got := r.Annotations["runbook_url"]; got != want {
			t.Errorf("%s leads to %s, want %s", name, got, want)
		}
	}
}

func TestTheRunbookHasAnEntryForEachAlertAndNoOther(t *testing.T) {
	text, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, part := range strings.Split("\n"+string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		entries[title] = body
	}
	var titles []string
	for title, body := range entries {
		titles = append(titles, title)
		for _, says := range []string{"**Means**", "**Look**", "**Do**"} {
			if !strings.Contains(body, says) {
				t.Errorf("the entry of %s does not have %s", title, says)
			}
		}
	}
	slices.Sort(titles)
	if diff := cmp.Diff(names(t), titles); diff != "" {
		t.Errorf("alerts and entries (-alerts +entries):\n%s", diff)
	}
}

func TestEveryAlertIsTestedFiringAndNotFiring(t *testing.T) {
	var file struct {
		Tests []struct {
			Cases []struct {
				Alertname string
				Exp       []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	read(t, "rules_test.yaml", &file)
	fires, keepsStill := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			if len(c.Exp) > 0 {
				fires[c.Alertname] = true
			} else {
				keepsStill[c.Alertname] = true
			}
		}
	}
	for _, name := range names(t) {
		if !fires[name] || !keepsStill[name] {
			t.Errorf("%s is tested firing: %v, not firing: %v", name, fires[name], keepsStill[name])
		}
	}
}

// ours matches the gateway's metrics in a text.
func ours() *regexp.Regexp { return regexp.MustCompile(`\bhookgate_[a-z0-9_]+`) }

func TestEveryMetricOfARuleIsInTheDocumentation(t *testing.T) {
	documented, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ours().FindAllString(string(rules), -1) {
		if !regexp.MustCompile(`\b` + strings.TrimSuffix(name, "_bucket") + `\b`).Match(documented) {
			t.Errorf("%s is in a rule, and not in docs/operating.md", name)
		}
	}
}
