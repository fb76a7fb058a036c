package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Where everything lies.
const (
	chartDir  = "../../deploy/helm/hookgate"
	valuesDir = "../../deploy/helm/testdata/values"
	goldenDir = "../../deploy/helm/testdata/golden"
	kustomize = "../../deploy/kustomize"
)

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render renders the chart with values. A template that names a value that is
// not there is an error.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	return renderChart(t, load(t), values)
}

func renderChart(t *testing.T, c *chart.Chart, values string) (string, error) {
	t.Helper()
	var given map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		return "", err
	}
	all, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: "hookgate", Namespace: "gates", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(t.Context(), c, all)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(files[name]) != "" {
			out.WriteString("---\n" + strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(files[name]), "---")) + "\n")
		}
	}
	return out.String(), nil
}

// option is one file of values with what it renders to.
type option struct {
	name, rendered string
	// outside are the objects that the values say exist without the chart.
	outside []string
}

// options are all of them, rendered.
func options(t *testing.T) []option {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(valuesDir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no values in %s: %v", valuesDir, err)
	}
	var all []option
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		o := option{name: strings.TrimSuffix(filepath.Base(path), ".yaml")}
		first, _, _ := strings.Cut(string(text), "\n")
		if names, ok := strings.CutPrefix(first, "# outside: "); ok {
			o.outside = strings.Split(names, ", ")
		}
		if o.rendered, err = render(t, string(text)); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		all = append(all, o)
	}
	return all
}

// documents are the objects of a rendering, as text.
func documents(rendered string) []string {
	var all []string
	for d := range strings.SplitSeq("\n"+rendered, "\n---\n") {
		if strings.TrimSpace(d) != "" {
			all = append(all, d)
		}
	}
	return all
}
