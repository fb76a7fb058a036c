package dashcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Server is a Prometheus server.
type Server struct {
	// URL is its base URL, like http://127.0.0.1:9090.
	URL string
	// Client sends the requests.
	Client *http.Client
}

// answer is the envelope of every API response.
type answer struct {
	Status string          `json:"status"`
	Error  string          `json:"error"`
	Data   json.RawMessage `json:"data"`
}

// result is the result of a query.
type result struct {
	Result []struct {
		Value  point   `json:"value"`
		Values []point `json:"values"`
		// Native histograms have fields of their own.
		Histogram  json.RawMessage   `json:"histogram"`
		Histograms []json.RawMessage `json:"histograms"`
	} `json:"result"`
}

// point is a timestamp and a value, the value as a string.
type point [2]any

// isNumber reports whether the value is a number that can be drawn.
func (p point) isNumber() bool {
	text, ok := p[1].(string)
	if !ok {
		return false
	}
	value, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(value)
}

// Points runs a range query that ends now, or an instant query, and returns the
// number of numeric values.
func (s *Server) Points(ctx context.Context, expr string, instant bool, back, step time.Duration) (int, error) {
	now := time.Now()
	path, form := "/api/v1/query_range", url.Values{
		"query": {expr}, "start": {unix(now.Add(-back))}, "end": {unix(now)}, "step": {step.String()},
	}
	if instant {
		path, form = "/api/v1/query", url.Values{"query": {expr}, "time": {unix(now)}}
	}
	var r result
	if err := s.get(ctx, path, form, &r); err != nil {
		return 0, err
	}
	points := 0
	for _, series := range r.Result {
		for _, p := range append(series.Values, series.Value) {
			if p.isNumber() {
				points++
			}
		}
	}
	return points, nil
}

// LabelValues returns the values of a label in the selected series.
func (s *Server) LabelValues(ctx context.Context, selector, label string) ([]string, error) {
	var values []string
	err := s.get(ctx, "/api/v1/label/"+url.PathEscape(label)+"/values", url.Values{"match[]": {selector}}, &values)
	return values, err
}

// Rule is a rule that the server evaluates.
type Rule struct {
	Name, Query, Type, Health, LastError string
}

// Rules returns all rules.
func (s *Server) Rules(ctx context.Context) ([]Rule, error) {
	var data struct {
		Groups []struct {
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := s.get(ctx, "/api/v1/rules", nil, &data); err != nil {
		return nil, err
	}
	var rules []Rule
	for _, g := range data.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules, nil
}

func (s *Server) get(ctx context.Context, path string, form url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path+"?"+form.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("status %d with what is no answer of Prometheus: %.200q", resp.StatusCode, body)
	}
	if a.Status != "success" {
		return errors.New(a.Error)
	}
	return json.Unmarshal(a.Data, into)
}

func unix(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
