package metrics

import (
	"math/bits"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// shape is a counter metric whose series form a table: one row for each
// combination of names from the configuration and, in every row, the same
// columns, one for each combination of values from closed sets. A row is a
// short array that is indexed by column, so that counting needs no label
// lookup.
type shape struct {
	desc      *prometheus.Desc
	rowLabels int        // how many labels have their value from the row
	columns   [][]string // values of the remaining labels
}

// newShape returns the metric with that name. It has at most 64 columns.
func newShape(name, help string, rowLabels, columnLabels []string, columns [][]string) *shape {
	labels := append(append([]string{}, rowLabels...), columnLabels...)
	return &shape{
		desc:      prometheus.NewDesc(namespace+name, help, labels, nil),
		rowLabels: len(rowLabels),
		columns:   columns,
	}
}

// names are the label values of a row. A shape with fewer labels leaves the
// last ones empty.
type names [3]string

// row is one row of a table in one configuration.
type row struct {
	// shown has a bit for every column that is exposed as a series.
	shown atomic.Uint64
	// counts are shared with the same row in other configurations.
	counts []atomic.Uint64
}

// inc increments a column. A column that the configuration ruled out is exposed
// from then on (M2). A nil row counts nothing.
func (r *row) inc(column int) {
	if r == nil {
		return
	}
	if bit := uint64(1) << column; r.shown.Load()&bit == 0 {
		r.shown.Or(bit)
	}
	r.counts[column].Add(1)
}

// table is a counter metric in one configuration. An old observer may still
// increment a row that is not in it, but that row is not exposed (M4).
type table struct {
	shape  *shape
	rows   map[names]*row
	before map[names]*row // of the previous configuration, until made is called
}

// newTable returns a table without rows, whose rows will take over the counts
// of before.
func newTable(s *shape, before *table) table {
	return table{shape: s, rows: make(map[names]*row, len(before.rows)), before: before.rows}
}

// row returns the row with these names and exposes the given columns. If the
// previous table had the row, it keeps its counts (M3).
func (t *table) row(n names, shown columns) *row {
	r := t.rows[n]
	if r == nil {
		r = &row{}
		if old := t.before[n]; old != nil {
			r.counts = old.counts
		} else {
			r.counts = make([]atomic.Uint64, len(t.shape.columns))
		}
		t.rows[n] = r
	}
	r.shown.Or(uint64(shown))
	return r
}

// made releases the previous configuration's rows.
func (t *table) made() { t.before = nil }

// collect sends every exposed series.
func (t *table) collect(ch chan<- prometheus.Metric) {
	for n, r := range t.rows {
		values := make([]string, 0, 8)
		values = append(values, n[:t.shape.rowLabels]...)
		for left := r.shown.Load(); left != 0; left &= left - 1 {
			column := bits.TrailingZeros64(left)
			ch <- prometheus.MustNewConstMetric(t.shape.desc, prometheus.CounterValue,
				float64(r.counts[column].Load()), append(values, t.shape.columns[column]...)...)
		}
	}
}
