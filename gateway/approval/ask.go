package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// Asking is a call to ask a person about.
type Asking struct {
	// Chain, Asker and DecisionID are those of the [Question].
	Chain, Asker, DecisionID string
	// Request is the call to ask about.
	Request *chain.Request
	// Timeout is how long it may take, and Late the failure cause when it runs
	// out.
	Timeout time.Duration
	Late    chain.Cause
}

// Ask asks a person about the call and waits for the answer: allow, modify or
// deny. Anything that prevents an answer is a failure. If ctx ends, the question
// is withdrawn and the returned answer is meaningless (P7).
func (d *Desk) Ask(ctx context.Context, a Asking) chain.Answer {
	w := &wait{
		desk: d, asking: a, question: NewQuestion(d.o.NewID(), a.Chain, a.Asker, a.Request), deadline: time.Now().Add(a.Timeout),
	}
	w.question.DecisionID = a.DecisionID
	answer, outcome := w.ask(ctx)
	d.o.Settled(outcome)
	return answer
}

// wait is one question in progress.
type wait struct {
	desk     *Desk
	asking   Asking
	question Question
	store    Store
	deadline time.Time
}

// margin is the part of the timeout that is reserved for settling an unanswered
// question.
func margin(timeout time.Duration) time.Duration { return min(timeout/4, 2*time.Second) }

func fail(why string, detail error) (chain.Answer, Outcome) {
	text := ""
	if detail != nil {
		text = detail.Error()
	}
	return chain.Fail(chain.Error, why, text), OutcomeFailed
}

// lost is the answer after an error of the store (P1).
func lost(err error) (chain.Answer, Outcome) {
	return fail("the approvals store is unavailable", err)
}

func (w *wait) ask(ctx context.Context) (chain.Answer, Outcome) {
	d := w.desk
	if n := len(w.question.Envelope); n > MaxCall {
		return fail(fmt.Sprintf("the call has %d bytes, and at most %d can be shown to a person", n, MaxCall), nil)
	}
	var err error
	if w.store, err = d.opened(); err != nil { //nolint:contextcheck // what it starts outlives the call
		return lost(d.met(err))
	}
	woken, full, stopped := d.join(w.question.ID) // before Create, so that no answer is missed
	switch {
	case full:
		return chain.Fail(chain.Saturated, fmt.Sprintf("was not asked: %d calls already wait for a person", d.o.MaxWaiting), ""), OutcomeFailed
	case stopped:
		return fail(ErrStopped.Error(), nil)
	}
	defer d.leave(w.question.ID)
	ttl := w.asking.Timeout - margin(w.asking.Timeout)
	creating, cancel := w.operation(ctx)
	_, err = w.store.Create(creating, w.question, ttl)
	cancel()
	switch {
	case err != nil && ctx.Err() != nil:
		return w.abandoned() //nolint:contextcheck // the context of the call has ended
	case err != nil:
		w.withdraw("it is not known whether it was stored") //nolint:contextcheck // it may have been stored; the context of the call has ended
		return lost(d.met(err))
	}
	d.o.Logger.LogAttrs(ctx, slog.LevelInfo, "a call waits for a person", slog.String("approval_id", w.question.ID),
		slog.String("asked_by", w.question.Asker), slog.String("chain", w.question.Chain))
	return w.wait(ctx, woken)
}

// operation returns the context for one operation of the store: it ends with ctx,
// and early enough to answer in time (P8).
func (w *wait) operation(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, earlier(w.deadline, time.Now().Add(storePatience)))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// wait polls the approval, immediately when woken, until it is answered or the
// time is over.
func (w *wait) wait(ctx context.Context, woken <-chan struct{}) (chain.Answer, Outcome) {
	over := time.NewTimer(time.Until(w.deadline) - margin(w.asking.Timeout))
	defer over.Stop()
	look := time.NewTicker(w.desk.o.Poll)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.abandoned() //nolint:contextcheck // the context of the call has ended
		case <-over.C:
			return w.end(ctx, Expired, "")
		case <-w.desk.stopping:
			return w.end(ctx, Withdrawn, ErrStopped.Error())
		case <-woken:
		case <-look.C:
		}
		looking, cancel := w.operation(ctx)
		now, err := w.store.Get(looking, w.question.ID)
		cancel()
		if w.desk.met(err) == nil && now.State != Pending {
			return w.conclude(ctx, &now)
		}
		if errors.Is(err, ErrUnknown) {
			return fail("its approval is no longer in the approvals store", nil)
		}
		// An unreachable store may recover before the time is over.
	}
}

// abandoned withdraws a question whose caller stopped waiting (P7).
func (w *wait) abandoned() (chain.Answer, Outcome) {
	const why = "the caller stopped waiting"
	w.withdraw(why)
	return chain.Fail(chain.Error, why, ""), OutcomeWithdrawn
}

// end settles an unanswered question, unless it has just been answered.
func (w *wait) end(ctx context.Context, to State, message string) (chain.Answer, Outcome) {
	settling, cancel := w.operation(ctx)
	defer cancel()
	now, _, err := w.store.Settle(settling, w.question.ID, to, Settlement{Message: message})
	if err != nil {
		return lost(w.desk.met(err))
	}
	return w.conclude(ctx, &now)
}

// withdraw settles, in the background, a question that nobody waits for any more.
func (w *wait) withdraw(why string) {
	d := w.desk
	d.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.life), storePatience)
		defer cancel()
		if _, _, err := w.store.Settle(ctx, w.question.ID, Withdrawn, Settlement{Message: why}); err != nil && !errors.Is(err, ErrUnknown) {
			_ = d.met(err) // if it cannot be withdrawn it expires
		}
	})
}

// conclude returns the answer that follows from a settled approval.
func (w *wait) conclude(ctx context.Context, now *Approval) (chain.Answer, Outcome) {
	w.desk.o.Logger.LogAttrs(ctx, slog.LevelInfo, "a call no longer waits for a person", slog.String("approval_id", now.ID),
		slog.String("state", now.State.String()), slog.String("by", now.By))
	switch now.State {
	case Allowed:
		return w.redeem(ctx, now)
	case Denied:
		reason := now.Message
		if reason == "" {
			reason = "a person denied this call"
		}
		return chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: reason}}, OutcomeDenied
	case Expired:
		return chain.Fail(w.asking.Late, fmt.Sprintf("no person answered within %v", (w.asking.Timeout-margin(w.asking.Timeout)).Round(time.Millisecond)), now.Message), OutcomeExpired
	case Withdrawn:
		return chain.Fail(chain.Error, "was withdrawn: "+now.Message, ""), OutcomeWithdrawn
	case Unset, Pending:
	}
	return fail("its approval ended without an answer", nil)
}

// redeem lets the call run, once, and only if it is the call that was shown (P3,
// P4).
func (w *wait) redeem(ctx context.Context, now *Approval) (chain.Answer, Outcome) {
	redeeming, cancel := w.operation(ctx)
	defer cancel()
	good, err := w.store.Redeem(redeeming, now.ID, Digest(w.asking.Request.JSON()))
	switch {
	case err != nil:
		return lost(w.desk.met(err))
	case !good:
		return fail("its approval has already been used, or is for another call", nil)
	case now.UpdatedInput == nil:
		return chain.Answer{Outcome: chain.Outcome{Decision: chain.Allow}}, OutcomeAllowed
	}
	if err := checkInput(w.asking.Request, now.UpdatedInput); err != nil {
		return chain.Fail(chain.UnusableRewrite, "the input that a person entered cannot be used: "+err.Error(), ""), OutcomeFailed
	}
	return chain.Answer{Outcome: chain.Outcome{
		Decision: chain.Modify, Input: now.UpdatedInput, Reason: "the person who allowed it changed the input",
	}}, OutcomeAllowed
}

// checkInput returns an error if an input cannot replace the call's own.
func checkInput(call *chain.Request, input []byte) error {
	switch err := chain.CheckValue(input); {
	case call.Event() != chain.PreToolUse:
		return fmt.Errorf("the call has run: its input can no longer be changed")
	case err != nil:
		return err
	case input[0] != '{':
		return errors.New("it is not a JSON object")
	}
	return nil
}
