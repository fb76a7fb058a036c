package dashboards

// rollout is the dashboard for rolling out versions or files, and for the
// health of the replicas.
func rollout() sheet {
	const successful = "hookgate_config_last_reload_successful{" + ofJob + "}"
	return sheet{
		uid: "hookgate-rollout", title: "hookgate / Rollout and health",
		about: "Whether all replicas run the same version and the same files, and how close they are to their limits.",
		variables: []variable{
			{name: "job", label: "Job", metric: "hookgate_build_info"},
		},
		rows: []row{
			{title: "Configuration", panels: []panel{
				{
					kind: number, title: "Replicas", unit: count, width: 6,
					does:    "Replicas that Prometheus reaches. If there are fewer than you run, some are down, or a network policy blocks Prometheus.",
					queries: []query{{expr: "count(hookgate_build_info{" + ofJob + "})"}},
				},
				{
					kind: number, title: "Configurations in force", unit: count, width: 6, bad: 2,
					does:    "If there is more than one for minutes, some replicas did not load the files. A ConfigMap takes a minute to arrive; after that, see the table below.",
					queries: []query{{expr: "count(count by (sha256) (hookgate_config_info{" + ofJob + "}))"}},
				},
				{
					kind: number, title: "Replicas that refuse the files", unit: count, width: 6, bad: 1,
					does:    "The files on disk are invalid and the previous configuration stays in force. /readyz and the log say what is wrong; run gateway check before each rollout to find it earlier.",
					queries: []query{{expr: "sum(1 - " + successful + ")"}},
				},
				{
					kind: number, title: "Oldest configuration", unit: seconds, width: 6,
					does:    "Time since the replica that is furthest behind loaded files. If it is much longer than since your last change, that replica missed the change.",
					queries: []query{{expr: "max(time() - hookgate_config_last_reload_success_timestamp_seconds{" + ofJob + "})"}},
				},
				{
					kind: table, title: "Configuration by replica", unit: count, width: 12,
					does:    "Replicas with different digests decide differently. Restart those that are behind, and check whether their volume is a subPath mount, which never changes.",
					queries: []query{{expr: "max by (instance, sha256) (hookgate_config_info{" + ofJob + "})"}},
				},
				{
					kind: table, title: "Version by replica", unit: count, width: 12,
					does:    "Two versions are normal during a rollout. After it, a replica with the old version did not restart.",
					queries: []query{{expr: "max by (instance, version, revision, goversion) (hookgate_build_info{" + ofJob + "})"}},
				},
				{
					kind: lines, title: "Reloads", unit: count, width: 12,
					does:    "invalid: a changed file was refused. Frequent ok without intended changes: something rewrites the files.",
					queries: []query{{expr: "sum by (result) (increase(hookgate_config_reloads_total{" + ofJob + "}[$__rate_interval]))", legend: "{{result}}"}},
				},
				{
					kind: timeline, title: "Files accepted, by replica", unit: count, width: 12,
					does:    "Shows since when a replica refuses the files on disk. Compare with what was changed at that time.",
					words:   map[string]word{"0": {"refused", "red"}, "1": {"good", "green"}},
					queries: []query{{expr: "min by (instance) (" + successful + ")", legend: "{{instance}}"}},
				},
			}},
			{title: "Certificates and approvals", panels: []panel{
				{
					kind: lines, title: "Time until the listener's certificate expires", unit: seconds, width: 6,
					does:    "Once it has expired, callers refuse to connect, and most agents then let tools run. Renew it two weeks earlier; the gateway reloads the renewed file.",
					queries: []query{{expr: "hookgate_tls_certificate_expiry_timestamp_seconds{" + ofJob + "} - time()", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Calls waiting for a person", unit: count, width: 6,
					does:    "Each one blocks an agent. If they rise, nobody is watching /ui/approvals.",
					queries: []query{{expr: "sum(hookgate_approvals_pending{" + ofJob + "})", legend: "waiting"}},
				},
				{
					kind: timeline, title: "Approvals store by replica", unit: count, width: 6,
					does:    "While it is unavailable, every call that needs an approval is denied. The log says why.",
					words:   map[string]word{"0": {"unavailable", "red"}, "1": {"good", "green"}},
					queries: []query{{expr: "min by (instance) (hookgate_approvals_store_up{" + ofJob + "})", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Approvals by outcome", unit: perSecond, width: 6,
					does:    "expired: nobody answered in time, so the call was denied. withdrawn: the agent gave up first. failed: the person could not be asked; the log says why.",
					queries: []query{{expr: summed("outcome", "hookgate_approvals_total", ofJob), legend: "{{outcome}}"}},
				},
			}},
			{title: "Audit trail", panels: []panel{
				{
					kind: stack, title: "Audit records", unit: perSecond, width: 12,
					does:    "dropped: the sink is slower than the decisions. failed: the sink could not store them. Both are decisions without a record: repair the sink; the log says what is wrong with it.",
					queries: []query{{expr: summed("sink, result", "hookgate_audit_records_total", ofJob), legend: "{{sink}} {{result}}"}},
				},
				{
					kind: lines, title: "Decisions withheld without a record", unit: perSecond, width: 12, bad: 1e-9,
					does:    "audit.required is set, and an allowed call was denied because its record could not be made durable: the disk is full, or the database is slow or down.",
					queries: []query{{expr: summed("", "hookgate_audit_withheld_total", ofJob), legend: "withheld"}},
				},
			}},
			{title: "Saturation", panels: []panel{
				{
					kind: lines, title: "Requests in flight (share of limit)", unit: ratio, width: 8, warn: 0.5, bad: 0.8,
					does:    "At 100 %, callers get 503, which denies. If it rises with steady traffic, a hook hangs. If it rises with traffic, add replicas.",
					queries: []query{{expr: "hookgate_http_requests_in_flight{" + ofJob + "} / hookgate_http_requests_in_flight_limit{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Calls refused at a limit", unit: perSecond, width: 8, bad: 1e-9,
					does:    "429: a caller is at its limit. 503: the gateway is at its limit. saturated: a hook is at its max_in_flight. Raise a limit only if the component behind it can take more.",
					queries: []query{{expr: summed("", "hookgate_http_requests_total", ofJob+`,code=~"429|503"`), legend: "429 and 503"}, {expr: summed("", "hookgate_hook_failures_total", ofJob+`,cause="saturated"`), legend: "saturated hooks"}},
				},
				{
					kind: lines, title: "CPU", unit: count, width: 8,
					does:    "Cores in use by replica. At the CPU limit, all decisions become slow: raise the limit or the number of replicas.",
					queries: []query{{expr: rate("process_cpu_seconds_total", ofJob) + " and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Memory", unit: bytes, width: 8,
					does:    "Grows with request bodies in flight, up to 64 times HOOKGATE_MAX_REQUEST_BYTES. A steady rise without traffic is a bug: take a heap profile (HOOKGATE_PPROF) and report it.",
					queries: []query{{expr: "process_resident_memory_bytes{" + ofJob + "} and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Goroutines", unit: count, width: 8,
					does:    "A few per request in flight. If there are many more, calls hang: take a goroutine profile.",
					queries: []query{{expr: "go_goroutines{" + ofJob + "} and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Open files (share of limit)", unit: ratio, width: 8, warn: 0.5, bad: 0.8,
					does:    "At 100 %, no connection can be opened and no program started, so calls are denied. Raise the limit of the container.",
					queries: []query{{expr: "process_open_fds{" + ofJob + "} / process_max_fds{" + ofJob + "} and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
			}},
		},
	}
}
