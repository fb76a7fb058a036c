package functions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/test/freeport"
)

// secret is the gateway's signing secret in these tests.
const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGVzZSB0ZXN0cyBhbG9uZQ=="

// gateway is the gateway program running with a hooks file.
type gateway struct {
	*process
	client *http.Client
	admin  string
}

// gatewayWith starts the gateway with the given hooks file and waits until it is
// ready.
func gatewayWith(t testing.TB, hooks string, env ...string) *gateway {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	write(t, file, "%s", hooks)
	g := &gateway{
		process: &process{address: freeport.Address(t), argv: []string{program.gateway, "serve"}},
		client:  &http.Client{Timeout: patience},
		admin:   freeport.Address(t),
	}
	g.env = append(env, "HOOKGATE_CONFIG="+file, "HOOKGATE_ADDR="+g.address, "HOOKGATE_ADMIN_ADDR="+g.admin)
	start(t, g.process)
	t.Cleanup(g.client.CloseIdleConnections)
	await(t, "the gateway is ready", func() bool {
		status, _ := g.get(t, "/readyz")
		return status == http.StatusOK
	})
	return g
}

// hooksOf returns an example's hooks file with another URL for the function.
func hooksOf(t testing.TB, file, url string) string {
	t.Helper()
	text, err := os.ReadFile(examples + file)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?m)^    url: .*$`)
	if n := len(entry.FindAll(text, -1)); n != 2 {
		t.Fatalf("%s has %d entries, want one for each event", file, n)
	}
	return entry.ReplaceAllString(string(text), "    url: "+url)
}

// decision is an answer of the gateway, or of a hook.
type decision struct {
	Decision string          `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
}

// question returns an envelope; with an output it is a post_tool_use one.
func question(id, tool, input, output string) string {
	event, result := "pre_tool_use", ""
	if output != "" {
		event, result = "post_tool_use", fmt.Sprintf(`,"output":%s,"is_error":false`, output)
	}
	return fmt.Sprintf(`{"hook_schema":1,"event":%q,"workspace":"/repo","agent_id":"a1","tool_call_id":%q,"tool_name":%q,"input":%s%s}`,
		event, id, tool, input, result)
}

// ask sends an envelope to the gateway.
func (g *gateway) ask(t testing.TB, question string) decision {
	t.Helper()
	d, err := g.put(question)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (g *gateway) put(question string) (decision, error) {
	r, err := g.client.Post("http://"+g.address+"/v1/decide", "application/json", strings.NewReader(question))
	if err != nil {
		return decision{}, err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return decision{}, err
	}
	var d decision
	if err := json.Unmarshal(text, &d); err != nil || r.StatusCode != http.StatusOK {
		return decision{}, fmt.Errorf("the gateway answered with status %d: %s", r.StatusCode, text)
	}
	return d, nil
}

func (g *gateway) get(t testing.TB, path string) (status int, body string) {
	t.Helper()
	r, err := g.client.Get("http://" + g.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(text)
}

// metric returns the sum of a metric's series that have all the labels, in text
// format.
func (g *gateway) metric(t testing.TB, name string, labels ...string) int {
	t.Helper()
	status, text := g.get(t, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: status %d: %s", status, text)
	}
	sum := 0
	for line := range strings.Lines(text) {
		series, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if !ok || !strings.HasPrefix(series, name+"{") || !hasAll(series, labels) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += int(n)
	}
	return sum
}

func hasAll(series string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(series, label) {
			return false
		}
	}
	return true
}

// causes returns the failure counts of a hook in the text of metrics, by cause.
func causes(metrics, hook string) []string {
	var found []string
	series := regexp.MustCompile(`(?m)^hookgate_hook_failures_total\{binding="webhook",cause="(\w+)",hook="` + hook + `"\} (\d+)$`)
	for _, m := range series.FindAllStringSubmatch(metrics, -1) {
		if m[2] != "0" {
			found = append(found, m[1]+" "+m[2])
		}
	}
	return found
}

// counted checks the failure counts: for each hook exactly one failure with the
// given cause, or none at all for the cause none.
func (g *gateway) counted(t testing.TB, hooks map[string]string) {
	t.Helper()
	status, metrics := g.get(t, "/metrics")
	if status != http.StatusOK || strings.Contains(metrics, "CANARY") {
		t.Errorf("the metrics came with status %d, or have what a function said", status)
	}
	want, got := map[string]string{}, map[string]string{}
	for hook, cause := range hooks {
		want[hook] = ""
		if cause != "none" {
			want[hook] = cause + " 1"
		}
		got[hook] = strings.Join(causes(metrics, hook), ", ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// posted posts a body directly to a function and returns its response.
func posted(t testing.TB, url string, header http.Header, body []byte) (status int, answer decision) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	// A body that is not JSON, like a framework's error page, is not a decision.
	_ = json.Unmarshal(text, &answer)
	return got.StatusCode, answer
}
