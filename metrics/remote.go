package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// remoteShapes describe what is counted of the way to a remote participant,
// beside its answers.
type remoteShapes struct {
	firstCalls, warmups *shape
}

func newRemoteShapes() remoteShapes {
	return remoteShapes{
		firstCalls: newShape("hook_first_calls_total",
			"Calls that found an endpoint cold: prompt within its timeout_ms, slow where only first_call_timeout_ms let it answer, failed otherwise.",
			[]string{"hook"}, []string{"result"}, firstCallColumns()),
		warmups: newShape("hook_warmups_total",
			"Pings that warm an endpoint up: passed where it answered with a decision, which decides nothing.",
			[]string{"hook"}, []string{"result"}, passColumns()),
	}
}

func (s *remoteShapes) descs() []*prometheus.Desc {
	return []*prometheus.Desc{s.firstCalls.desc, s.warmups.desc}
}

// remoteTables are their series in one configuration.
type remoteTables struct {
	firstCalls, warmups table
}

// tables returns them without rows, to follow others.
func (s *remoteShapes) tables(before *remoteTables) remoteTables {
	return remoteTables{
		firstCalls: newTable(s.firstCalls, &before.firstCalls),
		warmups:    newTable(s.warmups, &before.warmups),
	}
}

func (t *remoteTables) all() []*table { return []*table{&t.firstCalls, &t.warmups} }

// firstCallColumn is how a call ended that found the participant cold.
func firstCallColumn(o *ParticipantObserver, took time.Duration, answered bool) int {
	switch {
	case !answered:
		return 2
	case o.timeout > 0 && took > o.timeout:
		return 1
	}
	return 0
}

func firstCallColumns() [][]string { return [][]string{{"prompt"}, {"slow"}, {"failed"}} }

// passColumn is whether something passed.
func passColumn(passed bool) int {
	if passed {
		return 0
	}
	return 1
}

func passColumns() [][]string { return [][]string{{"passed"}, {"failed"}} }

// firstOf are the first so many columns.
func firstOf(n int) columns { return 1<<n - 1 }

// FirstCall counts a call that found the participant cold: in time, late by
// its usual time-out, or not answered at all.
func (o *ParticipantObserver) FirstCall(took time.Duration, answered bool) {
	o.firstCalls.inc(firstCallColumn(o, took, answered))
}

// WarmedUp counts a try to warm the participant up.
func (o *ParticipantObserver) WarmedUp(passed bool) { o.warmups.inc(passColumn(passed)) }

// way makes the series of the way to a remote participant.
func (d *draft) way(o *ParticipantObserver, name string, p *Participant) {
	if p.Binding != Webhook {
		return
	}
	o.firstCalls = d.remote.firstCalls.row(names{name}, firstOf(len(firstCallColumns())))
	if p.WarmsUp {
		o.warmups = d.remote.warmups.row(names{name}, firstOf(len(passColumns())))
	}
}
