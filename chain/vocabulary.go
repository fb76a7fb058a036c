package chain

import "fmt"

// Event is the point of a tool call at which participants are asked. The zero
// Event is invalid, and no request carries it.
type Event uint8

// The events.
const (
	// PreToolUse is before the tool runs. The input may be allowed, denied or
	// modified.
	PreToolUse Event = iota + 1
	// PostToolUse is after the tool ran. The output may be allowed, replaced, or
	// denied to the model.
	PostToolUse
)

// Events returns every event, in the order of a call.
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

// ParseEvent returns the event with exactly this name.
func ParseEvent(name string) (Event, error) {
	for _, e := range Events() {
		if e.String() == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("event %q is not one of pre_tool_use, post_tool_use", name)
}

// Decision is the answer of a participant, or of a whole chain, to a call. The
// zero Decision is Undecided, which denies wherever it is read.
type Decision uint8

// The decisions.
const (
	// Undecided means that nobody decided. From a participant it is a failure; to
	// a caller it is written as a deny.
	Undecided Decision = iota
	// Deny stops the call, or withholds its result.
	Deny
	// Allow lets the call or its result pass unchanged.
	Allow
	// Modify runs the tool with another input. Only at [PreToolUse].
	Modify
	// Replace shows the model another result. Only at [PostToolUse].
	Replace
)

// Decisions returns every decision that can be an answer.
func Decisions() []Decision { return []Decision{Deny, Allow, Modify, Replace} }

// String returns the decision's name on the wire. Undecided is "deny", because
// that is what it means to a caller.
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

// ParseDecision returns the decision with exactly this name.
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

// OnFailure is the policy for a participant that could not answer. The zero
// OnFailure denies.
type OnFailure uint8

// The failure policies.
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

// Mode says whether a participant's answer counts. The zero Mode enforces.
type Mode uint8

// The modes.
const (
	Enforce Mode = iota
	// Shadow asks the participant in the background and only counts its answers.
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

// Kind is how reasons refer to a participant. The zero Kind is Hook.
type Kind uint8

// The kinds.
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

// Coverage is the decision for a call to which no participant applies by event
// and tool. The zero Coverage denies.
type Coverage uint8

// The coverages.
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
