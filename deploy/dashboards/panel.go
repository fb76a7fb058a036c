package dashboards

// sheet is one dashboard as it is written down here.
type sheet struct {
	uid, title, about string
	variables         []variable
	rows              []row
}

// variable is a list that a person chooses from: the values of a label.
type variable struct {
	name, label, metric string
}

// row is a heading with the panels under it.
type row struct {
	title  string
	panels []panel
}

// panel is one picture. The zero kind is none.
type panel struct {
	kind kind
	// title says what is seen, does what to do about it.
	title, does string
	unit        string
	width       uint32
	queries     []query
	// warn and bad are where a value becomes worth a look and where it is
	// wrong. Zero is nowhere.
	warn, bad float64
	// words stand for values.
	words map[string]word
	// hidden are columns of a table that nobody needs.
	hidden []string
}

// query is one question, and how its series are called.
type query struct {
	expr, legend string
}

// word is what stands for a value, and its colour.
type word struct {
	text, color string
}

// kind is how a panel draws.
type kind uint8

const (
	number   kind = iota + 1 // one value now
	lines                    // values over time
	stack                    // values over time that add up
	timeline                 // states over time
	table                    // labels now
)

// Units of values, as Grafana calls them.
const (
	perSecond = "cps"
	requests  = "reqps"
	ratio     = "percentunit"
	seconds   = "s"
	bytes     = "bytes"
	count     = "none"
)

// The selectors of series. Replicas of other installations are told apart by
// their job.
const (
	ofJob   = `job=~"$job"`
	ofChain = ofJob + `,chain=~"$chain"`
	ofHook  = ofJob + `,hook=~"$hook"`
)

// rate is the rate of a counter.
func rate(metric, selector string) string {
	return "rate(" + metric + "{" + selector + "}[$__rate_interval])"
}

// summed adds up a rate by labels; none is one sum.
func summed(by, metric, selector string) string {
	if by == "" {
		return "sum(" + rate(metric, selector) + ")"
	}
	return "sum by (" + by + ") (" + rate(metric, selector) + ")"
}

// share is one part of a whole, where there is a whole.
func share(part, whole string) string { return part + " / (" + whole + " > 0)" }

// quantile is that of a histogram, from classic buckets or, where the server
// has only native histograms, from those (D4).
func quantile(q, by, metric, selector string) string {
	buckets, labels := "le", ""
	if by != "" {
		buckets, labels = "le, "+by, " by ("+by+")"
	}
	return "histogram_quantile(" + q + ", sum by (" + buckets + ") (" + rate(metric+"_bucket", selector) + "))" +
		" or histogram_quantile(" + q + ", sum" + labels + " (" + rate(metric, selector) + "))"
}
