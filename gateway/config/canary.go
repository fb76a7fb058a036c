package config

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
)

const (
	leastEvery, longestEvery = time.Second, 24 * time.Hour
	defaultEvery             = time.Minute
)

// Canary is a call that a hook must deny. It is sent periodically, to show that
// the hook still does.
type Canary struct {
	Request *chain.Request
	// Every is the approximate interval. Default one minute.
	Every time.Duration
	// GatesReadiness makes the gateway ready only while the hook denies the
	// call.
	GatesReadiness bool
}

// canary reads the call that the hook must deny. The rest of the entry must
// have been read before.
func (r *reading) canary(h *Hook, v value) {
	o, ok := r.object(v, "request", "expect", "every", "gate_readiness")
	if !ok {
		return
	}
	h.Canary = &Canary{Every: defaultEvery}
	if request, ok := o["request"]; ok {
		h.Canary.Request = r.canaryRequest(h, request)
	} else {
		r.fail(v, "request is missing: it is the call that the hook must deny")
	}
	if expect, ok := o["expect"]; ok {
		r.word(expect, chain.Deny.String())
	} else {
		r.fail(v, "expect is missing: write expect: deny")
	}
	if v, ok := o["every"]; ok {
		h.Canary.Every = r.duration(v, leastEvery, longestEvery)
	}
	if v, ok := o["gate_readiness"]; ok {
		h.Canary.GatesReadiness, _ = r.boolean(v)
	}
}

// canaryRequest reads a request; fields that do not matter to the hook may be
// omitted.
func (r *reading) canaryRequest(h *Hook, v value) *chain.Request {
	if v.kind != mapping {
		r.want(v, "a mapping of the fields of a request")
		return nil
	}
	raw, ok := r.json(v)
	if !ok {
		return nil
	}
	text := append([]byte("{"), defaultFields(h, v)...)
	if len(v.members) == 0 {
		text = bytes.TrimSuffix(text, []byte(","))
	}
	request, err := chain.ParseRequest(append(text, bytes.TrimPrefix(raw, []byte("{"))...))
	switch {
	case err != nil:
		r.fail(v, "is not a valid request: %s", strings.Map(shownRune, err.Error()))
	case request.Event() != h.Event:
		r.fail(v, "has the event %s, but the hook is asked at %s", request.Event(), h.Event)
	case !h.covers(request.ToolName()):
		r.fail(v, "is a call of the tool %s, and the hook's tools do not match it", quote(request.ToolName()))
	case h.When != nil && !h.When(request, time.Time{}):
		r.fail(v, "is a call about which the hook is not asked: it does not meet the conditions of when")
	default:
		return request
	}
	return nil
}

// shownRune returns a character in the form that a message may contain.
func shownRune(c rune) rune {
	if strconv.IsPrint(c) {
		return c
	}
	return '\uFFFD'
}

// defaultFields returns the members for the fields that are not given, each
// followed by a comma.
func defaultFields(h *Hook, v value) []byte {
	fields := []struct{ name, value string }{
		{"hook_schema", "1"},
		{"event", strconv.Quote(h.Event.String())},
		{"workspace", `""`},
		{"agent_id", `"hookgate"`},
		{"tool_call_id", `""`},
	}
	if h.Event == chain.PostToolUse {
		fields = append(fields, struct{ name, value string }{"is_error", "false"})
	}
	var text []byte
	for _, f := range fields {
		if v.member(f.name) == nil {
			text = append(text, strconv.Quote(f.name)+":"+f.value+","...)
		}
	}
	return text
}

// duration reads a duration in Go's format.
func (r *reading) duration(v value, least, longest time.Duration) time.Duration {
	s, ok := r.literal(v)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		r.fail(v, `want a time like "30s" or "5m", not %s`, quote(s))
	case d < least || d > longest:
		r.fail(v, "%s is not between %v and %v", s, least, longest)
	}
	return d
}

func (c *Canary) fingerprint(d digest) {
	d.bytes(c.Request.JSON())
	d.number(int(c.Every))
	d.flag(c.GatesReadiness)
}
