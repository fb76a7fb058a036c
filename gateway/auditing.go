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

// decision is a verdict with everything that is told of it.
type decision struct {
	id            string
	at            time.Time
	plan          *plan
	chain, caller string
	request       *chain.Request
	verdict       *chain.Verdict
	// until is when the caller wants its answer, where it says so.
	until time.Time
	// withheld says that it is told in place of what had been decided.
	withheld bool
}

// keep has a decision recorded, logged and remembered. Where its record has to
// be safe and is not, what was allowed is withheld (G12).
func (g *Gateway) keep(ctx context.Context, d decision) {
	v := d.verdict
	r := newRecord(&d)
	if !g.trail.Empty() {
		r = g.audit(ctx, &d, r)
	}
	g.traceDecision(ctx, &d)
	g.history.add(r)
	if v.Cause == chain.Internal {
		g.log.LogAttrs(ctx, slog.LevelError, "a decision met a fault of the gateway", slog.String("decision_id", d.id), slog.String("fault", v.Detail))
	}
	if g.options.DecisionLog == nil {
		return
	}
	if _, err := g.options.DecisionLog.Write(append(r.line, '\n')); err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "a decision could not be logged", slog.String("decision_id", d.id), slog.Any("error", err))
	}
}

// audit has a decision recorded, and returns the record of what its caller is
// told. Nobody waits for the record of a deny: it stops the call whatever
// becomes of its record.
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

var errHurried = errors.New("its caller wants the answer sooner than it could be told that the record is safe")

// waiting is how long the answer waits for its record: a caller that says how
// long it waits is denied in time, rather than left to what it makes of silence.
func (d *decision) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, d.until, errHurried)
}

// withhold puts a deny in place of what was decided, whose record is not safe,
// and returns the record of that.
func (g *Gateway) withhold(ctx context.Context, d *decision, why error) *record {
	d.withheld = true
	d.verdict.Outcome = chain.Outcome{
		Decision: chain.Deny,
		Reason:   "the gateway withholds what was decided: the record of it could not be made safe, as its configuration requires (audit)",
	}
	if ctx.Err() != nil { // nothing is withheld from anybody
		d.verdict.Abandoned = true
		d.verdict.Outcome.Reason = "the caller stopped waiting before the record of what was decided was safe"
		return newRecord(d)
	}
	g.metrics.Audit().Withheld()
	g.log.LogAttrs(ctx, slog.LevelError, "a decision is withheld, since its record is not safe",
		slog.String("decision_id", d.id), slog.Any("error", why))
	return newRecord(d)
}

// largestContent is how much of an input or an output goes into a record, in
// bytes.
const largestContent = 64 << 10

// auditExtra is how much longer a record of the trail mostly is than that of the
// log, in bytes.
const auditExtra = 256

// auditBody is the record of a decision: that of the log, and what only the
// audit trail has.
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

// appendBreakers appends the state of the breaker of everybody who was asked
// and has one.
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

// appendContent appends an input or an output without the credentials in it.
// What is too long, or cannot be made free of them, is left out, and its length
// takes its place. It is put on one line, which a record is: an envelope may
// have as many as its caller likes.
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

// auditOutput is the audit trail's part of the gateway's state.
func (k *keeper) auditOutput() (audit.Output, error) {
	if !k.configured() {
		return audit.Output{}, errors.New("the audit trail is to go to where approvals are kept (HOOKGATE_AUDIT_STATE), and that is nowhere: set HOOKGATE_DATABASE_URL or HOOKGATE_STATE_DIR")
	}
	return audit.Output{Name: "state", Sink: keptRecords{k}, Durable: true}, nil
}

// keptRecords is a sink that keeps records in the gateway's state, which
// outlives it.
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

// auditPatience is how long an answer waits for its record to be safe.
const auditPatience = 5 * time.Second

// auditNames are what the outputs of the trail are called.
func auditNames(o Options) []string {
	var names []string
	for _, out := range o.Audit {
		names = append(names, out.Name)
	}
	return names
}

// checkAudit says why what the operator's file wants of the audit trail cannot
// be had.
func (b *builder) checkAudit() error {
	if b.dry {
		return nil // where records would go is not part of the files: Check warns
	}
	return auditMistake(b.options.Audit, b.set)
}

// auditMistake is what is wrong where records have to be safe and none of the
// outputs can make them so.
func auditMistake(outputs []audit.Output, set *config.Set) error {
	if !auditOf(set).Required || slices.ContainsFunc(outputs, func(out audit.Output) bool { return out.Durable }) {
		return nil
	}
	return set.Operator.AuditMistake("required is true, but no record can be made safe: set HOOKGATE_AUDIT_FILE, or HOOKGATE_AUDIT_STATE=true")
}

// auditOf is what holds for the audit trail by a set of files.
func auditOf(set *config.Set) config.Audit {
	if set.Operator == nil {
		return config.Audit{}
	}
	return set.Operator.Audit
}
