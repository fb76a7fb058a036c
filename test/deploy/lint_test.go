package deploy

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"sigs.k8s.io/yaml"
)

// What helm lint says to every option. Its word alone is not enough: it lets a
// misspelt value pass.
func TestHelmLintHasNothingToSay(t *testing.T) {
	for _, o := range options(t) {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(o.Values), &values); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(chartDir, values, Namespace).Messages {
			if m.Severity > support.InfoSev { // that there is no icon
				t.Errorf("%s: %s", o.Name, m)
			}
		}
	}
}
