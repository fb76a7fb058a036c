package gateway

import (
	"strconv"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/transport/agentproc"
)

// turnLine is one event of a turn as the client receives it: one JSON object on
// one line, kept without its closing brace.
type turnLine struct {
	kind string
	text []byte
}

func newTurnLine(kind string) turnLine {
	return turnLine{kind, chain.AppendString([]byte(`{"type":`), kind)}
}

// add adds a member with a string value.
func (l *turnLine) add(name, value string) {
	l.addRaw(name, chain.AppendString(nil, value))
}

// addRaw adds a member with a JSON value.
func (l *turnLine) addRaw(name string, value []byte) {
	l.text = append(append(append(append(l.text, `,"`...), name...), `":`...), chain.OneLine(value)...)
}

func partialLine(p agentproc.Partial) turnLine {
	l := newTurnLine("partial")
	l.add("text", p.Text)
	if p.Role != "" {
		l.add("role", p.Role)
	}
	return l
}

// permissionLine reports the answer to a permission request. The decision id is
// empty if no chain was asked.
func permissionLine(r agentproc.Response) turnLine {
	l := newTurnLine("permission")
	l.add("request_id", r.RequestID)
	l.add("tool_name", r.ToolName)
	l.add("behavior", r.Answer.Behavior.String())
	if r.Answer.Message != "" {
		l.add("message", r.Answer.Message)
	}
	l.add("decision_id", r.Answer.DecisionID)
	if r.Undelivered != nil {
		l.add("undelivered", r.Undelivered.Error())
	}
	return l
}

// lastTurnLine reports how a turn ended.
func lastTurnLine(agent string, result agentproc.Result, err error) turnLine {
	var l turnLine
	if result.Succeeded && err == nil {
		l = newTurnLine("result")
		l.add("text", result.Text)
	} else {
		l = newTurnLine("error")
		l.add("message", "agent '"+agent+"' "+turnFault(result, err))
		if err == nil && result.Failure != nil {
			l.add("cause", result.Failure.Cause.String())
		}
	}
	l.add("session_id", result.SessionID)
	usage := []byte(result.Usage)
	if len(usage) == 0 {
		usage = []byte("null")
	}
	l.addRaw("usage", usage)
	l.addRaw("exit_code", strconv.AppendInt(nil, int64(result.ExitCode), 10))
	return l
}
