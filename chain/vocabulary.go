package chain

import "fmt"

// Event is the moment of a tool call at which participants are asked. The zero
// Event is none of them, and no request carries it.
type Event uint8

// The events of the contract.
const (
	// PreToolUse is before the tool runs: its input may be allowed, denied or
	// modified.
	PreToolUse Event = iota + 1
	// PostToolUse is after it ran: its output may be allowed, replaced, or
	// denied to the model.
	PostToolUse
)

// Events returns every event, in the order in which a call meets them.
func Events() []Event { return []Event{PreToolUse, PostToolUse} }

// String returns the event's name on the wire.
func (e Event) String() string {
	switch e {
	case PreToolUse:
		return "pre_tool_use"
	case PostToolUse:
		return "post_tool_use"
	}
	return "unset"
}

// ParseEvent returns the event of that exact name.
func ParseEvent(name string) (Event, error) {
	for _, e := range Events() {
		if e.String() == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("event %q is not one of pre_tool_use, post_tool_use", name)
}

// Decision is what a participant, or a whole chain, says of a call. The zero
// Decision is Undecided: it refuses wherever it is read.
type Decision uint8

// The decisions of the contract.
const (
	// Undecided is a decision nobody made. From a participant it is a failure;
	// written to a caller it is a deny.
	Undecided Decision = iota
	// Deny refuses the call, or withholds its result.
	Deny
	// Allow lets the call or its result stand.
	Allow
	// Modify runs the tool with another input. Only at [PreToolUse].
	Modify
	// Replace shows the model another result. Only at [PostToolUse].
	Replace
)

// Decisions returns every decision that can be answered.
func Decisions() []Decision { return []Decision{Deny, Allow, Modify, Replace} }

// String returns the decision's name on the wire; Undecided reads "deny",
// because that is what it means to a caller.
func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Modify:
		return "modify"
	case Replace:
		return "replace"
	case Undecided, Deny:
		return "deny"
	}
	return "deny"
}

// ParseDecision returns the decision of that exact name.
func ParseDecision(name string) (Decision, error) {
	for _, d := range Decisions() {
		if d.String() == name {
			return d, nil
		}
	}
	return Undecided, fmt.Errorf("decision %q is not one of allow, deny, modify, replace", name)
}

// fits reports whether a participant may answer d at e.
func (d Decision) fits(e Event) bool {
	switch d {
	case Allow, Deny:
		return true
	case Modify:
		return e == PreToolUse
	case Replace:
		return e == PostToolUse
	case Undecided:
		return false
	}
	return false
}

// OnFailure is what the chain does where a participant could not answer. The
// zero OnFailure denies.
type OnFailure uint8

// The two policies.
const (
	DenyOnFailure OnFailure = iota
	AllowOnFailure
)

// String returns the policy's name in a hooks file.
func (o OnFailure) String() string {
	if o == AllowOnFailure {
		return "allow"
	}
	return "deny"
}

// Mode is whether a participant's answer counts. The zero Mode enforces.
type Mode uint8

// The two modes.
const (
	Enforce Mode = iota
	// Shadow asks the participant off the path and only counts what it said.
	Shadow
)

// Modes returns every mode.
func Modes() []Mode { return []Mode{Enforce, Shadow} }

// String returns the mode's name in a hooks file.
func (m Mode) String() string {
	if m == Shadow {
		return "shadow"
	}
	return "enforce"
}

// Kind is what a participant is called in the reasons it causes. The zero Kind
// is Hook.
type Kind uint8

// The two kinds.
const (
	// Hook is everything declared in a file, whatever its binding.
	Hook Kind = iota
	// Interceptor is Go code that an embedding program registered.
	Interceptor
)

// String returns the kind's word in a reason.
func (k Kind) String() string {
	if k == Interceptor {
		return "interceptor"
	}
	return "hook"
}

// Coverage is what a chain answers where no participant applies to the event
// and tool of a call. The zero Coverage denies.
type Coverage uint8

// The two coverages.
const (
	DenyUncovered Coverage = iota
	AllowUncovered
)

// String returns the coverage's name in a hooks file.
func (c Coverage) String() string {
	if c == AllowUncovered {
		return "allow"
	}
	return "deny"
}
