package dashcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// Dashboard is a dashboard with all its queries.
type Dashboard struct {
	Title     string
	Variables []Variable
	Questions []Question
}

// Variable is a list of values from which the user chooses, with its query.
type Variable struct {
	Name, Query string
	// All is the value that selects all values.
	All string
}

// Question is one query of a panel.
type Question struct {
	Panel, Expr string
	// Instant marks an instant query; all others are range queries.
	Instant bool
}

// Read parses a dashboard and returns every mistake that can be found without a
// server.
func Read(path string) (*Dashboard, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func parse(text []byte) (*Dashboard, error) {
	var read dashboard.Dashboard
	// The library's strict parser returns an empty list of errors if there is
	// none, and therefore drops panels. So it is used only for its errors.
	plugins.RegisterDefaultPlugins()
	var list cog.BuildErrors
	if err := new(dashboard.Dashboard).UnmarshalJSONStrict(text); err != nil && (!errors.As(err, &list) || len(list) > 0) {
		return nil, err
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	r := reader{dashboard: &Dashboard{Title: deref(read.Title)}, names: map[string]bool{}}
	if r.dashboard.Title == "" {
		r.fault("the dashboard has no title")
	}
	for i := range read.Templating.List {
		r.variable(&read.Templating.List[i])
	}
	for i := range read.Panels {
		r.panelOrRow(&read.Panels[i])
	}
	if len(r.dashboard.Questions) == 0 {
		r.fault("no panel asks anything")
	}
	return r.dashboard, errors.Join(r.faults...)
}

// reader collects the queries and the mistakes.
type reader struct {
	dashboard *Dashboard
	names     map[string]bool // of variables
	source    bool            // there is a variable for the data source
	faults    []error
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

func (r *reader) variable(v *dashboard.VariableModel) {
	r.names[v.Name] = true
	if v.Type == dashboard.VariableTypeDatasource {
		r.source = true
		return
	}
	if v.Type != dashboard.VariableTypeQuery {
		r.fault("variable %q is of type %s, which is not checked", v.Name, v.Type)
		return
	}
	query := ""
	if v.Query != nil {
		query = deref(v.Query.String)
	}
	if query == "" {
		r.fault("variable %q asks nothing", v.Name)
	}
	r.asks("variable "+v.Name, v.Datasource)
	r.dashboard.Variables = append(r.dashboard.Variables, Variable{Name: v.Name, Query: query, All: deref(v.AllValue)})
}

func (r *reader) panelOrRow(p *dashboard.PanelOrRowPanel) {
	switch {
	case p.Panel != nil:
		r.panel(p.Panel)
	case p.RowPanel != nil:
		for i := range p.RowPanel.Panels {
			r.panel(&p.RowPanel.Panels[i])
		}
	}
}

func (r *reader) panel(p *dashboard.Panel) {
	title := deref(p.Title)
	if title == "" {
		title = fmt.Sprintf("number %d", deref(p.Id))
		r.fault("panel %s has no title", title)
	}
	if deref(p.Description) == "" {
		r.fault("panel %q has no description", title)
	}
	if p.FieldConfig == nil || deref(p.FieldConfig.Defaults.Unit) == "" {
		r.fault("panel %q has no unit", title)
	}
	r.asks(fmt.Sprintf("panel %q", title), p.Datasource)
	if len(p.Targets) == 0 {
		r.fault("panel %q asks nothing", title)
	}
	for _, target := range p.Targets {
		q, ok := target.(prometheus.Dataquery)
		if pointer, isPointer := target.(*prometheus.Dataquery); isPointer {
			q, ok = *pointer, true
		}
		if !ok {
			r.fault("panel %q asks something that is not a Prometheus query: %T", title, target)
			continue
		}
		r.asks(fmt.Sprintf("panel %q", title), q.Datasource)
		r.expression(title, q.Expr)
		r.dashboard.Questions = append(r.dashboard.Questions, Question{Panel: title, Expr: q.Expr, Instant: deref(q.Instant)})
	}
}

// asks reports a query to a data source that the user did not choose.
func (r *reader) asks(who string, source *common.DataSourceRef) {
	if source == nil || !strings.HasPrefix(deref(source.Uid), "$") || !r.source {
		r.fault("%s does not ask the data source of a variable", who)
	}
}

// expression reports the mistakes in a query.
func (r *reader) expression(panel, expr string) {
	if strings.TrimSpace(expr) == "" {
		r.fault("panel %q has an empty query", panel)
	}
	for _, found := range ranges().FindAllStringSubmatch(quoted().ReplaceAllString(expr, `""`), -1) {
		if found[1] != "$__rate_interval" && found[1] != "$__range" {
			r.fault("panel %q looks back over [%s], and not over [$__rate_interval]", panel, found[1])
		}
	}
	for _, name := range mentions(expr) {
		if !r.names[name] && !strings.HasPrefix(name, "__") {
			r.fault("panel %q names $%s, which is no variable of the dashboard", panel, name)
		}
	}
}

// ranges matches the range selectors of a query.
func ranges() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]`) }

// quoted matches quoted label values, in which the query language has no
// meaning.
func quoted() *regexp.Regexp { return regexp.MustCompile(`"(\\.|[^"\\])*"`) }

// references matches variables.
func references() *regexp.Regexp { return regexp.MustCompile(`\$\{?(\w+)\}?`) }

// mentions returns the variables in a query.
func mentions(expr string) []string {
	var names []string
	for _, found := range references().FindAllStringSubmatch(expr, -1) {
		names = append(names, found[1])
	}
	return names
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
