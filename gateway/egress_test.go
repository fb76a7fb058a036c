package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// thisMachine returns the loopback addresses, for tests that forbid them.
func thisMachine() []string { return []string{"127.0.0.0/8", "::1"} }

func TestAttack_ATenantsHookDoesNotConnectWhereItMayNot(t *testing.T) {
	hook := newHookServer(t, answers(`{"decision":"allow"}`))
	named := strings.Replace(hook.URL, "127.0.0.1", "localhost", 1)
	dir := files(t, map[string]string{
		"hooks.yaml":        "schema: 1\nhooks:\n  - {name: own, url: " + hook.URL + "}\n",
		"chains/team.yaml":  "schema: 1\nhooks:\n  - {name: reaches, url: " + named + "/latest/meta-data, timeout_ms: 4000}\n",
		"chains/token.yaml": "schema: 1\nhooks:\n  - {name: fetches, url: 'http://192.0.2.1/', timeout_ms: 4000, auth: {oauth2: {token_url: '" + named + "/token', client_id: a, client_secret: b}}}\n",
	})
	r := start(t, Options{ConfigFile: dir + "/hooks.yaml", ChainsDir: dir + "/chains", Egress: EgressOptions{ChainsDeny: thisMachine()}})
	if decision, reason := r.decide("", preText); decision != "allow" {
		t.Errorf("the operator's own hook: %s: %s", decision, reason)
	}
	decision, reason := r.decide("team", preText)
	if want := "hook 'reaches' could not answer and denies on failure: could not be reached: the gateway's operator does not allow hooks to connect to its address"; decision != "deny" || reason != want {
		t.Errorf("%s: %s", decision, reason)
	}
	r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="connect",hook="reaches"}`, "1")
	list := r.do(http.MethodGet, r.base+"/v1/decisions?chain=team", "").body
	if !strings.Contains(list, "(localhost) are not allowed: ") {
		t.Errorf("the operator is not told why: %s", list)
	}
	if decision, reason = r.decide("token", preText); decision != "deny" || strings.Contains(reason, "127.0.0.1") {
		t.Errorf("%s: %s", decision, reason)
	}
	r.wantMetric(`hookgate_hook_failures_total{binding="webhook",cause="auth",hook="fetches"}`, "1")
	if n := hook.asked(); n != 3 { // only the operator's own hook, once for each decision
		t.Errorf("it was asked %d times", n)
	}
	reloaded := strings.Replace(hook.URL, "127.0.0.1", "2130706433", 1)
	write(t, dir+"/chains/team.yaml", "schema: 1\nhooks:\n\n  - {name: reaches, url: "+reloaded+"}\n")
	r.reload()
	r.wantMetric(`hookgate_config_reloads_total{result="invalid"}`, "1")
	if !strings.Contains(r.log.String(), `team.yaml:4: hooks[0]`) {
		t.Errorf("the log does not say where: %s", r.log.String())
	}
}

func TestAForbiddenAddressInATenantsFileIsAMistakeInItsLine(t *testing.T) {
	for _, entry := range []string{
		"url: 'http://169.254.169.254/latest'", "url: 'http://[::ffff:169.254.169.254]/'", "url: 'http://2852039166/'", "url: 'http://0251.0376.0251.0376/'",
		"url: 'http://0xa9fea9fe/'", "url: 'http://[fe80::1]/'", "url: 'http://[fd00:ec2::254]/'", "url: 'http://metadata.google.internal/'", "url: 'http://100.100.100.200/'",
		"url: 'https://hooks.example.com/', proxy: 'http://169.254.169.254:3128'",
		"url: 'https://hooks.example.com/', auth: {oauth2: {token_url: 'http://169.254.169.254/token', client_id: a, client_secret: b}}",
	} {
		t.Run(entry, func(t *testing.T) {
			text := "schema: 1\nhooks:\n  - {name: a, " + entry + "}\n"
			dir := files(t, map[string]string{"hooks.yaml": text, "chains/team.yaml": text})
			_, err := Check(Options{ConfigFile: dir + "/hooks.yaml"})
			if err != nil {
				t.Errorf("in the operator's own file: %v", err)
			}
			o := Options{ChainsDir: dir + "/chains"}
			_, err = Check(o)
			if err == nil || !strings.Contains(err.Error(), "team.yaml:3: hooks[0]") || !strings.Contains(err.Error(), " are not allowed: ") || !strings.Contains(err.Error(), "HOOKGATE_CHAINS_EGRESS_ALLOW") {
				t.Errorf("error %v", err)
			}
			if _, err := New(o); err == nil {
				t.Error("a gateway starts with it")
			}
			o.Egress.ChainsAllow = []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::254", "100.100.100.200", "metadata.google.internal"}
			if _, err := Check(o); err != nil {
				t.Errorf("allowed: %v", err)
			}
			if _, err := Check(Options{ConfigFile: dir + "/hooks.yaml", Egress: EgressOptions{Deny: []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::254", "100.100.100.200", "metadata.google.internal"}}}); err == nil {
				t.Error("what the operator refuses for every hook is not refused in his own file")
			}
		})
	}
}

func TestAnEgressListThatCannotBeReadIsFatal(t *testing.T) {
	for variable, o := range map[string]EgressOptions{
		"HOOKGATE_EGRESS_DENY": {Deny: []string{"10.0.0.0/33"}}, "HOOKGATE_CHAINS_EGRESS_ALLOW": {ChainsAllow: []string{"a b"}},
	} {
		_, err := New(Options{Egress: o})
		if err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), "is neither an address, a range like 10.0.0.0/8") {
			t.Errorf("%s: %v", fmt.Sprint(o), err)
		}
	}
}
