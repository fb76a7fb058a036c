package dashcheck

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Asking is how dashboards are put to a server.
type Asking struct {
	Server *Server
	// ScrapeInterval is that of the server.
	ScrapeInterval time.Duration
	// Back is how long ago the first sample may be.
	Back time.Duration
	// MayBeEmpty are the titles of panels of which nothing may come back, with
	// the reason. One that comes back with data all the same is a fault too.
	MayBeEmpty map[string]string
}

// Ask puts everything that a dashboard asks to the server. The error is every
// question to which there is no answer.
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

// values are those of the dashboard's variables when everything is chosen. Each
// variable may refer to those before it.
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

// labelValues finds what a variable asks for.
func labelValues() *regexp.Regexp {
	return regexp.MustCompile(`^label_values\((.+),\s*(\w+)\)$`)
}

// resolve puts values in the place of variables, as Grafana would.
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
