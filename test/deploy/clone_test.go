package deploy

import (
	"testing"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Locations in the repository.
const (
	clone     = "../.."
	chartDir  = clone + "/deploy/helm/hookgate"
	goldenDir = clone + "/deploy/helm/testdata/golden"
	kustomize = clone + "/deploy/kustomize"
)

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := Load(clone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func options(t *testing.T) []Option {
	t.Helper()
	all, err := Options(t.Context(), clone)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
