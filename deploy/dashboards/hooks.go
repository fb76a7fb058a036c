package dashboards

// hooks is for whoever owns a hook, or looks for the one that broke.
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
		about: "What each hook answers, how it fails, and how near its limits it is.",
		variables: []variable{
			{name: "job", label: "Job", metric: "hookgate_build_info"},
			{name: "hook", label: "Hook", metric: `hookgate_hook_answers_total{job=~"$job"}`},
		},
		rows: []row{
			{title: "Answers", panels: []panel{
				{
					kind: stack, title: "Answers by hook", unit: perSecond, width: 12,
					does:    "Nothing from a hook that should be asked: its tools or event do not match, or one before it denies everything.",
					queries: []query{{expr: summed("hook, answer", answers, ofHook) + " > 0", legend: "{{hook}} {{answer}}"}},
				},
				{
					kind: lines, title: "Denials by hook", unit: perSecond, width: 12,
					does:    "decision is the hook's own no, failure its inability to answer. A hook that never denies may have stopped guarding: send it a call that it must refuse.",
					queries: []query{{expr: summed("hook, why", "hookgate_denials_total", ofHook), legend: "{{hook}} {{why}}"}},
				},
			}},
			{title: "Failures", panels: []panel{
				{
					kind: stack, title: "Failures by cause", unit: perSecond, width: 8,
					does:    "timeout: slow. connect, tls, reset: network. status, malformed, empty: the hook's own code. spawn, exit, signal: its program. breaker_open: it failed before. saturated: more calls than its max_in_flight.",
					queries: []query{{expr: summed("hook, cause", failures, ofHook) + " > 0", legend: "{{hook}} {{cause}}"}},
				},
				{
					kind: lines, title: "Failed share by hook", unit: ratio, width: 8, warn: 0.001, bad: 0.01,
					does:    "Every failure denies a call, or passes it unchecked where on_failure is allow. Above 1 % agents notice: repair the hook or take it out of the chain.",
					queries: []query{{expr: share(summed("hook", failures, ofHook), summed("hook", answers, ofHook)), legend: "{{hook}}"}},
				},
				{
					kind: lines, title: "Passed unchecked, by hook", unit: perSecond, width: 8, bad: 1e-9,
					does:    "The hook failed and its entry says on_failure: allow. Anything but nothing wants a look: these calls ran without it.",
					queries: []query{{expr: summed("hook, cause", "hookgate_hook_fail_open_total", ofHook) + " > 0", legend: "{{hook}} {{cause}}"}},
				},
			}},
			{title: "Breakers", panels: []panel{
				{
					kind: timeline, title: "Breakers", unit: count, width: 16,
					does:  "Open: the endpoint failed too often in a row, on at least one replica, and every call there is denied at once. Repair the endpoint; it is tried again after open_ms.",
					words: map[string]word{"0": {"closed", "green"}, "1": {"half open", "yellow"}, "2": {"open", "red"}, "3": {"open and half open", "red"}},
					queries: []query{{
						expr: state("half_open") + " + 2 * " + state("open"), legend: "{{hook}}",
					}},
				},
				{
					kind: lines, title: "Changes of breakers", unit: perSecond, width: 8,
					does:    "A breaker that opens and closes all the time hides a hook that works half of the time: look at its failures, or raise consecutive_failures.",
					queries: []query{{expr: summed("hook, to", "hookgate_breaker_transitions_total", ofHook), legend: "{{hook}} to {{to}}"}},
				},
			}},
			{title: "Time and load", panels: []panel{
				{
					kind: lines, title: "p50 and p99 by hook", unit: seconds, width: 8,
					does:    "How long each hook takes. The slowest one is the time that agents wait.",
					queries: []query{{expr: quantile("0.5", "hook", took, ofHook), legend: "{{hook}} p50"}, {expr: quantile("0.99", "hook", took, ofHook), legend: "{{hook}} p99"}},
				},
				{
					kind: lines, title: "p99 as a share of the time-out", unit: ratio, width: 8, warn: 0.5, bad: 0.8,
					does:    "At 100 % calls are denied for time. Above 80 %: make the hook faster, give it more replicas, or raise its timeout_ms below the chain's budget.",
					queries: []query{{expr: "(" + quantile("0.99", "hook", took, ofHook) + ") / on (hook) min by (hook) (hookgate_hook_timeout_seconds{" + ofHook + "})", legend: "{{hook}}"}},
				},
				{
					kind: lines, title: "Calls in flight by hook", unit: count, width: 8,
					does:    "Calls that wait for the hook. Rising without more traffic: it hangs. At max_in_flight further calls are denied as saturated.",
					queries: []query{{expr: "sum by (hook) (hookgate_hook_in_flight{" + ofHook + "})", legend: "{{hook}}"}},
				},
			}},
			{title: "Connections", panels: []panel{
				{
					kind: stack, title: "Calls by connection", unit: perSecond, width: 8,
					does:    "Mostly new: the endpoint or something on the way closes connections, and every call pays for another handshake.",
					queries: []query{{expr: summed("hook, connection", "hookgate_hook_connections_total", ofHook), legend: "{{hook}} {{connection}}"}},
				},
				{
					kind: lines, title: "Retries and failed handshakes", unit: perSecond, width: 8,
					does:    "Retries: the endpoint closes connections that it kept open. certificate: its certificate is not trusted, or over. refused: it does not take ours. broken: it does not speak TLS.",
					queries: []query{{expr: summed("hook", "hookgate_hook_retries_total", ofHook), legend: "{{hook}} retried"}, {expr: summed("hook, why", "hookgate_hook_handshake_failures_total", ofHook), legend: "{{hook}} {{why}}"}},
				},
				{
					kind: lines, title: "Cold starts", unit: perSecond, width: 8,
					does:    "failed and slow are calls that paid for a cold endpoint: set warmup, or keep an instance running.",
					queries: []query{{expr: summed("hook, result", "hookgate_hook_first_calls_total", ofHook), legend: "{{hook}} first call {{result}}"}, {expr: summed("hook, result", "hookgate_hook_warmups_total", ofHook), legend: "{{hook}} ping {{result}}"}},
				},
			}},
			{title: "Canaries and shadows", panels: []panel{
				{
					kind: timeline, title: "Canaries", unit: count, width: 8,
					does:    "A canary is a call that the hook must deny. failing: it let it pass, or did not answer, so treat it as no guard at all until you know why. A hook that was never asked is failing too.",
					words:   map[string]word{"0": {"failing", "red"}, "1": {"denied", "green"}},
					queries: []query{{expr: "min by (hook) (hookgate_hook_canary_passing{" + ofHook + "})", legend: "{{hook}}"}},
				},
				{
					kind: lines, title: "Checks of canaries", unit: perSecond, width: 8,
					does:    "Nothing where something should be: the canary is not sent, and the panel beside this one shows an old answer.",
					queries: []query{{expr: summed("hook, result", "hookgate_hook_canary_checks_total", ofHook), legend: "{{hook}} {{result}}"}},
				},
				{
					kind: lines, title: "Decisions that a shadow would have changed", unit: perSecond, width: 8,
					does:    "What would happen if the hook enforced. Read the decisions it would have changed before you set mode: enforce; from allow to deny stops agents.",
					queries: []query{{expr: summed("hook, from, to", "hookgate_shadow_flips_total", ofHook), legend: "{{hook}}: {{from}} to {{to}}"}},
				},
			}},
		},
	}
}
