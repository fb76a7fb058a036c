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

// Dashboard is one dashboard with everything it asks.
type Dashboard struct {
	Title     string
	Variables []Variable
	Questions []Question
}

// Variable is a list of values that a person chooses from, as it is asked for.
type Variable struct {
	Name, Query string
	// All is what stands for every value at once.
	All string
}

// Question is one query of one panel.
type Question struct {
	Panel, Expr string
	// Instant is asked for one moment, all others for a range.
	Instant bool
}

// Read reads a dashboard and returns every fault that can be found without a
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
	// The library returns an empty list of errors where there is none, which is
	// why its strict reading also leaves panels out: it is for the errors alone.
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

// reader collects what is found.
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

// asks says where something is asked that nobody chose.
func (r *reader) asks(who string, source *common.DataSourceRef) {
	if source == nil || !strings.HasPrefix(deref(source.Uid), "$") || !r.source {
		r.fault("%s does not ask the data source of a variable", who)
	}
}

// expression says what is wrong with a query.
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

// ranges finds what a query looks back over.
func ranges() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]`) }

// quoted finds the values of labels, which are no part of the language.
func quoted() *regexp.Regexp { return regexp.MustCompile(`"(\\.|[^"\\])*"`) }

// references finds variables.
func references() *regexp.Regexp { return regexp.MustCompile(`\$\{?(\w+)\}?`) }

// mentions are the variables that a query names.
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
