package dashboards

// rollout is for whoever changes versions or files, and for the health of the
// replicas.
func rollout() sheet {
	const successful = "hookgate_config_last_reload_successful{" + ofJob + "}"
	return sheet{
		uid: "hookgate-rollout", title: "hookgate / Rollout and health",
		about: "Whether every replica runs the same version and the same files, and how much room it has.",
		variables: []variable{
			{name: "job", label: "Job", metric: "hookgate_build_info"},
		},
		rows: []row{
			{title: "Configuration", panels: []panel{
				{
					kind: number, title: "Replicas", unit: count, width: 6,
					does:    "Replicas that Prometheus reaches. Fewer than you run: some are down, or a network policy keeps Prometheus out.",
					queries: []query{{expr: "count(hookgate_build_info{" + ofJob + "})"}},
				},
				{
					kind: number, title: "Configurations in force", unit: count, width: 6, bad: 2,
					does:    "More than one for minutes: some replicas did not take up the files. A ConfigMap takes a minute; after that see the table below.",
					queries: []query{{expr: "count(count by (sha256) (hookgate_config_info{" + ofJob + "}))"}},
				},
				{
					kind: number, title: "Replicas that refuse the files", unit: count, width: 6, bad: 1,
					does:    "The files on disk are wrong and the configuration before stays. /readyz and the log say what is wrong; gateway check finds it before a rollout does.",
					queries: []query{{expr: "sum(1 - " + successful + ")"}},
				},
				{
					kind: number, title: "Oldest configuration", unit: seconds, width: 6,
					does:    "How long ago the replica that is furthest behind took up files. Much more than your last change: it did not see it.",
					queries: []query{{expr: "max(time() - hookgate_config_last_reload_success_timestamp_seconds{" + ofJob + "})"}},
				},
				{
					kind: table, title: "Configuration by replica", unit: count, width: 12,
					does:    "Replicas with different digests decide differently. Restart those that stay behind, and look whether their volume is a subPath mount, which never changes.",
					queries: []query{{expr: "max by (instance, sha256) (hookgate_config_info{" + ofJob + "})"}},
				},
				{
					kind: table, title: "Version by replica", unit: count, width: 12,
					does:    "Two versions are normal during a rollout. After it, a replica with the old one did not restart.",
					queries: []query{{expr: "max by (instance, version, revision, goversion) (hookgate_build_info{" + ofJob + "})"}},
				},
				{
					kind: lines, title: "Reloads", unit: count, width: 12,
					does:    "invalid: somebody changed a file and it was refused. ok again and again without anybody changing anything: something rewrites the files.",
					queries: []query{{expr: "sum by (result) (increase(hookgate_config_reloads_total{" + ofJob + "}[$__rate_interval]))", legend: "{{result}}"}},
				},
				{
					kind: timeline, title: "Files accepted, by replica", unit: count, width: 12,
					does:    "Since when a replica refuses the files on disk. Compare with who changed what then.",
					words:   map[string]word{"0": {"refused", "red"}, "1": {"good", "green"}},
					queries: []query{{expr: "min by (instance) (" + successful + ")", legend: "{{instance}}"}},
				},
			}},
			{title: "Certificates and approvals", panels: []panel{
				{
					kind: lines, title: "Time left of the listener's certificate", unit: seconds, width: 6,
					does:    "When it is over, callers refuse to connect, and most agents then let tools run. Renew it two weeks before; a renewed file is taken up by itself.",
					queries: []query{{expr: "hookgate_tls_certificate_expiry_timestamp_seconds{" + ofJob + "} - time()", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Calls that wait for a person", unit: count, width: 6,
					does:    "Each of them holds an agent. Rising: nobody looks at /ui/approvals.",
					queries: []query{{expr: "sum(hookgate_approvals_pending{" + ofJob + "})", legend: "waiting"}},
				},
				{
					kind: timeline, title: "Store of approvals, by replica", unit: count, width: 6,
					does:    "While it cannot be reached, whatever needs an approval is denied. The log says why.",
					words:   map[string]word{"0": {"not reached", "red"}, "1": {"good", "green"}},
					queries: []query{{expr: "min by (instance) (hookgate_approvals_store_up{" + ofJob + "})", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "What became of approvals", unit: perSecond, width: 6,
					does:    "expired: nobody answered in time, which denies. withdrawn: the agent gave up first. failed: they could not be asked; the log says why.",
					queries: []query{{expr: summed("outcome", "hookgate_approvals_total", ofJob), legend: "{{outcome}}"}},
				},
			}},
			{title: "Audit trail", panels: []panel{
				{
					kind: stack, title: "Audit records", unit: perSecond, width: 12,
					does:    "dropped: the sink is slower than decisions are made. failed: it could not keep them. Both are decisions without a record: repair the sink; the log says what is wrong with it.",
					queries: []query{{expr: summed("sink, result", "hookgate_audit_records_total", ofJob), legend: "{{sink}} {{result}}"}},
				},
				{
					kind: lines, title: "Decisions withheld for want of a record", unit: perSecond, width: 12, bad: 1e-9,
					does:    "audit.required is set, and a call that was allowed was denied because its record could not be made safe: the disk is full, or the database is slow or gone.",
					queries: []query{{expr: summed("", "hookgate_audit_withheld_total", ofJob), legend: "withheld"}},
				},
			}},
			{title: "Saturation", panels: []panel{
				{
					kind: lines, title: "Requests in flight, of what may be", unit: ratio, width: 8, warn: 0.5, bad: 0.8,
					does:    "At 100 % callers get 503, which denies. Rising with steady traffic: a hook hangs. With more traffic: more replicas.",
					queries: []query{{expr: "hookgate_http_requests_in_flight{" + ofJob + "} / hookgate_http_requests_in_flight_limit{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Calls refused for want of room", unit: perSecond, width: 8, bad: 1e-9,
					does:    "503: the gateway is full. saturated: a hook is at its max_in_flight. Raise the limit only if what stands behind it can take more.",
					queries: []query{{expr: summed("", "hookgate_http_requests_total", ofJob+`,code=~"429|503"`), legend: "429 and 503"}, {expr: summed("", "hookgate_hook_failures_total", ofJob+`,cause="saturated"`), legend: "saturated hooks"}},
				},
				{
					kind: lines, title: "Processor", unit: count, width: 8,
					does:    "Cores in use by replica. At its limit decisions become slow all at once: raise the limit or the number of replicas.",
					queries: []query{{expr: rate("process_cpu_seconds_total", ofJob) + " and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Memory", unit: bytes, width: 8,
					does:    "Grows with bodies in flight, up to 64 times HOOKGATE_MAX_REQUEST_BYTES. A steady rise without traffic is a fault: take a heap profile (HOOKGATE_PPROF) and report it.",
					queries: []query{{expr: "process_resident_memory_bytes{" + ofJob + "} and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Goroutines", unit: count, width: 8,
					does:    "A few for each request under way. Much more than that: calls hang; take a goroutine profile.",
					queries: []query{{expr: "go_goroutines{" + ofJob + "} and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
				{
					kind: lines, title: "Open files, of what may be", unit: ratio, width: 8, warn: 0.5, bad: 0.8,
					does:    "At 100 % no connection and no program can be opened, and calls are denied. Raise the limit of the container.",
					queries: []query{{expr: "process_open_fds{" + ofJob + "} / process_max_fds{" + ofJob + "} and on (instance) hookgate_build_info{" + ofJob + "}", legend: "{{instance}}"}},
				},
			}},
		},
	}
}
