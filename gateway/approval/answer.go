package approval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"
)

// Answer is a person's answer to a question. The zero Answer denies.
type Answer struct {
	// Allow lets the call run.
	Allow bool
	// Message is the reason. The model sees it if the call is denied.
	Message string
	// UpdatedInput is the input to run instead, one JSON object; nil keeps the
	// call's own. Only with Allow.
	UpdatedInput []byte
	// Digest, if set, is the digest of the call that the person saw.
	Digest string
	// By names the person, as far as the gateway knows.
	By string
}

// SettledError reports that an approval cannot be answered: it was settled
// before, or nobody waits for the answer any more (P9).
type SettledError struct{ Approval Approval }

// Error names who settled it.
func (e *SettledError) Error() string {
	a := &e.Approval
	switch a.State {
	case Expired:
		said := "it expired at " + a.SettledAt.Format(time.RFC3339)
		if a.Message != "" {
			said += ": " + a.Message
		}
		return said
	case Pending:
		return fmt.Sprintf("nobody waits for it any more: the gateway that asked has not responded for %v", Attention)
	case Withdrawn:
		return "it was withdrawn at " + a.SettledAt.Format(time.RFC3339) + ": " + a.Message
	case Allowed, Denied, Unset:
	}
	return fmt.Sprintf("it was already %s by %s at %s", a.State, a.By, a.SettledAt.Format(time.RFC3339))
}

// UnusableError explains what is wrong with an answer.
type UnusableError struct{ why string }

// Unusable returns an [*UnusableError] with that text.
func Unusable(why string) error { return &UnusableError{why} }

// Error implements error.
func (e *UnusableError) Error() string { return e.why }

// Get returns the approval with the given id, or [ErrUnknown].
func (d *Desk) Get(ctx context.Context, id string) (Approval, error) {
	store, err := d.opened() //nolint:contextcheck // what it starts outlives the call
	if errors.Is(err, ErrNoStore) {
		return Approval{}, ErrUnknown
	}
	if err != nil {
		return Approval{}, unreachable(d.met(err))
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	a, err := store.Get(ctx, id)
	return a, d.said(err)
}

// said records an error of the store and makes it readable for people.
func (d *Desk) said(err error) error {
	if d.met(err) != nil && !errors.Is(err, ErrUnknown) {
		return unreachable(err)
	}
	return err
}

// List returns the approvals that pass the filter.
func (d *Desk) List(ctx context.Context, f Filter) ([]Approval, error) {
	store, err := d.opened() //nolint:contextcheck // what it starts outlives the call
	if errors.Is(err, ErrNoStore) {
		return []Approval{}, nil
	}
	if err != nil {
		return nil, unreachable(d.met(err))
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	found, err := store.List(ctx, f)
	return found, d.said(err)
}

// Answer settles an approval by a person's answer and returns its new state. The
// error is [ErrUnknown], a [*SettledError], an [*UnusableError], or the error of
// the store; in the last case the answer is not acknowledged.
func (d *Desk) Answer(ctx context.Context, id string, answer Answer) (Approval, error) {
	a, err := d.Get(ctx, id)
	if err != nil {
		return a, err
	}
	if a.Deserted {
		return a, &SettledError{a}
	}
	if err := answer.check(&a); err != nil {
		return a, err
	}
	to := Denied
	if answer.Allow {
		to = Allowed
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	now, won, err := d.store.Settle(ctx, id, to, Settlement{By: answer.By, Message: answer.Message, UpdatedInput: answer.UpdatedInput})
	switch {
	case err != nil:
		return a, d.said(err)
	case !won:
		return now, &SettledError{now}
	}
	d.o.Logger.LogAttrs(ctx, slog.LevelInfo, "a person answered", slog.String("approval_id", id), slog.String("state", to.String()),
		slog.String("by", answer.By), slog.Bool("input_changed", answer.UpdatedInput != nil))
	return now, nil
}

// check returns an error if the answer is not valid for the approval.
func (p *Answer) check(a *Approval) error {
	switch {
	case len(p.Message) > MaxMessage:
		return &UnusableError{fmt.Sprintf("message has %d bytes, and the limit is %d", len(p.Message), MaxMessage)}
	case !utf8.ValidString(p.Message):
		return &UnusableError{"message is not UTF-8"}
	case p.UpdatedInput != nil && !p.Allow:
		return &UnusableError{"updated_input is only for allow: a denied call does not run"}
	case p.Digest != "" && p.Digest != a.Digest:
		return &UnusableError{fmt.Sprintf("digest belongs to another call: the digest of this call is %s", a.Digest)}
	case len(p.UpdatedInput) > MaxCall:
		return &UnusableError{fmt.Sprintf("updated_input has %d bytes, and the limit is %d", len(p.UpdatedInput), MaxCall)}
	case p.UpdatedInput == nil:
		return nil
	}
	call, err := a.Call()
	if err != nil {
		return &UnusableError{"the stored call cannot be read: " + err.Error()}
	}
	p.UpdatedInput = bytes.Trim(p.UpdatedInput, " \t\r\n")
	if err := checkInput(call, p.UpdatedInput); err != nil {
		return &UnusableError{"updated_input cannot be used: " + err.Error()}
	}
	return nil
}
