package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/hookgate/hookgate"
)

// description is openapi.yaml, against which the tests check the gateway.
// OpenAPI 3.1 schemas are JSON Schema 2020-12, so a JSON Schema validator can
// read them in place.
type description struct {
	root  map[string]any
	paths []describedPath

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

type describedPath struct {
	template string
	matches  *regexp.Regexp
	item     map[string]any
}

// theDescription is parsed once, because that takes longer than most tests.
var theDescription = sync.OnceValues(func() (*description, error) {
	var root map[string]any
	if err := yaml.Unmarshal(hookgate.OpenAPI, &root); err != nil {
		return nil, err
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	d := &description{compiler: jsonschema.NewCompiler()}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", doc); err != nil {
		return nil, err
	}
	var ok bool
	if d.root, ok = doc.(map[string]any); !ok {
		return nil, fmt.Errorf("openapi.yaml is %T", doc)
	}
	for template, item := range object(d.root["paths"]) {
		pattern := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		d.paths = append(d.paths, describedPath{template, regexp.MustCompile("^" + pattern + "$"), object(item)})
	}
	return d, nil
})

// object returns v as an object, which is empty if v is not one.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// resolve follows a $ref, and returns the target's pointer.
func (d *description) resolve(v map[string]any, pointer string) (map[string]any, string) {
	ref, ok := v["$ref"].(string)
	if !ok {
		return v, pointer
	}
	pointer = strings.TrimPrefix(ref, "#")
	var at any = d.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		at = object(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return object(at), pointer
}

func escaped(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// check returns an error if a response does not match the description.
func (d *description) check(method, path string, status int, header http.Header, body []byte) error {
	i := slices.IndexFunc(d.paths, func(p describedPath) bool { return p.matches.MatchString(path) })
	if i < 0 {
		return nil // other paths have no description
	}
	p := d.paths[i]
	bodiless := method == http.MethodHead
	if bodiless { // described once for all routes
		method = http.MethodGet
	}
	if status == http.StatusMethodNotAllowed { // depends on the methods of the path
		method, _, _ = strings.Cut(header.Get("Allow"), ",")
	}
	pointer := "/paths/" + escaped(p.template) + "/" + strings.ToLower(method)
	responses := object(object(p.item[strings.ToLower(method)])["responses"])
	described, ok := responses[strconv.Itoa(status)]
	if !ok {
		return fmt.Errorf("status %d is not described", status)
	}
	response, pointer := d.resolve(object(described), pointer+"/responses/"+strconv.Itoa(status))
	for name, h := range object(response["headers"]) {
		if required, _ := object(h)["required"].(bool); required && header.Get(name) == "" {
			return fmt.Errorf("header %s is missing", name)
		}
	}
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if _, ok := object(response["content"])[kind]; !ok {
		return fmt.Errorf("content type %q is not described", kind)
	}
	if !strings.HasSuffix(kind, "json") || bodiless {
		return nil
	}
	texts := [][]byte{body}
	if kind == "application/x-ndjson" {
		texts = bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	}
	for _, text := range texts {
		if err := d.checkBody(pointer+"/content/"+escaped(kind)+"/schema", text); err != nil {
			return err
		}
	}
	return nil
}

func (d *description) checkBody(pointer string, body []byte) error {
	d.mu.Lock()
	schema, err := d.compiler.Compile("openapi.json#" + pointer)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// documented is a transport that checks every response against openapi.yaml.
func documented(t *testing.T, inner http.RoundTripper, base string) http.RoundTripper {
	t.Helper()
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(r)
		if err != nil || !strings.HasPrefix(r.URL.String(), base+"/") || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if err := d.check(r.Method, r.URL.EscapedPath(), resp.StatusCode, resp.Header, body); err != nil {
			t.Errorf("%s %s answered %d %s, which openapi.yaml does not describe: %v", r.Method, r.URL, resp.StatusCode, body, err)
		}
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTheRoutesAreThoseOfTheDescription(t *testing.T) {
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	described, served := map[string][]string{}, map[string][]string{}
	for _, p := range d.paths {
		for method, operation := range p.item {
			for status := range object(object(operation)["responses"]) {
				described[strings.ToUpper(method)+" "+p.template] = append(described[strings.ToUpper(method)+" "+p.template], status)
			}
		}
	}
	g, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	router, ok := g.mainHandler().(chi.Routes)
	if !ok {
		t.Fatal("the main handler has no routes to walk")
	}
	counted := map[string][]string{}
	for _, route := range routes() {
		for _, code := range route.Codes {
			if code != statusHungUp { // never sent
				counted[route.Pattern] = append(counted[route.Pattern], strconv.Itoa(code))
			}
		}
	}
	err = chi.Walk(router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		served[method+" "+route] = counted[route]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []map[string][]string{described, served} {
		for _, statuses := range all {
			slices.Sort(statuses)
		}
	}
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("routes and their statuses (-openapi.yaml +served and counted from zero):\n%s", diff)
	}
}

func TestTheExamplesOfTheDescriptionAreWhatItDescribes(t *testing.T) {
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"/components/requestBodies/Envelope", "/components/responses/Decision"} {
		content, _ := d.resolve(map[string]any{"$ref": "#" + of + "/content/application~1json"}, "")
		if len(object(content["examples"])) == 0 {
			t.Errorf("%s has no examples", of)
		}
		for name, example := range object(content["examples"]) {
			text, err := json.Marshal(object(example)["value"])
			if err != nil {
				t.Fatal(err)
			}
			if err := d.checkBody(of+"/content/application~1json/schema", text); err != nil {
				t.Errorf("%s: example %s: %v", of, name, err)
			}
		}
	}
}

func TestTheDescriptionIsServed(t *testing.T) {
	r := start(t, Options{})
	got := r.do(http.MethodGet, r.base+"/openapi.yaml", "")
	if got.status != http.StatusOK || got.body != string(hookgate.OpenAPI) {
		t.Errorf("status %d, %d bytes", got.status, len(got.body))
	}
}
