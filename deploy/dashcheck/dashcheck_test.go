package dashcheck

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sound is a dashboard without mistakes.
const sound = `{
  "title": "t", "schemaVersion": 42, "annotations": {},
  "templating": {"list": [
    {"type": "datasource", "name": "datasource", "query": "prometheus"},
    {"type": "query", "name": "job", "query": "label_values(up, job)", "allValue": ".+", "datasource": {"type": "prometheus", "uid": "$datasource"}}
  ]},
  "panels": [{
    "type": "timeseries", "title": "p", "description": "d", "datasource": {"type": "prometheus", "uid": "$datasource"},
    "fieldConfig": {"defaults": {"unit": "s"}, "overrides": []},
    "targets": [{"refId": "A", "expr": "rate(up{job=~\"$job\"}[$__rate_interval])", "range": true, "datasource": {"type": "prometheus", "uid": "$datasource"}}]
  }]
}`

func TestADashboardWithoutAFaultIsRead(t *testing.T) {
	d, err := parse([]byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Questions) != 1 || d.Questions[0].Panel != "p" || d.Questions[0].Instant {
		t.Errorf("read %+v", d)
	}
}

func TestEveryFaultIsFound(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"no JSON", `"title": "t",`, `"title" "t",`, "invalid character"},
		{"a misspelt key", `"allValue"`, `"allVallue"`, "unexpected field 'allVallue'"},
		{"no title of the dashboard", `"title": "t"`, `"title": ""`, "the dashboard has no title"},
		{"no title", `"title": "p"`, `"title": ""`, "panel number 0 has no title"},
		{"no description", `"description": "d"`, `"description": ""`, `panel "p" has no description`},
		{"no unit", `"unit": "s"`, `"unit": ""`, `panel "p" has no unit`},
		{"a data source that nobody chose", `"description": "d", "datasource": {"type": "prometheus", "uid": "$datasource"}`, `"description": "d", "datasource": {"type": "prometheus", "uid": "abc"}`, `panel "p" does not ask the data source of a variable`},
		{"no variable for the data source", `{"type": "datasource", "name": "datasource", "query": "prometheus"},`, ``, `panel "p" does not ask the data source of a variable`},
		{"a variable that asks nothing", `"query": "label_values(up, job)"`, `"query": ""`, `variable "job" asks nothing`},
		{"a variable of another type", `"type": "query"`, `"type": "custom"`, `variable "job" is of type custom, which is not checked`},
		{"no query", `"expr": "rate(up{job=~\"$job\"}[$__rate_interval])"`, `"expr": " "`, `panel "p" has an empty query`},
		{"a fixed interval", `[$__rate_interval]`, `[5m]`, `panel "p" looks back over [5m], and not over [$__rate_interval]`},
		{"an unknown variable", `$job`, `$jbo`, `panel "p" names $jbo, which is no variable of the dashboard`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(sound, c.from, c.to, 1)
			if text == sound {
				t.Fatalf("%q is not in the dashboard", c.from)
			}
			_, err := parse([]byte(text))
			if !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestAPanelThatAsksNothingIsAFault(t *testing.T) {
	begin, end := strings.Index(sound, `"targets"`), strings.LastIndex(sound, "]\n  }]")
	_, err := parse([]byte(sound[:begin] + `"targets": [` + sound[end:]))
	for _, want := range []string{`panel "p" asks nothing`, "no panel asks anything"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestReadSaysWhichFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !strings.Contains(fmt.Sprint(err), path) {
		t.Errorf("error %v", err)
	}
	if _, err := Read(path + ".absent"); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}

// answering is a server with the given result for every query and the given
// values for every list.
func answering(t *testing.T, result, values string) *Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := `{"result":` + result + `}`
		if strings.HasPrefix(r.URL.Path, "/api/v1/label/") {
			data = values
		}
		if strings.Contains(r.FormValue("query"), "$") {
			t.Errorf("asked for %s", r.FormValue("query"))
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":%s}`, data)
	}))
	t.Cleanup(s.Close)
	return &Server{URL: s.URL, Client: s.Client()}
}

func TestAnAnswerWithoutNumbersIsAFault(t *testing.T) {
	d, err := parse([]byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	const number = `[{"values":[[1,"NaN"],[2,"0"]]}]`
	for _, c := range []struct {
		name, result, values string
		mayBeEmpty           map[string]string
		want                 string
	}{
		{"numbers", number, `["j"]`, nil, ""},
		{"one number", `[{"value":[1,"3"]}]`, `["j"]`, nil, ""},
		{"nothing", `[]`, `["j"]`, nil, `panel "p" shows nothing: rate(up{job=~".+"}[4s])`},
		{"no number", `[{"values":[[1,"NaN"]]}]`, `["j"]`, nil, `panel "p" shows nothing`},
		{"nothing, as is known", `[]`, `["j"]`, map[string]string{"p": "r"}, ""},
		{"numbers, though nothing was expected", number, `["j"]`, map[string]string{"p": "r"}, "take it off the list"},
		{"nothing to choose from", number, `[]`, nil, `variable "job" has nothing to choose from`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Asking{Server: answering(t, c.result, c.values), ScrapeInterval: time.Second, Back: time.Minute, MayBeEmpty: c.mayBeEmpty}
			err := a.Ask(t.Context(), d)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestWhatPrometheusRefusesIsAFault(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":"error","error":"parse error"}`: "parse error",
		`<html>`: `no answer of Prometheus: "<html>"`,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) }))
		server := &Server{URL: s.URL, Client: s.Client()}
		if _, err := server.Points(t.Context(), "up", true, time.Minute, time.Second); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
		if _, err := server.Rules(t.Context()); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
		s.Close()
	}
}
