package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Agent describes an agent of a configuration.
type Agent struct {
	// Name is the value of its series' label.
	Name string
	// Permission says whether it may request permission.
	Permission bool
	// InFlight returns how many of its turns are in flight. It is called on every
	// scrape and must be safe for concurrent use.
	InFlight func() int
}

func (a *Agent) check() error {
	switch {
	case a.Name == "":
		return errors.New("has no name")
	case a.InFlight == nil:
		return fmt.Errorf("%q has no counter of its turns", a.Name)
	}
	return nil
}

// TurnOutcome is how a turn of an agent ended. The zero TurnOutcome is a
// failure.
type TurnOutcome uint8

// The outcomes of a turn.
const (
	// TurnFailure means that the agent could not be started, crashed, or broke
	// off.
	TurnFailure TurnOutcome = iota
	// TurnResult means that the agent succeeded.
	TurnResult
	// TurnError means that the agent reported an error.
	TurnError
	// TurnTimeout means that the agent exceeded its timeout.
	TurnTimeout
	// TurnAbandoned means that the caller stopped waiting or reading.
	TurnAbandoned
)

// TurnOutcomes returns every outcome.
func TurnOutcomes() []TurnOutcome {
	return []TurnOutcome{TurnFailure, TurnResult, TurnError, TurnTimeout, TurnAbandoned}
}

// String returns the outcome's label value.
func (o TurnOutcome) String() string {
	switch o {
	case TurnResult:
		return "result"
	case TurnError:
		return "error"
	case TurnTimeout:
		return "timeout"
	case TurnAbandoned:
		return "abandoned"
	case TurnFailure:
	}
	return "failure"
}

func turnColumns() [][]string {
	var columns [][]string
	for _, o := range TurnOutcomes() {
		columns = append(columns, []string{o.String()})
	}
	return columns
}

// The columns of permissions.
const (
	permissionDenied = iota
	permissionAllowed
)

func permissionColumns() [][]string { return [][]string{{"deny"}, {"allow"}} }

// AgentObserver counts what one agent does. It is safe for concurrent use, and
// may be used before its configuration is activated and after it was replaced.
type AgentObserver struct {
	turns       *row
	permissions *row // nil if it may not request permission
	duration    prometheus.Observer
}

// Ended counts a turn.
func (o *AgentObserver) Ended(outcome TurnOutcome, took time.Duration) {
	if outcome > TurnAbandoned {
		outcome = TurnFailure
	}
	o.turns.inc(int(outcome))
	o.duration.Observe(took.Seconds())
}

// Answered counts the answer to a permission request.
func (o *AgentObserver) Answered(allowed bool) {
	column := permissionDenied
	if allowed {
		column = permissionAllowed
	}
	o.permissions.inc(column)
}

// agent creates the series of an agent.
func (d *draft) agent(a *Agent) *AgentObserver {
	name := clean(a.Name)
	o := &AgentObserver{
		turns:    d.turns.row(names{name}, 1<<len(TurnOutcomes())-1),
		duration: d.turnDurations.series([2]string{name}),
	}
	if a.Permission {
		o.permissions = d.permissions.row(names{name}, 1<<len(permissionColumns())-1)
	}
	d.turnsInFlight[name] = a.InFlight
	return o
}
