package dashboards

// overview is for whoever wants to know whether the gateway does its work.
func overview() sheet {
	const (
		decisions = "hookgate_decisions_total"
		denials   = "hookgate_denials_total"
		took      = "hookgate_decision_duration_seconds"
		denied    = `,decision="deny"`
		failed    = `,decision="deny",cause!~"none|uncovered"`
	)
	all := summed("", decisions, ofChain)
	return sheet{
		uid: "hookgate-overview", title: "hookgate / Overview",
		about: "What is decided, who denies and why, and how long it takes. Start here.",
		variables: []variable{
			{name: "job", label: "Job", metric: "hookgate_build_info"},
			{name: "chain", label: "Chain", metric: `hookgate_decisions_total{job=~"$job"}`},
		},
		rows: []row{
			{title: "Now", panels: []panel{
				{
					kind: number, title: "Decisions", unit: requests, width: 4,
					does:    "How many calls are decided. If it falls to nothing while agents work, they no longer ask: look at their settings before anything else.",
					queries: []query{{expr: all}},
				},
				{
					kind: number, title: "Denied", unit: ratio, width: 4,
					does:    "The share of calls that are denied. A jump is an agent that tries something, or a hook that broke: the next panel tells them apart. Zero for long is suspicious too: try a call that must be denied.",
					queries: []query{{expr: share(summed("", decisions, ofChain+denied), all)}},
				},
				{
					kind: number, title: "Denied because nobody could answer", unit: ratio, width: 4, warn: 0.001, bad: 0.01,
					does:    "The share of calls that are denied although no hook said no. Agents are stopped by a fault: find the hook in 'Denials by hook', its cause in the Hooks dashboard.",
					queries: []query{{expr: share(summed("", decisions, ofChain+failed), all)}},
				},
				{
					kind: number, title: "Passed unchecked", unit: perSecond, width: 4, bad: 1e-9,
					does:    "Calls that passed although their hook failed, because its entry says on_failure: allow. Repair the hook, or let it deny.",
					queries: []query{{expr: summed("", "hookgate_hook_fail_open_total", ofJob)}},
				},
				{
					kind: number, title: "Uncovered", unit: perSecond, width: 4, bad: 1e-9,
					does:    "Calls that no hook looked at. Give the tool a hook, or say on_uncovered: deny.",
					queries: []query{{expr: summed("", decisions, ofChain+`,cause="uncovered"`)}},
				},
				{
					kind: number, title: "Open breakers", unit: count, width: 4, bad: 1,
					does:    "Endpoints that failed so often that they are not asked any more; every call to them is denied at once. Look at the endpoint; the gateway tries again by itself.",
					queries: []query{{expr: `sum(hookgate_breaker_state{` + ofJob + `,state="open"})`}},
				},
			}},
			{title: "Denials", panels: []panel{
				{
					kind: lines, title: "Denied by policy and by failure", unit: ratio, width: 12,
					does:    "Policy is a hook that said no, failure a hook that could not answer. Policy that rises: read the reasons in GET /v1/decisions. Failure that rises: repair, it stops agents.",
					queries: []query{{expr: share(summed("", decisions, ofChain+`,decision="deny",cause="none"`), all), legend: "policy"}, {expr: share(summed("", decisions, ofChain+failed), all), legend: "failure"}},
				},
				{
					kind: stack, title: "Denials by cause", unit: requests, width: 12,
					does:    "none is a hook's own no. Every other cause is a fault; the README's table says what each of them means.",
					queries: []query{{expr: summed("cause", decisions, ofChain+denied) + " > 0", legend: "{{cause}}"}},
				},
				{
					kind: lines, title: "Denials by hook", unit: requests, width: 12,
					does:    "Who denies, and whether by decision or by failure. One hook with failure alone: that hook. All of them: the network or the gateway.",
					queries: []query{{expr: "topk(20, " + summed("hook, why", denials, ofChain) + " > 0)", legend: "{{hook}} {{why}}"}},
				},
				{
					kind: lines, title: "Denials by tool", unit: requests, width: 12,
					does:    "What is denied. Tools that the configuration does not name are other: name one in a hook to see it alone.",
					queries: []query{{expr: "topk(20, " + summed("tool", decisions, ofChain+denied) + " > 0)", legend: "{{tool}}"}},
				},
				{
					kind: lines, title: "Denied share by chain", unit: ratio, width: 12,
					does:    "A tenant that stands out has a hook of its own that changed or broke, or an agent that does something new.",
					queries: []query{{expr: share(summed("chain", decisions, ofChain+denied), summed("chain", decisions, ofChain)), legend: "{{chain}}"}},
				},
				{
					kind: lines, title: "Denied share by tool", unit: ratio, width: 12,
					does:    "A tool near 100 % is one that agents keep trying: tell them in their instructions that it is off limits.",
					queries: []query{{expr: share(summed("tool", decisions, ofChain+denied), summed("tool", decisions, ofChain)), legend: "{{tool}}"}},
				},
			}},
			{title: "Answers", panels: []panel{
				{
					kind: stack, title: "Decisions by kind", unit: requests, width: 8,
					does:    "modify and replace change calls and results. More of them than expected: look which hook rewrites in the Hooks dashboard.",
					queries: []query{{expr: summed("decision", decisions, ofChain), legend: "{{decision}}"}},
				},
				{
					kind: lines, title: "Time to decide", unit: seconds, width: 8,
					does:    "Agents wait this long before each tool runs. If p99 nears the chain's budget_ms, calls are about to be denied for time: see which hook is slow.",
					queries: []query{{expr: quantile("0.5", "", took, ofChain), legend: "p50"}, {expr: quantile("0.99", "", took, ofChain), legend: "p99"}},
				},
				{
					kind: lines, title: "p99 by chain", unit: seconds, width: 8,
					does:    "One slow chain is a slow hook of that tenant; all slow is an operator's hook or the machine.",
					queries: []query{{expr: quantile("0.99", "chain", took, ofChain), legend: "{{chain}}"}},
				},
			}},
			{title: "Requests", panels: []panel{
				{
					kind: stack, title: "Requests by route and status", unit: requests, width: 8,
					does:    "499 is a caller that hung up: its time-out is shorter than the chain's. 503 is a gateway that is full: more replicas, or see what hangs.",
					queries: []query{{expr: summed("route, code", "hookgate_http_requests_total", ofJob) + " > 0", legend: "{{route}} {{code}}"}},
				},
				{
					kind: lines, title: "Requests that got no decision", unit: requests, width: 8,
					does:    "Refused before any hook was asked; each is a deny to its caller. 400: a client that speaks another version. 401 and 403: who may ask. 413: HOOKGATE_MAX_REQUEST_BYTES.",
					queries: []query{{expr: summed("code", "hookgate_http_requests_total", ofJob+`,code=~"[45].."`), legend: "{{code}}"}},
				},
				{
					kind: lines, title: "p99 of requests by route", unit: seconds, width: 8,
					does:    "Reading the request and writing the answer included. Much more than the time to decide: slow callers or large bodies.",
					queries: []query{{expr: quantile("0.99", "route", "hookgate_http_request_duration_seconds", ofJob), legend: "{{route}}"}},
				},
			}},
			{title: "Callers", panels: []panel{
				{
					kind: lines, title: "Refused because nobody is known", unit: requests, width: 6,
					does:    "expired and unknown after a change of tokens: a caller still has the old one. in_url: a caller leaks its token, exchange it. Many unknown from nowhere: somebody tries.",
					queries: []query{{expr: summed("reason", "hookgate_auth_failures_total", ofJob), legend: "{{reason}}"}},
				},
				{
					kind: stack, title: "Requests by caller", unit: requests, width: 6,
					does:    "scope and chain: a caller asks for what it may not. rate and in_flight: it is at its limit, and what is refused there is a deny.",
					queries: []query{{expr: summed("caller, result", "hookgate_caller_requests_total", ofJob), legend: "{{caller}} {{result}}"}},
				},
				{
					kind: lines, title: "Requests under way by caller", unit: count, width: 6,
					does:    "One caller that grows without end keeps the others out: give it max_in_flight.",
					queries: []query{{expr: "sum by (caller) (hookgate_caller_in_flight{" + ofJob + "})", legend: "{{caller}}"}},
				},
				{
					kind: lines, title: "Known agents: not decided, not told", unit: requests, width: 6,
					does:    "A status is a request that no chain decided: 400 is an agent whose dialect changed. An outcome is what the agent's dialect has no word for, so it was denied instead, or not told.",
					queries: []query{{expr: summed("client, status", "hookgate_client_refusals_total", ofJob), legend: "{{client}} {{status}}"}, {expr: summed("client, outcome", "hookgate_client_degradations_total", ofJob), legend: "{{client}} {{outcome}}"}},
				},
			}},
			{title: "Turns of agents", panels: []panel{
				{
					kind: stack, title: "Turns by outcome", unit: perSecond, width: 8,
					does:    "timeout: the profile's timeout_secs is too short or the agent hangs. failure: it does not start or breaks the protocol; its log line says how.",
					queries: []query{{expr: summed("agent, outcome", "hookgate_turns_total", ofJob) + " > 0", legend: "{{agent}} {{outcome}}"}},
				},
				{
					kind: lines, title: "Permissions asked by agents", unit: perSecond, width: 8,
					does:    "What agents were told when they asked whether a tool may run. Only deny: the chain refuses everything, or fails.",
					queries: []query{{expr: summed("agent, behavior", "hookgate_turn_permissions_total", ofJob), legend: "{{agent}} {{behavior}}"}},
				},
				{
					kind: lines, title: "Turns under way and their p99", unit: seconds, width: 8,
					does:    "Long turns hold processes. Many under way at HOOKGATE_MAX_TURNS: callers get 503.",
					queries: []query{{expr: quantile("0.99", "agent", "hookgate_turn_duration_seconds", ofJob), legend: "p99 of {{agent}}"}, {expr: "sum by (agent) (hookgate_turns_in_flight{" + ofJob + "})", legend: "{{agent}} under way"}},
				},
			}},
		},
	}
}
