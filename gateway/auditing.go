package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/config"
)

// decision is a verdict with everything that its record reports.
type decision struct {
	id            string
	at            time.Time
	plan          *plan
	chain, caller string
	request       *chain.Request
	verdict       *chain.Verdict
	// until is the caller's deadline for the answer; zero if it named none.
	until time.Time
	// withheld marks the deny that replaced the original decision because its
	// record was not durable.
	withheld bool
}

// keep records, logs and remembers a decision. If a record must be durable and
// is not, an outcome other than a deny is withheld (G12).
func (g *Gateway) keep(ctx context.Context, d decision) {
	v := d.verdict
	r := newRecord(&d)
	if !g.trail.Empty() {
		r = g.audit(ctx, &d, r)
	}
	g.traceDecision(ctx, &d)
	g.history.add(r)
	if v.Cause == chain.Internal {
		g.log.LogAttrs(ctx, slog.LevelError, "the gateway had an internal fault during a decision", slog.String("decision_id", d.id), slog.String("fault", v.Detail))
	}
	if g.options.DecisionLog == nil {
		return
	}
	if _, err := g.options.DecisionLog.Write(append(r.line, '\n')); err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "a decision could not be logged", slog.String("decision_id", d.id), slog.Any("error", err))
	}
}

// audit writes the audit record of a decision and returns the record of what the
// caller is told. It does not wait for the record of a deny: a deny stops the
// call whether or not it is recorded.
func (g *Gateway) audit(ctx context.Context, d *decision, r *record) *record {
	entry := audit.Record{Time: d.at, Body: g.auditBody(ctx, d, r)}
	if !d.plan.audit.Required || d.verdict.Outcome.Decision == chain.Deny {
		g.trail.Keep(entry)
		return r
	}
	waiting, cancel := d.waiting(ctx)
	defer cancel()
	_ = g.trail.KeepSafely(waiting, entry, func(why error) audit.Record {
		r = g.withhold(ctx, d, why)
		return audit.Record{Time: d.at, Body: g.auditBody(ctx, d, r)}
	})
	return r
}

var errHurried = errors.New("the caller's deadline passed before the record was durable")

// waiting limits the wait for a durable record to the caller's own deadline. A
// caller that sent one gets a deny in time instead of no response.
func (d *decision) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, d.until, errHurried)
}

// withhold replaces a decision whose record is not durable with a deny, and
// returns the record of that deny.
func (g *Gateway) withhold(ctx context.Context, d *decision, why error) *record {
	d.withheld = true
	d.verdict.Outcome = chain.Outcome{
		Decision: chain.Deny,
		Reason:   "the gateway withholds its decision: the audit record, which its configuration requires, could not be written durably; see the gateway's log",
	}
	if ctx.Err() != nil { // the caller hung up, so nothing is withheld from anybody
		d.verdict.Abandoned = true
		d.verdict.Outcome.Reason = "the caller disconnected before the audit record of the decision was durable"
		return newRecord(d)
	}
	g.metrics.Audit().Withheld()
	g.log.LogAttrs(ctx, slog.LevelError, "a decision is withheld because its audit record is not durable",
		slog.String("decision_id", d.id), slog.Any("error", why))
	return newRecord(d)
}

// largestContent is the longest input or output that a record includes, in
// bytes.
const largestContent = 64 << 10

// auditExtra is the typical number of bytes that an audit record has beyond the
// log's record.
const auditExtra = 256

// auditBody returns the JSON of an audit record: the log's record plus the
// fields that only the audit trail has.
func (g *Gateway) auditBody(ctx context.Context, d *decision, r *record) []byte {
	body := append(make([]byte, 0, len(r.line)+auditExtra), r.line[:len(r.line)-1]...)
	sum := sha256.Sum256(d.request.JSON())
	body = appendText(body, "request_sha256", hex.EncodeToString(sum[:]))
	body = d.appendBreakers(body)
	a := &d.plan.audit
	if a.Input {
		body = g.appendContent(ctx, body, "input", a.MaskInput(d.request.Input()))
	}
	if a.Output && d.request.Event() == chain.PostToolUse {
		body = g.appendContent(ctx, body, "output", a.MaskOutput(d.request.Output()))
	}
	return append(body, '}')
}

// appendBreakers appends the breaker state of each participant that was asked
// and has a breaker.
func (d *decision) appendBreakers(body []byte) []byte {
	separator := `,"breakers":[`
	for i := range d.verdict.Steps {
		m := d.plan.members[d.verdict.Steps[i].Participant]
		if m == nil {
			continue
		}
		b := m.binding.Status().Breaker
		if b == nil {
			continue
		}
		body = appendShown(append(append(body, separator...), `{"hook":`...), m.participant.Name)
		body = append(appendText(body, "state", b.State.String()), '}')
		separator = ","
	}
	if separator == "," {
		body = append(body, ']')
	}
	return body
}

// appendContent appends an input or an output with credentials redacted. A value
// that is too long or cannot be redacted is left out, and its length is recorded
// instead. The value is written on one line, because a record is one line and an
// envelope may contain line breaks.
func (g *Gateway) appendContent(ctx context.Context, body []byte, name string, value json.RawMessage) []byte {
	if len(value) <= largestContent {
		if clean, err := g.redactor.Redact(ctx, value); err == nil {
			return append(append(append(append(body, `,"`...), name...), `":`...), chain.OneLine(clean)...)
		}
	}
	body = append(append(append(body, `,"`...), name...), `_omitted_bytes":`...)
	return strconv.AppendInt(body, int64(len(value)), 10)
}

// newTrail starts the audit trail.
func newTrail(o Options, observer audit.Observer) *audit.Trail {
	return audit.New(audit.Options{Outputs: o.Audit, Observer: observer, Logger: o.Logger, Patience: auditPatience})
}

// auditOutput returns the audit output that writes to the gateway's state.
func (k *keeper) auditOutput() (audit.Output, error) {
	if !k.configured() {
		return audit.Output{}, errors.New("HOOKGATE_AUDIT_STATE writes audit records to the approvals store, and there is none: set HOOKGATE_DATABASE_URL or HOOKGATE_STATE_DIR")
	}
	return audit.Output{Name: "state", Sink: keptRecords{k}, Durable: true}, nil
}

// keptRecords is a sink that stores records in the gateway's state. It does not
// own that state.
type keptRecords struct{ keeper *keeper }

// Write implements [audit.Sink].
func (s keptRecords) Write(ctx context.Context, records []audit.Record, _ bool) error {
	open, err := s.keeper.get() //nolint:contextcheck // what it opens outlives the record
	if err != nil {
		return err
	}
	return open.Append(ctx, records)
}

// Close implements [audit.Sink].
func (s keptRecords) Close() error { return nil }

// auditPatience is how long an answer waits for its record to become durable.
const auditPatience = 5 * time.Second

// auditNames returns the names of the audit outputs.
func auditNames(o Options) []string {
	var names []string
	for _, out := range o.Audit {
		names = append(names, out.Name)
	}
	return names
}

// checkAudit returns an error if the configured outputs cannot meet the operator
// file's audit requirements.
func (b *builder) checkAudit() error {
	if b.dry {
		return nil // outputs are not part of the files; Check only warns
	}
	return auditMistake(b.options.Audit, b.set)
}

// auditMistake returns an error if records must be durable and no output is
// durable.
func auditMistake(outputs []audit.Output, set *config.Set) error {
	if !auditOf(set).Required || slices.ContainsFunc(outputs, func(out audit.Output) bool { return out.Durable }) {
		return nil
	}
	return set.Operator.AuditMistake("required is true, but no output keeps records durably: set HOOKGATE_AUDIT_FILE, or HOOKGATE_AUDIT_STATE=true")
}

// auditOf returns the audit settings of a set of files.
func auditOf(set *config.Set) config.Audit {
	if set.Operator == nil {
		return config.Audit{}
	}
	return set.Operator.Audit
}
