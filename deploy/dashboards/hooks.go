package dashboards

// hooks is the dashboard for the owner of a hook, and for finding a broken one.
func hooks() sheet {
	const (
		answers  = "hookgate_hook_answers_total"
		failures = "hookgate_hook_failures_total"
		took     = "hookgate_hook_duration_seconds"
		breaker  = "hookgate_breaker_state"
	)
	state := func(name string) string {
		return "max by (hook) (" + breaker + "{" + ofHook + `,state="` + name + `"})`
	}
	return sheet{
		uid: "hookgate-hooks", title: "hookgate / Hooks",
		about: "What each hook answers, how it fails, and how close it is to its limits.",
		variables: []variable{
			{name: "job", label: "Job", metric: "hookgate_build_info"},
			{name: "hook", label: "Hook", metric: `hookgate_hook_answers_total{job=~"$job"}`},
		},
		rows: []row{
			{title: "Answers", panels: []panel{
				{
					kind: stack, title: "Answers by hook", unit: perSecond, width: 12,
					does:    "If a hook that should be asked shows nothing, its tools or event do not match, or an earlier hook denies everything.",
					queries: []query{{expr: summed("hook, answer", answers, ofHook) + " > 0", legend: "{{hook}} {{answer}}"}},
				},
				{
					kind: lines, title: "Denials by hook", unit: perSecond, width: 12,
					does:    "decision is a policy deny, failure means that the hook could not answer. A hook that never denies may have stopped guarding: send it a call that it must deny.",
					queries: []query{{expr: summed("hook, why", "hookgate_denials_total", ofHook), legend: "{{hook}} {{why}}"}},
				},
			}},
			{title: "Failures", panels: []panel{
				{
					kind: stack, title: "Failures by cause", unit: perSecond, width: 8,
					does:    "timeout: the hook is slow. connect, tls, reset: network. status, malformed, empty: the code of the hook. spawn, exit, signal: its program. breaker_open: it failed before. saturated: more calls than its max_in_flight.",
					queries: []query{{expr: summed("hook, cause", failures, ofHook) + " > 0", legend: "{{hook}} {{cause}}"}},
				},
				{
					kind: lines, title: "Failure rate by hook", unit: ratio, width: 8, warn: 0.001, bad: 0.01,
					does:    "Every failure denies a call, or lets it pass unchecked if on_failure is allow. Above 1 % agents notice: repair the hook or remove it from the chain.",
					queries: []query{{expr: share(summed("hook", failures, ofHook), summed("hook", answers, ofHook)), legend: "{{hook}}"}},
				},
				{
					kind: lines, title: "Failed open by hook", unit: perSecond, width: 8, bad: 1e-9,
					does:    "The hook failed and its entry has on_failure: allow. Investigate anything above zero: these calls ran unchecked.",
					queries: []query{{expr: summed("hook, cause", "hookgate_hook_fail_open_total", ofHook) + " > 0", legend: "{{hook}} {{cause}}"}},
				},
			}},
			{title: "Circuit breakers", panels: []panel{
				{
					kind: timeline, title: "Circuit breakers", unit: count, width: 16,
					does:  "Open: the endpoint failed too often, on at least one replica, and every call there fails at once. Repair the endpoint; the breaker lets probes through after open_ms.",
					words: map[string]word{"0": {"closed", "green"}, "1": {"half-open", "yellow"}, "2": {"open", "red"}, "3": {"open and half-open", "red"}},
					queries: []query{{
						expr: state("half_open") + " + 2 * " + state("open"), legend: "{{hook}}",
					}},
				},
				{
					kind: lines, title: "Breaker state changes", unit: perSecond, width: 8,
					does:    "A breaker that keeps opening and closing hides a hook that works half of the time: check its failures, or raise consecutive_failures.",
					queries: []query{{expr: summed("hook, to", "hookgate_breaker_transitions_total", ofHook), legend: "{{hook}} to {{to}}"}},
				},
			}},
			{title: "Latency and load", panels: []panel{
				{
					kind: lines, title: "p50 and p99 by hook", unit: seconds, width: 8,
					does:    "Latency of each hook. Agents wait for the slowest one.",
					queries: []query{{expr: quantile("0.5", "hook", took, ofHook), legend: "{{hook}} p50"}, {expr: quantile("0.99", "hook", took, ofHook), legend: "{{hook}} p99"}},
				},
				{
					kind: lines, title: "p99 as a share of the timeout", unit: ratio, width: 8, warn: 0.5, bad: 0.8,
					does:    "At 100 %, calls time out and are denied. Above 80 %: make the hook faster, give it more replicas, or raise its timeout_ms, but keep it below the chain's budget.",
					queries: []query{{expr: "(" + quantile("0.99", "hook", took, ofHook) + ") / on (hook) min by (hook) (hookgate_hook_timeout_seconds{" + ofHook + "})", legend: "{{hook}}"}},
				},
				{
					kind: lines, title: "Calls in flight by hook", unit: count, width: 8,
					does:    "Calls that wait for the hook. If they rise without more traffic, the hook hangs. Beyond max_in_flight, calls fail as saturated.",
					queries: []query{{expr: "sum by (hook) (hookgate_hook_in_flight{" + ofHook + "})", legend: "{{hook}}"}},
				},
			}},
			{title: "Connections", panels: []panel{
				{
					kind: stack, title: "Calls by connection", unit: perSecond, width: 8,
					does:    "If most are new, the endpoint or something in between closes connections, and every call pays for another handshake.",
					queries: []query{{expr: summed("hook, connection", "hookgate_hook_connections_total", ofHook), legend: "{{hook}} {{connection}}"}},
				},
				{
					kind: lines, title: "Retries and failed handshakes", unit: perSecond, width: 8,
					does:    "Retries: the endpoint closes idle connections. certificate: its certificate is not trusted or has expired. refused: it does not accept ours. broken: it does not speak TLS.",
					queries: []query{{expr: summed("hook", "hookgate_hook_retries_total", ofHook), legend: "{{hook}} retried"}, {expr: summed("hook, why", "hookgate_hook_handshake_failures_total", ofHook), legend: "{{hook}} {{why}}"}},
				},
				{
					kind: lines, title: "Cold starts", unit: perSecond, width: 8,
					does:    "failed and slow are calls that met a cold endpoint: set warmup, or keep an instance running.",
					queries: []query{{expr: summed("hook, result", "hookgate_hook_first_calls_total", ofHook), legend: "{{hook}} first call {{result}}"}, {expr: summed("hook, result", "hookgate_hook_warmups_total", ofHook), legend: "{{hook}} ping {{result}}"}},
				},
			}},
			{title: "Canaries and shadow mode", panels: []panel{
				{
					kind: timeline, title: "Canaries", unit: count, width: 8,
					does:    "A canary is a call that the hook must deny. failing: the hook did not deny it, or did not answer. Treat it as no guard at all until you know why. A canary that was never checked is failing too.",
					words:   map[string]word{"0": {"failing", "red"}, "1": {"denied", "green"}},
					queries: []query{{expr: "min by (hook) (hookgate_hook_canary_passing{" + ofHook + "})", legend: "{{hook}}"}},
				},
				{
					kind: lines, title: "Canary checks", unit: perSecond, width: 8,
					does:    "If this shows nothing for a hook with a canary, the canary is not sent, and the panel beside this one shows an old result.",
					queries: []query{{expr: summed("hook, result", "hookgate_hook_canary_checks_total", ofHook), legend: "{{hook}} {{result}}"}},
				},
				{
					kind: lines, title: "Decisions that shadow mode would have changed", unit: perSecond, width: 8,
					does:    "What would happen in enforce mode. Before you set mode: enforce, review these decisions: allow to deny stops agents.",
					queries: []query{{expr: summed("hook, from, to", "hookgate_shadow_flips_total", ofHook), legend: "{{hook}}: {{from}} to {{to}}"}},
				},
			}},
		},
	}
}
