package deploy

import (
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"sigs.k8s.io/yaml"
)

// helm lint accepts every option. It is not sufficient, because it ignores
// misspelled values.
func TestHelmLintHasNothingToSay(t *testing.T) {
	for _, o := range options(t) {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(o.Values), &values); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(chartDir, values, Namespace).Messages {
			if m.Severity > support.InfoSev { // such as the missing icon
				t.Errorf("%s: %s", o.Name, m)
			}
		}
	}
}
