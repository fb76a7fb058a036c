package deploy

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Namespace and Release are those for which the chart is rendered.
const (
	Namespace = "gates"
	Release   = "hookgate"
)

// Option is one values file with its rendering.
type Option struct {
	Name, Values, Rendered string
	// Outside lists the objects that the values declare as existing outside the
	// chart, as Kind/name.
	Outside []string
}

// Load reads the chart in a clone of the repository.
func Load(clone string) (*chart.Chart, error) {
	return loader.Load(filepath.Join(clone, "deploy/helm/hookgate"))
}

// Render renders a chart with values. A template that refers to a missing value
// is an error.
func Render(ctx context.Context, c *chart.Chart, values string) (string, error) {
	var given map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		return "", err
	}
	all, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: Release, Namespace: Namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(ctx, c, all)
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

// Options returns all values files in a clone with their renderings.
func Options(ctx context.Context, clone string) ([]Option, error) {
	c, err := Load(clone)
	if err != nil {
		return nil, err
	}
	pattern := filepath.Join(clone, "deploy/helm/testdata/values/*.yaml")
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no values in %s: %w", pattern, err)
	}
	var all []Option
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		o := Option{Name: strings.TrimSuffix(filepath.Base(path), ".yaml"), Values: string(text)}
		first, _, _ := strings.Cut(o.Values, "\n")
		if names, ok := strings.CutPrefix(first, "# outside: "); ok {
			o.Outside = strings.Split(names, ", ")
		}
		if o.Rendered, err = Render(ctx, c, o.Values); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// Documents splits a rendering into the texts of its objects.
func Documents(rendered string) []string {
	var all []string
	for d := range strings.SplitSeq("\n"+rendered, "\n---\n") {
		if strings.TrimSpace(d) != "" {
			all = append(all, d)
		}
	}
	return all
}
