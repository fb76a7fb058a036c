package dashboards

// sheet is the source of one dashboard.
type sheet struct {
	uid, title, about string
	variables         []variable
	rows              []row
}

// variable is a list from which the user chooses: the values of a label.
type variable struct {
	name, label, metric string
}

// row is a heading with its panels.
type row struct {
	title  string
	panels []panel
}

// panel is one panel. The zero kind is invalid.
type panel struct {
	kind kind
	// title says what is shown, does what to do about it.
	title, does string
	unit        string
	width       uint32
	queries     []query
	// warn and bad are the thresholds for yellow and red. Zero means none.
	warn, bad float64
	// words replace values by text.
	words map[string]word
	// hidden are the columns of a table to hide.
	hidden []string
}

// query is one query with the legend of its series.
type query struct {
	expr, legend string
}

// word is the text and the color for a value.
type word struct {
	text, color string
}

// kind is the visualization of a panel.
type kind uint8

const (
	number   kind = iota + 1 // the current value
	lines                    // values over time
	stack                    // values over time that add up
	timeline                 // states over time
	table                    // labels now
)

// Units in Grafana's notation.
const (
	perSecond = "cps"
	requests  = "reqps"
	ratio     = "percentunit"
	seconds   = "s"
	bytes     = "bytes"
	count     = "none"
)

// Selectors of series. The job distinguishes replicas of other installations.
const (
	ofJob   = `job=~"$job"`
	ofChain = ofJob + `,chain=~"$chain"`
	ofHook  = ofJob + `,hook=~"$hook"`
)

// rate returns the rate of a counter.
func rate(metric, selector string) string {
	return "rate(" + metric + "{" + selector + "}[$__rate_interval])"
}

// summed sums a rate by labels; without labels it returns a single sum.
func summed(by, metric, selector string) string {
	if by == "" {
		return "sum(" + rate(metric, selector) + ")"
	}
	return "sum by (" + by + ") (" + rate(metric, selector) + ")"
}

// share returns part divided by whole, without a value if whole is zero.
func share(part, whole string) string { return part + " / (" + whole + " > 0)" }

// quantile returns a quantile of a histogram from classic buckets or, if the
// server stores only native histograms, from those (D4).
func quantile(q, by, metric, selector string) string {
	buckets, labels := "le", ""
	if by != "" {
		buckets, labels = "le, "+by, " by ("+by+")"
	}
	return "histogram_quantile(" + q + ", sum by (" + buckets + ") (" + rate(metric+"_bucket", selector) + "))" +
		" or histogram_quantile(" + q + ", sum" + labels + " (" + rate(metric, selector) + "))"
}
