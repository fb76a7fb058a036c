package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// filters parses the query parameters that filter a list. An unknown or
// repeated parameter is an error: ignoring it would return entries that the
// caller meant to exclude.
func filters(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query of the URL is not valid: %w", err)
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown filter %.40q: known are %s", name, strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("the filter %s is given %d times: give it once", name, len(values))
		}
	}
	return q, nil
}

func badFilter(err error) *problem {
	return &problem{status: http.StatusBadRequest, title: "Bad filter", detail: err.Error()}
}
