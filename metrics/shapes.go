package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// namespace is the prefix of every metric's name.
const namespace = "hookgate_"

// shapes describe the metrics whose series depend on the configuration.
type shapes struct {
	decisions, denials                              *shape
	answers, failures, failOpen, flips, transitions *shape
	turns, permissions, callers                     *shape
	remote                                          remoteShapes
	decisionDurations, hookDurations, turnDurations prometheus.HistogramOpts
	breakerState, breakerNextTry, canaryPassing     *prometheus.Desc
	inFlight, configInfo, configSince               *prometheus.Desc
	certificateExpiry                               *prometheus.Desc
	hookTimeout, turnsInFlight, callersInFlight     *prometheus.Desc
}

// newShapes returns the metrics for decisions that take up to maxBudget, calls
// to participants that take up to maxTimeout and turns that take up to maxTurn.
func newShapes(maxBudget, maxTimeout, maxTurn time.Duration) *shapes {
	return &shapes{
		decisions: newShape("decisions_total",
			"Decisions of each chain. The cause is none if answers decided, uncovered if no participant applied, else the cause of the failure that denied.",
			[]string{"chain", "event", "tool"}, []string{"decision", "cause"}, outcomeColumns()),
		denials: newShape("denials_total",
			"Denials, by the participant that denied and why: decision (a policy deny) or failure (it could not answer).",
			[]string{"chain", "hook", "tool"}, []string{"event", "why"}, denialColumns()),
		answers: newShape("hook_answers_total",
			"Answers of each participant, including failures to answer.",
			[]string{"hook", "binding"}, []string{"event", "mode", "answer"}, answerColumns()),
		failures: newShape("hook_failures_total",
			"Failures of each participant to answer, by cause.",
			[]string{"hook", "binding"}, []string{"cause"}, causeColumns()),
		failOpen: newShape("hook_fail_open_total",
			"Failures that let a call through unchecked, because the participant's entry has on_failure: allow.",
			[]string{"hook"}, []string{"cause"}, causeColumns()),
		flips: newShape("shadow_flips_total",
			"Decisions that a hook in shadow mode would have changed.",
			[]string{"hook"}, []string{"from", "to"}, flipColumns()),
		transitions: newShape("breaker_transitions_total",
			"Changes of each circuit breaker from one state to another.",
			[]string{"hook"}, []string{"from", "to"}, transitionColumns()),
		turns: newShape("turns_total",
			"Turns of each agent, by how they ended: result, error (reported by the agent), timeout, abandoned (the caller disconnected), else failure.",
			[]string{"agent"}, []string{"outcome"}, turnColumns()),
		permissions: newShape("turn_permissions_total",
			"Answers to the permission requests of each agent.",
			[]string{"agent"}, []string{"behavior"}, permissionColumns()),
		callers: newShape("caller_requests_total",
			"Requests of each caller: admitted, or refused because of its scopes, chains, rate or limit of requests in flight.",
			[]string{"caller"}, []string{"result"}, admissionColumns()),
		remote: newRemoteShapes(),
		decisionDurations: durations("decision_duration_seconds",
			"How long chains took to decide.", ladder(maxBudget)),
		hookDurations: durations("hook_duration_seconds",
			"How long participants that were asked took to answer or to fail.", ladder(maxTimeout)),
		turnDurations: durations("turn_duration_seconds",
			"How long turns of agents took.", ladder(maxTurn)),
		breakerState: prometheus.NewDesc(namespace+"breaker_state",
			"1 if a circuit breaker of the hook is in the state, else 0.", []string{"hook", "state"}, nil),
		hookTimeout: prometheus.NewDesc(namespace+"hook_timeout_seconds",
			"The timeout of a call to the hook; the shortest one if several entries have the name.", []string{"hook"}, nil),
		certificateExpiry: prometheus.NewDesc(namespace+"certificate_expiry_timestamp_seconds",
			"When the first certificate for the connection to the hook expires: client (the gateway's own) or ca (which the gateway trusts).",
			[]string{"hook", "certificate"}, nil),
		breakerNextTry: prometheus.NewDesc(namespace+"breaker_next_try_timestamp_seconds",
			"When an open circuit breaker of the hook lets the next call through; 0 if none is open.", []string{"hook"}, nil),
		canaryPassing: prometheus.NewDesc(namespace+"hook_canary_passing",
			"1 if the hook denied its canary at the last check; 0 if not, or before the first check.", []string{"hook"}, nil),
		inFlight: prometheus.NewDesc(namespace+"hook_in_flight",
			"Calls to the hook in flight.", []string{"hook"}, nil),
		turnsInFlight: prometheus.NewDesc(namespace+"turns_in_flight",
			"Turns of the agent in flight.", []string{"agent"}, nil),
		callersInFlight: prometheus.NewDesc(namespace+"caller_in_flight",
			"Requests of the caller in flight.", []string{"caller"}, nil),
		configInfo: prometheus.NewDesc(namespace+"config_info",
			"The digest of the active configuration.", []string{"sha256"}, nil),
		configSince: prometheus.NewDesc(namespace+"config_last_reload_success_timestamp_seconds",
			"When the latest reload succeeded; before any reload, the start.", nil, nil),
	}
}

// descs are the descriptions that the collector can announce. Those of the
// histograms come and go with their series.
func (s *shapes) descs() []*prometheus.Desc {
	return append(s.remote.descs(),
		s.decisions.desc, s.denials.desc,
		s.answers.desc, s.failures.desc, s.failOpen.desc, s.flips.desc, s.transitions.desc,
		s.turns.desc, s.permissions.desc, s.callers.desc,
		s.breakerState, s.breakerNextTry, s.canaryPassing, s.inFlight, s.hookTimeout, s.certificateExpiry, s.turnsInFlight, s.callersInFlight, s.configInfo, s.configSince,
	)
}
