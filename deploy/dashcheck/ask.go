package dashcheck

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Asking runs the queries of dashboards on a server.
type Asking struct {
	Server *Server
	// ScrapeInterval is the server's scrape interval.
	ScrapeInterval time.Duration
	// Back is the age that the oldest sample can have.
	Back time.Duration
	// MayBeEmpty maps the titles of panels that have no data to the reason. It
	// is an error if such a panel has data.
	MayBeEmpty map[string]string
}

// Ask runs all queries of a dashboard. The error lists every query without a
// result.
func (a *Asking) Ask(ctx context.Context, d *Dashboard) error {
	values, err := a.values(ctx, d)
	if err != nil {
		return err
	}
	var faults []error
	for _, q := range d.Questions {
		expr, err := a.resolve(q.Expr, values)
		if err != nil {
			faults = append(faults, fmt.Errorf("panel %q: %w", q.Panel, err))
			continue
		}
		points, err := a.Server.Points(ctx, expr, q.Instant, a.Back, a.ScrapeInterval)
		_, mayBeEmpty := a.MayBeEmpty[q.Panel]
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("panel %q: %w: %s", q.Panel, err, expr))
		case points == 0 && !mayBeEmpty:
			faults = append(faults, fmt.Errorf("panel %q shows nothing: %s", q.Panel, expr))
		case points > 0 && mayBeEmpty:
			faults = append(faults, fmt.Errorf("panel %q is said to be empty and is not: take it off the list: %s", q.Panel, expr))
		}
	}
	return errors.Join(faults...)
}

// values returns the values of the dashboard's variables with everything
// selected. Each variable may refer to earlier ones.
func (a *Asking) values(ctx context.Context, d *Dashboard) (map[string]string, error) {
	values := map[string]string{}
	for _, v := range d.Variables {
		asked := labelValues().FindStringSubmatch(v.Query)
		if asked == nil {
			return nil, fmt.Errorf("variable %q asks %q, which is not label_values(metric, label)", v.Name, v.Query)
		}
		selector, err := a.resolve(asked[1], values)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", v.Name, err)
		}
		found, err := a.Server.LabelValues(ctx, selector, asked[2])
		switch {
		case err != nil:
			return nil, fmt.Errorf("variable %q: %w: %s", v.Name, err, v.Query)
		case len(found) == 0:
			return nil, fmt.Errorf("variable %q has nothing to choose from: %s", v.Name, v.Query)
		case v.All == "":
			return nil, fmt.Errorf("variable %q has no value for all", v.Name)
		}
		values[v.Name] = v.All
	}
	return values, nil
}

// labelValues matches the query of a variable.
func labelValues() *regexp.Regexp {
	return regexp.MustCompile(`^label_values\((.+),\s*(\w+)\)$`)
}

// resolve replaces variables by their values, as Grafana would.
func (a *Asking) resolve(expr string, values map[string]string) (string, error) {
	var unknown []string
	resolved := references().ReplaceAllStringFunc(expr, func(reference string) string {
		name := strings.Trim(reference, "${}")
		switch name {
		case "__rate_interval":
			return (4 * a.ScrapeInterval).String()
		case "__interval":
			return a.ScrapeInterval.String()
		case "__range":
			return a.Back.String()
		}
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, reference)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("nothing stands for %s in %s", strings.Join(unknown, ", "), expr)
	}
	return resolved, nil
}
