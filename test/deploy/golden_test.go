package deploy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var update = flag.Bool("update", false, "write the renderings")

// golden compares a rendering with the committed one.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-committed +rendered): go test . -update writes it anew\n%s", path, diff)
	}
}

// short drops the dashboards, which K9 compares.
func short(rendered string) string {
	var out strings.Builder
	for line := range strings.Lines(rendered) {
		if len(line) > 4000 {
			key, _, _ := strings.Cut(line, ":")
			line = fmt.Sprintf("%s: (left out of this rendering)\n", key)
		}
		out.WriteString(line)
	}
	return out.String()
}

func TestK1_EveryOptionRendersAsItDid(t *testing.T) {
	all := options(t)
	for _, o := range all {
		golden(t, filepath.Join(goldenDir, o.Name+".yaml"), short(o.Rendered))
	}
	found, err := filepath.Glob(filepath.Join(goldenDir, "*.yaml"))
	if err != nil || len(found) != len(all) {
		t.Errorf("there are %d renderings of %d options (%v): remove what is no longer one", len(found), len(all), err)
	}
}

func TestK8_TheKustomizeBaseIsARenderingOfTheChart(t *testing.T) {
	values, err := os.ReadFile(filepath.Join(kustomize, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := Render(t.Context(), load(t), string(values))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(kustomize, "base", "hookgate.yaml"), "# Rendered from deploy/helm/hookgate. Do not edit.\n"+rendered)

	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(kustomize, "base"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := built.Size(), len(Documents(rendered)); got != want {
		t.Errorf("kustomize builds %d objects of %d", got, want)
	}
}

func TestK9_WhatTheChartCarriesIsTheSameElsewhere(t *testing.T) {
	for carried, source := range map[string]string{
		"rules.yaml": clone + "/deploy/prometheus/rules.yaml", "overview.json": clone + "/deploy/grafana/overview.json",
		"hooks.json": clone + "/deploy/grafana/hooks.json", "rollout.json": clone + "/deploy/grafana/rollout.json",
	} {
		want, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join(chartDir, "files", carried), string(want))
	}
}
