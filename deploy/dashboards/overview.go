package dashboards

// overview is the dashboard that shows whether the gateway works.
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
		about: "Decisions, who denies and why, and latency. Start here.",
		variables: []variable{
			{name: "job", label: "Job", metric: "hookgate_build_info"},
			{name: "chain", label: "Chain", metric: `hookgate_decisions_total{job=~"$job"}`},
		},
		rows: []row{
			{title: "Now", panels: []panel{
				{
					kind: number, title: "Decisions", unit: requests, width: 4,
					does:    "Rate of decisions. If it drops to zero while agents work, they no longer ask: check their settings first.",
					queries: []query{{expr: all}},
				},
				{
					kind: number, title: "Denied", unit: ratio, width: 4,
					does:    "The share of calls that are denied. A jump means that an agent tries something, or that a hook broke: the next panel shows which. Zero for a long time is suspicious too: send a call that must be denied.",
					queries: []query{{expr: share(summed("", decisions, ofChain+denied), all)}},
				},
				{
					kind: number, title: "Denied by failure", unit: ratio, width: 4, warn: 0.001, bad: 0.01,
					does:    "The share of calls that are denied because a hook could not answer. A fault stops agents: find the hook in 'Denials by hook', and the cause in the Hooks dashboard.",
					queries: []query{{expr: share(summed("", decisions, ofChain+failed), all)}},
				},
				{
					kind: number, title: "Failed open", unit: perSecond, width: 4, bad: 1e-9,
					does:    "Calls that passed although their hook failed, because its entry has on_failure: allow. Repair the hook, or set on_failure: deny.",
					queries: []query{{expr: summed("", "hookgate_hook_fail_open_total", ofJob)}},
				},
				{
					kind: number, title: "Uncovered", unit: perSecond, width: 4, bad: 1e-9,
					does:    "Calls that no hook checked. Give the tool a hook, or set on_uncovered: deny.",
					queries: []query{{expr: summed("", decisions, ofChain+`,cause="uncovered"`)}},
				},
				{
					kind: number, title: "Open breakers", unit: count, width: 4, bad: 1,
					does:    "Endpoints that failed so often that the gateway stopped asking them; every call to them fails at once. Check the endpoint; the gateway retries by itself.",
					queries: []query{{expr: `sum(hookgate_breaker_state{` + ofJob + `,state="open"})`}},
				},
			}},
			{title: "Denials", panels: []panel{
				{
					kind: lines, title: "Denied by policy and by failure", unit: ratio, width: 12,
					does:    "policy: a hook decided to deny. failure: a hook could not answer. If policy rises, read the reasons in GET /v1/decisions. If failure rises, repair the hook: the fault stops agents.",
					queries: []query{{expr: share(summed("", decisions, ofChain+`,decision="deny",cause="none"`), all), legend: "policy"}, {expr: share(summed("", decisions, ofChain+failed), all), legend: "failure"}},
				},
				{
					kind: stack, title: "Denials by cause", unit: requests, width: 12,
					does:    "none is a policy deny, uncovered a call that no hook applies to. Every other cause is a fault; see the table in the README for their meaning.",
					queries: []query{{expr: summed("cause", decisions, ofChain+denied) + " > 0", legend: "{{cause}}"}},
				},
				{
					kind: lines, title: "Denials by hook", unit: requests, width: 12,
					does:    "Who denies, and whether by decision or by failure. If one hook has failures, check that hook. If all have, check the network or the gateway.",
					queries: []query{{expr: "topk(20, " + summed("hook, why", denials, ofChain) + " > 0)", legend: "{{hook}} {{why}}"}},
				},
				{
					kind: lines, title: "Denials by tool", unit: requests, width: 12,
					does:    "Denials by tool. Tools that the configuration does not name are counted as other: name a tool in a hook to see it separately.",
					queries: []query{{expr: "topk(20, " + summed("tool", decisions, ofChain+denied) + " > 0)", legend: "{{tool}}"}},
				},
				{
					kind: lines, title: "Denial rate by chain", unit: ratio, width: 12,
					does:    "A tenant that stands out has a hook that changed or broke, or an agent that does something new.",
					queries: []query{{expr: share(summed("chain", decisions, ofChain+denied), summed("chain", decisions, ofChain)), legend: "{{chain}}"}},
				},
				{
					kind: lines, title: "Denial rate by tool", unit: ratio, width: 12,
					does:    "A tool near 100 % is one that agents keep trying: state in their instructions that it is off limits.",
					queries: []query{{expr: share(summed("tool", decisions, ofChain+denied), summed("tool", decisions, ofChain)), legend: "{{tool}}"}},
				},
			}},
			{title: "Answers", panels: []panel{
				{
					kind: stack, title: "Decisions by kind", unit: requests, width: 8,
					does:    "modify and replace change calls and results. If there are more than expected, the Hooks dashboard shows which hook rewrites.",
					queries: []query{{expr: summed("decision", decisions, ofChain), legend: "{{decision}}"}},
				},
				{
					kind: lines, title: "Decision latency", unit: seconds, width: 8,
					does:    "Agents wait this long before each tool runs. If p99 approaches the chain's budget_ms, calls are about to time out and be denied: find the slow hook.",
					queries: []query{{expr: quantile("0.5", "", took, ofChain), legend: "p50"}, {expr: quantile("0.99", "", took, ofChain), legend: "p99"}},
				},
				{
					kind: lines, title: "Decision latency p99 by chain", unit: seconds, width: 8,
					does:    "If one chain is slow, a hook of that tenant is slow. If all are slow, check the operator's hooks or the machine.",
					queries: []query{{expr: quantile("0.99", "chain", took, ofChain), legend: "{{chain}}"}},
				},
			}},
			{title: "Requests", panels: []panel{
				{
					kind: stack, title: "Requests by route and status", unit: requests, width: 6,
					does:    "499: the caller disconnected, because its timeout is shorter than the chain's. 503: the gateway is at its limit; add replicas, or find what hangs.",
					queries: []query{{expr: summed("route, code", "hookgate_http_requests_total", ofJob) + " > 0", legend: "{{route}} {{code}}"}},
				},
				{
					kind: lines, title: "Requests without a decision", unit: requests, width: 6,
					does:    "Refused before any hook was asked; each is a deny for its caller. 400: a client that speaks another version. 401 and 403: authentication and authorization of callers. 413: HOOKGATE_MAX_REQUEST_BYTES.",
					queries: []query{{expr: summed("code", "hookgate_http_requests_total", ofJob+`,code=~"[45].."`), legend: "{{code}}"}},
				},
				{
					kind: lines, title: "Connections without a request", unit: perSecond, width: 6,
					does:    "Refused before there was a request. malformed, handshake: not HTTP or TLS, or headers that are over the limit or cut off. timeout: headers that did not arrive in time. A high rate of these is a scan or an attack; silent alone is mostly health checks.",
					queries: []query{{expr: summed("why", "hookgate_http_unserved_connections_total", ofJob), legend: "{{why}}"}},
				},
				{
					kind: lines, title: "Request latency p99 by route", unit: seconds, width: 6,
					does:    "Includes reading the request and writing the response. If it is much higher than the decision latency, callers are slow or bodies are large.",
					queries: []query{{expr: quantile("0.99", "route", "hookgate_http_request_duration_seconds", ofJob), legend: "{{route}}"}},
				},
			}},
			{title: "Callers", panels: []panel{
				{
					kind: lines, title: "Failed authentication", unit: requests, width: 6,
					does:    "expired and unknown after a rotation: a caller still has the old token. in_url: a caller leaks its token, so rotate it. Many unknown without a reason: somebody is guessing tokens.",
					queries: []query{{expr: summed("reason", "hookgate_auth_failures_total", ofJob), legend: "{{reason}}"}},
				},
				{
					kind: stack, title: "Requests by caller", unit: requests, width: 6,
					does:    "scope and chain: a caller requests what it is not allowed to. rate and in_flight: it is at its limit, and further requests are denied.",
					queries: []query{{expr: summed("caller, result", "hookgate_caller_requests_total", ofJob), legend: "{{caller}} {{result}}"}},
				},
				{
					kind: lines, title: "Requests in flight by caller", unit: count, width: 6,
					does:    "A caller that keeps growing starves the others: give it max_in_flight.",
					queries: []query{{expr: "sum by (caller) (hookgate_caller_in_flight{" + ofJob + "})", legend: "{{caller}}"}},
				},
				{
					kind: lines, title: "Known agents: refusals and degradations", unit: requests, width: 6,
					does:    "A status is a request that was refused before any chain was asked: 400 means that the agent's format changed. An outcome is one that the agent's format cannot express: modify and replace were denied instead; for deny, the agent shows the result anyway.",
					queries: []query{{expr: summed("client, status", "hookgate_client_refusals_total", ofJob), legend: "{{client}} {{status}}"}, {expr: summed("client, outcome", "hookgate_client_degradations_total", ofJob), legend: "{{client}} {{outcome}}"}},
				},
			}},
			{title: "Agent turns", panels: []panel{
				{
					kind: stack, title: "Turns by outcome", unit: perSecond, width: 8,
					does:    "timeout: the profile's timeout_secs is too short, or the agent hangs. failure: it does not start or violates the protocol; its log line has the details.",
					queries: []query{{expr: summed("agent, outcome", "hookgate_turns_total", ofJob) + " > 0", legend: "{{agent}} {{outcome}}"}},
				},
				{
					kind: lines, title: "Permission requests of agents", unit: perSecond, width: 8,
					does:    "Answers to agents that asked whether a tool may run. If all are deny, the chain denies everything, or fails.",
					queries: []query{{expr: summed("agent, behavior", "hookgate_turn_permissions_total", ofJob), legend: "{{agent}} {{behavior}}"}},
				},
				{
					kind: lines, title: "Turns in flight and p99 duration", unit: seconds, width: 8,
					does:    "Long turns occupy processes. At HOOKGATE_MAX_TURNS turns in flight, callers get 503.",
					queries: []query{{expr: quantile("0.99", "agent", "hookgate_turn_duration_seconds", ofJob), legend: "p99 of {{agent}}"}, {expr: "sum by (agent) (hookgate_turns_in_flight{" + ofJob + "})", legend: "{{agent}} in flight"}},
				},
			}},
		},
	}
}
