package dashboards

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	tables "github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Files returns every dashboard, by file name.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, s := range map[string]sheet{"overview.json": overview(), "hooks.json": hooks(), "rollout.json": rollout()} {
		built, err := s.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text, err := json.MarshalIndent(built, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = append(text, '\n')
	}
	return files, nil
}

// build returns the dashboard in Grafana's schema.
func (s *sheet) build() (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder(s.title).
		Uid(s.uid).Description(s.about).Tags([]string{"hookgate"}).
		Time("now-1h", "now").Refresh("30s").Timezone("browser").Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("hookgate").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{"hookgate"}).AsDropdown(true).KeepTime(true).IncludeVars(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	for _, v := range s.variables {
		b.WithVariable(v.build())
	}
	for _, r := range s.rows {
		b.WithRow(dashboard.NewRowBuilder(r.title))
		for i := range r.panels {
			p, err := r.panels[i].build()
			if err != nil {
				return dashboard.Dashboard{}, err
			}
			b.WithPanel(p)
		}
	}
	return b.Build()
}

func (v variable) build() cog.Builder[dashboard.VariableModel] {
	question := fmt.Sprintf("label_values(%s, %s)", v.metric, v.name)
	return dashboard.NewQueryVariableBuilder(v.name).Label(v.label).
		Datasource(source()).Query(dashboard.StringOrMap{String: &question}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".+").
		Current(dashboard.VariableOption{
			Text: dashboard.StringOrArrayOfString{String: new("All")}, Value: dashboard.StringOrArrayOfString{String: new("$__all")},
		})
}

// source returns the data source that the user chose in the dashboard (D2).
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("$datasource")}
}

// picture is the part of a panel builder that all kinds of panels share.
type picture[B any] interface {
	cog.Builder[dashboard.Panel]
	Title(title string) B
	Description(description string) B
	Datasource(datasource common.DataSourceRef) B
	Unit(unit string) B
	Span(w uint32) B
	Height(h uint32) B
	Min(min float64) B
	NoValue(noValue string) B
	Targets(targets []cog.Builder[variants.Dataquery]) B
	Thresholds(thresholds cog.Builder[dashboard.ThresholdsConfig]) B
	ColorScheme(color cog.Builder[dashboard.FieldColor]) B
	Mappings(mappings []dashboard.ValueMapping) B
}

// build returns the panel in Grafana's schema.
func (p *panel) build() (cog.Builder[dashboard.Panel], error) {
	switch p.kind {
	case number:
		b := stat.NewPanelBuilder().ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
			GraphMode(common.BigValueGraphModeArea)
		return told(p, b, 5), nil
	case lines, stack:
		b := timeseries.NewPanelBuilder().LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
			Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).
				Placement(common.LegendPlacementBottom).ShowLegend(true).Calcs([]string{"lastNotNull", "max"})).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
		if p.kind == stack {
			b.FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
		}
		if p.bad > 0 {
			b.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
		}
		return told(p, b, 8), nil
	case timeline:
		return told(p, statetimeline.NewPanelBuilder().ShowValue(common.VisibilityModeAuto).MergeValues(true), 8), nil
	case table:
		hidden := map[string]bool{"Time": true, "Value": true}
		for _, column := range p.hidden {
			hidden[column] = true
		}
		b := tables.NewPanelBuilder().Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).WithTransformation(dashboard.DataTransformerConfig{
			Id: "organize", Options: map[string]any{"excludeByName": hidden},
		})
		return told(p, b, 8), nil
	}
	return nil, fmt.Errorf("panel %q is of no kind", p.title)
}

// told sets the properties that all kinds of panels share.
func told[B picture[B]](p *panel, b B, height uint32) B {
	b.Title(p.title).Description(p.does).Datasource(source()).Unit(p.unit).Span(p.width).Height(height).
		Targets(p.targets()).Min(0).NoValue("none")
	switch {
	case p.bad > 0:
		b.Thresholds(p.thresholds())
		if p.kind == number {
			b.ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds))
		}
	case p.kind == number:
		// Without warn and bad there is no good or bad value, but Grafana's
		// default is red from 80 on.
		b.Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
			Steps([]dashboard.Threshold{{Color: "blue"}}))
	}
	if len(p.words) > 0 {
		b.Mappings(p.mappings())
	}
	return b
}

func (p *panel) targets() []cog.Builder[variants.Dataquery] {
	all := make([]cog.Builder[variants.Dataquery], 0, len(p.queries))
	for i, q := range p.queries {
		b := prometheus.NewDataqueryBuilder().Expr(q.expr).RefId(string(rune('A' + i))).Datasource(source()).
			EditorMode(prometheus.QueryEditorModeCode)
		if p.kind == table {
			all = append(all, b.Instant().Format(prometheus.PromQueryFormatTable))
			continue
		}
		if q.legend != "" {
			b.LegendFormat(q.legend)
		}
		all = append(all, b.Range())
	}
	return all
}

func (p *panel) thresholds() cog.Builder[dashboard.ThresholdsConfig] {
	steps := []dashboard.Threshold{{Color: "green"}}
	if p.warn > 0 {
		steps = append(steps, dashboard.Threshold{Value: &p.warn, Color: "yellow"})
	}
	steps = append(steps, dashboard.Threshold{Value: &p.bad, Color: "red"})
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

func (p *panel) mappings() []dashboard.ValueMapping {
	m := dashboard.NewValueMap()
	m.Options = map[string]dashboard.ValueMappingResult{}
	for i, value := range slices.Sorted(maps.Keys(p.words)) {
		w := p.words[value]
		m.Options[value] = dashboard.ValueMappingResult{Text: &w.text, Color: &w.color, Index: new(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: m}}
}
