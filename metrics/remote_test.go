package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/metrics"
)

func TestTheWayToAnEndpointIsCounted(t *testing.T) {
	_, registry, c := configured(t, tenant(with(endpoint("dlp"), func(p *metrics.Participant) {
		p.Timeout, p.TLS, p.WarmsUp = time.Second, true, true
		p.CanaryPassing = func() bool { return true }
	})))
	o := c.Chains[0].Participants[0]
	o.FirstCall(time.Second, true)
	o.FirstCall(time.Second+1, true)
	o.FirstCall(time.Minute, true)
	o.FirstCall(time.Millisecond, false)
	o.Connected(false)
	o.Connected(true)
	o.Connected(true)
	o.Repeated()
	o.WarmedUp(true)
	o.WarmedUp(false)
	o.WarmedUp(false)
	o.CanaryChecked(true)
	o.CanaryChecked(false)
	o.HandshakeFailed(metrics.HandshakeRefused)
	o.HandshakeFailed(metrics.HandshakeTimeout)
	o.HandshakeFailed(0) // an invalid reason counts as broken
	o.HandshakeFailed(99)
	counted(t, registry, "hookgate_hook_first_calls_total", map[string]float64{"dlp prompt": 1, "dlp slow": 2, "dlp failed": 1})
	counted(t, registry, "hookgate_hook_connections_total", map[string]float64{"new dlp": 1, "reused dlp": 2})
	counted(t, registry, "hookgate_hook_retries_total", map[string]float64{"dlp": 1})
	counted(t, registry, "hookgate_hook_warmups_total", map[string]float64{"dlp passed": 1, "dlp failed": 2})
	counted(t, registry, "hookgate_hook_canary_checks_total", map[string]float64{"dlp passed": 1, "dlp failed": 1})
	counted(t, registry, "hookgate_hook_canary_passing", map[string]float64{"dlp": 1})
	counted(t, registry, "hookgate_hook_handshake_failures_total", map[string]float64{
		"dlp refused": 1, "dlp timeout": 1, "dlp broken": 2,
	})
}

func TestM2_WhatAParticipantDoesNotHaveIsNotCounted(t *testing.T) {
	_, registry, c := configured(t, tenant(program("guard")))
	o := c.Chains[0].Participants[0]
	o.FirstCall(time.Second, true)
	o.Connected(true)
	o.Repeated()
	o.HandshakeFailed(metrics.HandshakeBroken)
	o.WarmedUp(true)
	o.CanaryChecked(true)
	for _, name := range []string{
		"hookgate_hook_first_calls_total", "hookgate_hook_connections_total", "hookgate_hook_retries_total",
		"hookgate_hook_handshake_failures_total", "hookgate_hook_warmups_total", "hookgate_hook_canary_checks_total",
		"hookgate_hook_canary_passing", "hookgate_breaker_next_try_timestamp_seconds",
	} {
		if got := series(t, registry, name); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEntriesOfOneNameShareTheLatestTryAndTheWorstCanary(t *testing.T) {
	at := time.Unix(1_800_000_000, 500_000_000)
	entry := func(try time.Time, passing bool) *metrics.Participant {
		return with(endpoint("dlp"), func(p *metrics.Participant) {
			p.State = func() metrics.State { return metrics.State{Breaker: metrics.BreakerOpen, NextTry: try} }
			p.CanaryPassing = func() bool { return passing }
		})
	}
	_, registry, _ := configured(t, metrics.Config{Chains: []metrics.Chain{{OnUncovered: chain.DenyUncovered, Participants: []*metrics.Participant{
		entry(at, true), entry(time.Time{}, false), entry(at.Add(-time.Hour), true),
	}}}})
	counted(t, registry, "hookgate_breaker_next_try_timestamp_seconds", map[string]float64{"dlp": 1_800_000_000.5})
	if diff := cmp.Diff(map[string]float64{"dlp": 0}, series(t, registry, "hookgate_hook_canary_passing")); diff != "" {
		t.Errorf("canaries (-want +got):\n%s", diff)
	}
}

func TestOfSeveralCertificatesTheFirstToEndIsShown(t *testing.T) {
	early, late := time.Unix(1800000000, 0), time.Unix(1900000000, 0)
	until := func(client, ca time.Time) func(*metrics.Participant) {
		return func(p *metrics.Participant) {
			p.TLS, p.Certificates = true, map[metrics.Certificate]time.Time{metrics.ClientCertificate: client, metrics.CACertificate: ca}
		}
	}
	_, registry, _ := configured(t, tenant(with(endpoint("dlp"), until(late, early)), with(endpoint("dlp"), until(early, late)), endpoint("bare")))
	counted(t, registry, "hookgate_certificate_expiry_timestamp_seconds", map[string]float64{"client dlp": 1800000000, "ca dlp": 1800000000})
}
