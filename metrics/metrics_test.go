package metrics_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

var update = flag.Bool("update", false, "write the golden files anew")

// published are the metrics that dashboards rely on, with their labels in
// alphabetical order.
var published = map[string]string{
	"hookgate_decisions_total":                              "cause chain decision event tool",
	"hookgate_decision_duration_seconds":                    "chain event",
	"hookgate_hook_answers_total":                           "answer binding event hook mode",
	"hookgate_hook_failures_total":                          "binding cause hook",
	"hookgate_hook_fail_open_total":                         "cause hook",
	"hookgate_hook_duration_seconds":                        "binding hook",
	"hookgate_denials_total":                                "chain event hook tool why",
	"hookgate_breaker_state":                                "hook state",
	"hookgate_breaker_next_try_timestamp_seconds":           "hook",
	"hookgate_breaker_transitions_total":                    "from hook to",
	"hookgate_hook_canary_passing":                          "hook",
	"hookgate_hook_canary_checks_total":                     "hook result",
	"hookgate_hook_connections_total":                       "connection hook",
	"hookgate_hook_retries_total":                           "hook",
	"hookgate_hook_handshake_failures_total":                "hook why",
	"hookgate_hook_first_calls_total":                       "hook result",
	"hookgate_hook_warmups_total":                           "hook result",
	"hookgate_hook_in_flight":                               "hook",
	"hookgate_shadow_flips_total":                           "from hook to",
	"hookgate_http_requests_total":                          "code route",
	"hookgate_http_request_duration_seconds":                "code route",
	"hookgate_client_degradations_total":                    "client outcome",
	"hookgate_client_refusals_total":                        "client status",
	"hookgate_http_requests_in_flight":                      "",
	"hookgate_http_requests_in_flight_limit":                "",
	"hookgate_http_unserved_connections_total":              "why",
	"hookgate_certificate_expiry_timestamp_seconds":         "certificate hook",
	"hookgate_hook_timeout_seconds":                         "hook",
	"hookgate_config_reloads_total":                         "result",
	"hookgate_config_last_reload_successful":                "",
	"hookgate_config_info":                                  "sha256",
	"hookgate_config_last_reload_success_timestamp_seconds": "",
	"hookgate_audit_records_total":                          "result sink",
	"hookgate_audit_withheld_total":                         "",
	"hookgate_auth_failures_total":                          "reason",
	"hookgate_caller_requests_total":                        "caller result",
	"hookgate_caller_in_flight":                             "caller",
	"hookgate_build_info":                                   "goversion revision version",
	"hookgate_approvals_total":                              "outcome",
	"hookgate_approvals_pending":                            "",
	"hookgate_approvals_store_up":                           "",
}

// whole is a configuration in which every metric has series.
func whole() metrics.Config {
	return metrics.Config{
		Sum:     [32]byte{0x5e, 0xed},
		Callers: []metrics.Caller{{Name: "ci", InFlight: nobody}},
		Chains: []metrics.Chain{
			{Participants: []*metrics.Participant{
				{Name: "secrets", Binding: metrics.InProcess, Events: chain.Events(), Guard: true, Causes: []chain.Cause{chain.Error}},
				with(program("no-force-push"), func(p *metrics.Participant) { p.Tools = []string{"shell", "mcp__git__*"} }),
				with(endpoint("dlp"), func(p *metrics.Participant) {
					p.Events, p.OnFailure, p.WarmsUp, p.TLS = post(), chain.AllowOnFailure, true, true
					p.CanaryPassing = func() bool { return false }
					p.Certificates = map[metrics.Certificate]time.Time{metrics.ClientCertificate: time.Unix(1800000000, 0), metrics.CACertificate: time.Unix(1900000000, 0)}
				}),
				with(endpoint("trial"), func(p *metrics.Participant) { p.Mode, p.Guard = chain.Shadow, true }),
			}},
		},
	}
}

func TestM2_EverythingStartsAtZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the time of loading is fixed
		_, registry, _ := configured(t, whole())
		const golden = "testdata/zero.prom"
		if *update {
			writeGolden(t, registry, golden)
		}
		want, err := os.Open(golden)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = want.Close() }()
		if err := testutil.GatherAndCompare(registry, want, slices.Collect(maps.Keys(published))...); err != nil {
			t.Error(err)
		}
	})
}

func writeGolden(t *testing.T, registry *prometheus.Registry, path string) {
	t.Helper()
	h, err := metrics.Handler(metrics.HandlerOptions{Gatherer: registry})
	if err != nil {
		t.Fatal(err)
	}
	var ours bytes.Buffer
	for line := range strings.Lines(get(t, h, "").Body.String()) {
		if strings.Contains(line, "hookgate_") {
			ours.WriteString(line)
		}
	}
	if err := os.WriteFile(path, ours.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEveryPublishedMetricIsThereWithItsLabels(t *testing.T) {
	_, registry, _ := configured(t, whole())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	foreign := map[string]bool{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "hookgate_") {
			prefix, _, _ := strings.Cut(f.GetName(), "_")
			foreign[prefix] = true
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName())
			}
			got[f.GetName()] = strings.Join(labels, " ")
		}
	}
	if diff := cmp.Diff(published, got); diff != "" {
		t.Errorf("metrics and their labels (-want +got):\n%s", diff)
	}
	if !foreign["go"] || !foreign["process"] {
		t.Errorf("the runtime and the process are not both measured: %v", foreign)
	}
}

func TestMetricsAreNamedAndDescribedAsPrometheusAdvises(t *testing.T) {
	_, registry, _ := configured(t, whole())
	problems, err := testutil.GatherAndLint(registry, slices.Collect(maps.Keys(published))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestAnInfoSaysWhatRuns(t *testing.T) {
	_, registry, _ := configured(t, whole())
	counted(t, registry, "hookgate_build_info", map[string]float64{"go1.26 abcdef 1.2.3": 1})
	counted(t, registry, "hookgate_config_info", map[string]float64{"5eed" + strings.Repeat("00", 30): 1})
}

func TestM8_HistogramsAreClassicAndNative(t *testing.T) {
	m, registry, c := configured(t, tenant(program("guard")))
	c.Chains[0].Participants[0].Answered(chain.PreToolUse, allowed(), 10*time.Minute)
	c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, "shell"), &chain.Verdict{Took: time.Hour})
	m.Request("/v1/decide", http.StatusOK, time.Hour)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range families {
		if !strings.HasSuffix(f.GetName(), "_duration_seconds") || !strings.HasPrefix(f.GetName(), "hookgate_") {
			continue
		}
		for _, one := range f.GetMetric() {
			h := one.GetHistogram()
			if h.GetSampleCount() == 0 {
				continue
			}
			seen++
			buckets := h.GetBucket()
			if first := buckets[0].GetUpperBound(); first != 0.0001 {
				t.Errorf("%s: the first bucket ends at %v s", f.GetName(), first)
			}
			if top := buckets[len(buckets)-1]; top.GetCumulativeCount() != 1 {
				t.Errorf("%s: the longest duration is over the top bucket of %v s", f.GetName(), top.GetUpperBound())
			}
			if h.GetSchema() != 3 || len(h.GetPositiveDelta()) != 1 {
				t.Errorf("%s: schema %d with %d native buckets", f.GetName(), h.GetSchema(), len(h.GetPositiveDelta()))
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d histograms had a duration, want 3", seen)
	}
}

func TestOnlyTheTimeOfThoseThatWereAskedCounts(t *testing.T) {
	_, registry, c := configured(t, tenant(endpoint("dlp")))
	o := c.Chains[0].Participants[0]
	o.Answered(chain.PreToolUse, allowed(), time.Millisecond)
	o.Answered(chain.PreToolUse, chain.Fail(chain.Status, "", ""), time.Millisecond)
	o.Answered(chain.PreToolUse, chain.Fail(chain.Budget, "", ""), time.Millisecond)
	counted(t, registry, "hookgate_hook_duration_seconds", map[string]float64{"webhook dlp": 3})
	o.Answered(chain.PreToolUse, chain.Fail(chain.Budget, "", ""), 0) // no time was left
	o.Answered(chain.PreToolUse, chain.Fail(chain.BreakerOpen, "", ""), time.Microsecond)
	o.Answered(chain.PreToolUse, chain.Fail(chain.Saturated, "", ""), time.Microsecond)
	counted(t, registry, "hookgate_hook_duration_seconds", map[string]float64{"webhook dlp": 3})
	counted(t, registry, "hookgate_hook_answers_total", map[string]float64{
		"allow webhook pre_tool_use dlp enforce": 1, "failure webhook pre_tool_use dlp enforce": 5,
	})
}

func TestABreakersTransitionsAreCounted(t *testing.T) {
	_, registry, c := configured(t, tenant(endpoint("dlp")))
	o := c.Chains[0].Participants[0]
	o.Transition(metrics.BreakerClosed, metrics.BreakerOpen)
	o.Transition(metrics.BreakerOpen, metrics.BreakerHalfOpen)
	o.Transition(metrics.BreakerHalfOpen, metrics.BreakerClosed)
	o.Transition(0, metrics.BreakerOpen)
	o.Transition(metrics.BreakerOpen, metrics.BreakerOpen+1)
	counted(t, registry, "hookgate_breaker_transitions_total", map[string]float64{
		"closed dlp open": 1, "open dlp half_open": 1, "half_open dlp closed": 1,
	})
}

func TestM1_ToolsThatCallersInventMakeNoSeries(t *testing.T) {
	_, registry, c := configured(t, tenant(
		with(program("guard"), func(p *metrics.Participant) { p.Tools = []string{"shell", "mcp__*"} }), program("every"),
	))
	before := everySeries(t, registry)
	v := &chain.Verdict{Outcome: chain.Outcome{Decision: chain.Allow}}
	for i := range 100_000 {
		c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, fmt.Sprintf("tool-%d", i)), v)
	}
	c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, "mcp__one"), v)
	c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, "shell"), v)
	c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, "shell\xff"[:5]), v)
	if after := everySeries(t, registry); len(after) != len(before) {
		t.Errorf("%d series became %d", len(before), len(after))
	}
	counted(t, registry, "hookgate_decisions_total", map[string]float64{
		"none acme allow pre_tool_use other": 100_000, "none acme allow pre_tool_use mcp__*": 1, "none acme allow pre_tool_use shell": 2,
	})
}

func TestM1_AToolThatIsNamedOtherSharesTheLabel(t *testing.T) {
	_, registry, c := configured(t, tenant(with(program("guard"), func(p *metrics.Participant) { p.Tools = []string{"other"} })))
	c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, "other"), denial(chain.NoCause, "guard"))
	c.Chains[0].Chain.Decided(request(t, chain.PreToolUse, "shell"), denial(chain.Uncovered, "guard"))
	counted(t, registry, "hookgate_decisions_total", map[string]float64{
		"none acme deny pre_tool_use other": 1, "uncovered acme deny pre_tool_use other": 1,
	})
}

func TestM1_AToolIsLabelledByWhicheverOfItsNamesIsNamed(t *testing.T) {
	_, registry, c := configured(t, tenant(
		with(program("by name"), func(p *metrics.Participant) { p.Tools = []string{"Bash"} }),
		with(program("by alias"), func(p *metrics.Participant) { p.Tools = []string{"shell", "mcp__*"} }),
	))
	seen := c.Chains[0].Chain
	seen.Decided(aliased(t, "Execute", "shell"), denial(chain.NoCause, "by alias"))
	seen.Decided(aliased(t, "@git/push", "mcp__git__push"), denial(chain.NoCause, "by alias"))
	seen.Decided(aliased(t, "Bash", "shell"), denial(chain.NoCause, "by name"))
	seen.Decided(aliased(t, "Bash", "shell"), denial(chain.NoCause, "by alias"))
	counted(t, registry, "hookgate_decisions_total", map[string]float64{
		"none acme deny pre_tool_use shell": 1, "none acme deny pre_tool_use mcp__*": 1, "none acme deny pre_tool_use Bash": 2,
	})
	counted(t, registry, "hookgate_denials_total", map[string]float64{
		"acme pre_tool_use by alias shell decision": 2, "acme pre_tool_use by alias mcp__* decision": 1, "acme pre_tool_use by name Bash decision": 1,
	})
}

func TestM1_BytesThatAreNoTextTakeDownNothing(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: time.Second, MaxBudget: time.Second, MaxTurn: time.Second, InFlight: nobody, MaxInFlight: 1,
		Version: "v\xff", Revision: "\xfe", GoVersion: "go\xff",
		Routes: []metrics.Route{{Pattern: "/\xff", Codes: []int{200}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := activate(t, m, metrics.Config{Chains: []metrics.Chain{{
		Name: "\xff",
		Participants: []*metrics.Participant{
			with(endpoint("guard\xff"), func(p *metrics.Participant) { p.Tools = []string{"sh\xffell", "\xff*"} }),
			with(program("shadow\xff"), func(p *metrics.Participant) { p.Mode = chain.Shadow }),
		},
	}}})
	report(t, c.Chains[0], 0, "guard\xff")
	report(t, c.Chains[0], 1, "shadow\xff")
	m.Request("/\xff", 200, time.Second)
	m.Request("/\xfe", 404, time.Second)

	h, err := metrics.Handler(metrics.HandlerOptions{Gatherer: registry, ErrorLog: failing{t}})
	if err != nil {
		t.Fatal(err)
	}
	body := get(t, h, "").Body.String()
	for _, line := range []string{
		`hookgate_build_info{goversion="go�",revision="�",version="v�"} 1`,
		`hookgate_hook_answers_total{answer="allow",binding="webhook",event="pre_tool_use",hook="guard�",mode="enforce"} 1`,
		`hookgate_decisions_total{cause="timeout",chain="�",decision="deny",event="pre_tool_use",tool="other"} 2`,
		`hookgate_denials_total{chain="�",event="pre_tool_use",hook="guard�",tool="sh�ell",why="failure"} 0`,
		`hookgate_http_requests_total{code="200",route="/�"} 1`,
		`hookgate_http_requests_total{code="404",route="other"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

func TestRequestsAreCountedByRouteAndStatus(t *testing.T) {
	m, registry := newMetrics(t)
	sameSeries(t, registry, "hookgate_http_requests_total", []string{"200 /v1/decide", "400 /v1/decide"})
	sameSeries(t, registry, "hookgate_http_request_duration_seconds", []string{"200 /v1/decide", "400 /v1/decide"})
	m.Request("/v1/decide", 200, time.Millisecond)
	m.Request("/v1/decide", 200, time.Millisecond)
	m.Request("/v1/decide", 503, time.Millisecond) // not a declared code, but a valid status
	m.Request("/v1/decide", 0, time.Millisecond)
	m.Request("/v1/decide", 600, time.Millisecond)
	m.Request("/wp-login.php", 404, time.Millisecond)
	m.Request("/admin.php", 404, time.Millisecond)
	want := map[string]float64{"200 /v1/decide": 2, "503 /v1/decide": 1, "other /v1/decide": 2, "404 other": 2}
	counted(t, registry, "hookgate_http_requests_total", want)
	counted(t, registry, "hookgate_http_request_duration_seconds", want)
}

func TestWhatClientsCannotBeToldIsCountedFromZero(t *testing.T) {
	m, registry := newMetrics(t)
	sameSeries(t, registry, "hookgate_client_degradations_total", []string{"gemini-cli modify"})
	sameSeries(t, registry, "hookgate_client_refusals_total", []string{"gemini-cli 400"})
	m.ClientDegraded("gemini-cli", chain.Modify)
	m.ClientRefused("gemini-cli", 400)
	m.ClientRefused("gemini-cli", 503) // not declared
	counted(t, registry, "hookgate_client_degradations_total", map[string]float64{"gemini-cli modify": 1})
	counted(t, registry, "hookgate_client_refusals_total", map[string]float64{"gemini-cli 400": 1, "gemini-cli 503": 1})
}

func TestClientsThatCannotBeLabelledAreRefused(t *testing.T) {
	for _, c := range []metrics.Client{{}, {Name: "c", Refusals: []int{0}}} {
		_, err := metrics.New(metrics.Options{
			Registerer: prometheus.NewPedanticRegistry(), MaxTimeout: time.Second, MaxBudget: time.Second, MaxTurn: time.Second,
			InFlight: nobody, MaxInFlight: 1, Clients: []metrics.Client{c},
		})
		if err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestRequestsInFlightAreCountedWhenSomebodyLooks(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	flying := 0
	if _, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: time.Second, MaxBudget: time.Second, MaxTurn: time.Second,
		InFlight: func() int { return flying }, MaxInFlight: 50,
	}); err != nil {
		t.Fatal(err)
	}
	flying = 7
	counted(t, registry, "hookgate_http_requests_in_flight", map[string]float64{"": 7})
	counted(t, registry, "hookgate_http_requests_in_flight_limit", map[string]float64{"": 50})
}

func TestOfEntriesOfOneNameTheShortestTimeoutIsShown(t *testing.T) {
	lasting := func(p *metrics.Participant, timeout time.Duration) *metrics.Participant {
		return with(p, func(p *metrics.Participant) { p.Timeout = timeout })
	}
	_, registry, _ := configured(t, tenant(lasting(program("guard"), 5*time.Second), lasting(endpoint("guard"), 2500*time.Millisecond),
		program("guard"), lasting(program("other"), time.Minute), program("none")))
	counted(t, registry, "hookgate_hook_timeout_seconds", map[string]float64{"guard": 2.5, "other": 60})
}

func TestTheOtherRouteMayBeListedForItsCodes(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	_, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: time.Second, MaxBudget: time.Second, MaxTurn: time.Second, InFlight: nobody, MaxInFlight: 1,
		Routes: []metrics.Route{{Pattern: "other", Codes: []int{404, 405}}, {Pattern: "/a", Codes: []int{200}}, {Pattern: "/a", Codes: []int{400}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sameSeries(t, registry, "hookgate_http_requests_total", []string{"404 other", "405 other", "200 /a", "400 /a"})
}

func TestM5_ObservingAllocatesNothing(t *testing.T) {
	m, _, c := configured(t, whole())
	o := c.Chains[0]
	answer, failure, verdict := allowed(), chain.Fail(chain.Timeout, "", ""), denial(chain.Timeout, "secrets")
	for _, tool := range []string{"shell", "mcp__git__push", "never_heard_of"} {
		req := request(t, chain.PreToolUse, tool)
		allocated := testing.AllocsPerRun(100, func() {
			for _, p := range o.Participants {
				p.Answered(chain.PreToolUse, answer, 2*time.Millisecond)
				p.Answered(chain.PostToolUse, failure, time.Second)
				p.FailedOpen(chain.Timeout)
				p.Flipped(chain.Allow, chain.Deny)
				p.Transition(metrics.BreakerClosed, metrics.BreakerOpen)
			}
			o.Chain.Decided(req, verdict)
			m.Request("/v1/decide", http.StatusOK, time.Millisecond)
		})
		if allocated != 0 {
			t.Errorf("observing a call of %q allocates %v times", tool, allocated)
		}
	}
}

func TestNewRefusesWhatItCannotMeasure(t *testing.T) {
	_, err := metrics.New(metrics.Options{Routes: []metrics.Route{{}, {Pattern: "/v1/decide", Codes: []int{200, 99}}}})
	want := `metrics: the registry is missing
metrics: the longest timeout 0s is not positive
metrics: the longest budget 0s is not positive
metrics: the longest turn 0s is not positive
metrics: the counter of requests in flight is missing, or their limit is not positive
metrics: a route has no pattern
metrics: route "/v1/decide": 99 is not an HTTP status`
	if err == nil || err.Error() != want {
		t.Errorf("refused with %v, want %s", err, want)
	}
}

func TestNewRegistersEverythingOrNothing(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := metrics.Options{Registerer: registry, MaxTimeout: time.Second, MaxBudget: time.Second, MaxTurn: time.Second, InFlight: nobody, MaxInFlight: 1}
	inTheWay := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	if err := registry.Register(inTheWay); err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.New(o); err == nil || err.Error() != "metrics: not registered: duplicate metrics collector registration attempted" {
		t.Errorf("refused with %v", err)
	}
	registry.Unregister(inTheWay)
	if left, err := registry.Gather(); err != nil || len(left) != 0 {
		t.Errorf("%d metrics of a failed New are left (%v)", len(left), err)
	}
	if _, err := metrics.New(o); err != nil {
		t.Errorf("with nothing in the way: %v", err)
	}
}

func TestConfigureRefusesWhatItCannotName(t *testing.T) {
	m, registry, _ := configured(t, tenant(program("guard")))
	before := everySeries(t, registry)
	_, err := m.Configure(metrics.Config{Chains: []metrics.Chain{
		{Participants: []*metrics.Participant{program("fine"), nil, program("")}},
		{Name: "acme", Participants: []*metrics.Participant{
			with(program("unbound"), func(p *metrics.Participant) { p.Binding = 0 }),
			with(program("overbound"), func(p *metrics.Participant) { p.Binding = 4 }),
			with(program("never"), func(p *metrics.Participant) { p.Events = nil }),
			with(endpoint("blind"), func(p *metrics.Participant) { p.State = nil }),
		}},
	}})
	want := `metrics: chain "operator": participant 1 is missing
metrics: chain "operator": participant 2 has no name
metrics: chain "acme": participant 0 "unbound" has no binding
metrics: chain "acme": participant 1 "overbound" has no binding
metrics: chain "acme": participant 2 "never" has no event
metrics: chain "acme": participant 3 "blind" has a circuit breaker, but nothing to read its state`
	if err == nil || err.Error() != want {
		t.Errorf("refused with\n%v\nwant\n%s", err, want)
	}
	if diff := cmp.Diff(before, everySeries(t, registry)); diff != "" {
		t.Errorf("series (-before +after):\n%s", diff)
	}
}

func TestApprovalsAreCountedAndReadWhenSomebodyLooks(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	waiting, up := 3, false
	m, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: time.Minute, MaxBudget: time.Minute, MaxTurn: time.Minute, InFlight: nobody, MaxInFlight: 1,
		Approvals: metrics.Approvals{Waiting: func() int { return waiting }, Up: func() bool { return up }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, o := range metrics.ApprovalOutcomes() {
		for range n + 1 {
			m.Approval(o)
		}
	}
	want := `# HELP hookgate_approvals_pending Calls to this gateway that wait for a person.
# TYPE hookgate_approvals_pending gauge
hookgate_approvals_pending 3
# HELP hookgate_approvals_store_up 1 if the approvals store is available or was not needed so far; 0 if it is unavailable, so every call that needs an approval is denied.
# TYPE hookgate_approvals_store_up gauge
hookgate_approvals_store_up 0
# HELP hookgate_approvals_total Calls that a person was asked about, by outcome.
# TYPE hookgate_approvals_total counter
hookgate_approvals_total{outcome="failed"} 1
hookgate_approvals_total{outcome="allowed"} 2
hookgate_approvals_total{outcome="denied"} 3
hookgate_approvals_total{outcome="expired"} 4
hookgate_approvals_total{outcome="withdrawn"} 5
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "hookgate_approvals_total", "hookgate_approvals_pending", "hookgate_approvals_store_up"); err != nil {
		t.Error(err)
	}
}

func TestConnectionsThatAreNotServedAreCountedByWhy(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(metrics.Options{
		Registerer: registry, MaxTimeout: time.Second, MaxBudget: time.Second, MaxTurn: time.Second,
		InFlight: nobody, MaxInFlight: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for why := range metrics.UnservedTimeout + 2 { // the first and the last value are not reasons
		for range int(why) {
			m.Unserved(why)
		}
	}
	counted(t, registry, "hookgate_http_unserved_connections_total", map[string]float64{
		"silent": 1, "handshake": 2, "malformed": 3, "timeout": 4,
	})
}
