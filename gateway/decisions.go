package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hookgate/hookgate/chain"
)

// record is one decision as it is logged, listed and streamed: who asked, the
// outcome, and each participant's answer. It contains neither input nor output.
type record struct {
	// The fields that a list can be filtered by.
	chain, tool, decision, cause string

	id string
	// line is the record as JSON, without the closing newline.
	line []byte
}

// longest is how many bytes of a text that a caller or a participant chose go
// into a record.
const longest = 1024

func clip(text string) string {
	if len(text) <= longest {
		return text
	}
	end := longest
	for !utf8.RuneStart(text[end]) {
		end-- // do not cut a character in half
	}
	return text[:end] + "…"
}

// newRecord makes the record of a verdict. Of the request it retains only the
// tool's name, so the request itself can be freed.
func newRecord(of *decision) *record {
	r, v := of.request, of.verdict
	d := &record{
		id: of.id, chain: of.chain, tool: clip(r.ToolName()),
		decision: v.Outcome.Decision.String(), cause: v.Cause.String(),
	}
	line := of.at.AppendFormat(append(make([]byte, 0, 640), `{"time":"`...), time.RFC3339Nano)
	line = append(line, '"')
	line = appendText(line, "id", of.id)
	line = appendText(line, "chain", of.chain)
	line = appendMore(line, "caller", of.caller)
	line = appendText(line, "event", r.Event().String())
	line = appendText(line, "workspace", r.Workspace())
	line = appendText(line, "agent_id", r.AgentID())
	line = appendText(line, "tool_call_id", r.ToolCallID())
	line = appendText(line, "tool_name", r.ToolName())
	line = appendText(line, "decision", d.decision)
	line = appendMore(line, "reason", v.Outcome.Reason)
	line = appendText(line, "cause", d.cause)
	if of.withheld {
		line = append(line, `,"withheld":true`...)
	}
	if v.Abandoned {
		line = append(line, `,"abandoned":true`...)
	}
	line = appendMilliseconds(line, v.Took)
	line = appendText(line, "config_sha256", of.plan.sum)
	line = appendMore(line, "fault", v.Detail)
	line = append(line, `,"answers":[`...)
	for i := range v.Steps {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendAnswer(line, &v.Steps[i])
	}
	d.line = append(line, "]}"...)
	return d
}

// appendAnswer appends one participant's step in a decision.
func appendAnswer(line []byte, s *chain.Step) []byte {
	line = append(line, `{"name":`...)
	line = appendShown(line, s.Participant.Name)
	line = appendText(line, "kind", s.Participant.Kind.String())
	if f := s.Answer.Failure; f != nil {
		line = appendText(line, "answer", "failure")
		line = appendMore(line, "reason", f.Text)
		line = appendText(line, "cause", f.Cause.String())
		line = appendMore(line, "detail", f.Detail)
	} else {
		line = appendText(line, "answer", s.Answer.Outcome.Decision.String())
		line = appendMore(line, "reason", s.Answer.Outcome.Reason)
	}
	return append(appendMilliseconds(line, s.Took), '}')
}

// appendText appends a member to an object, cutting the value to [longest]
// bytes.
func appendText(line []byte, name, value string) []byte {
	line = append(append(append(line, `,"`...), name...), `":`...)
	return appendShown(line, clip(value))
}

// appendShown appends a JSON string, escaping the characters that could act on
// a terminal or that some readers take for a line break.
func appendShown(line []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(line, '"'), text...), '"')
	}
	acts := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if strings.IndexFunc(text, acts) < 0 {
		return chain.AppendString(line, text)
	}
	line = append(line, '"')
	for _, r := range text {
		if !acts(r) {
			quoted := chain.AppendString(nil, string(r))
			line = append(line, quoted[1:len(quoted)-1]...)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			line = fmt.Appendf(line, `\u%04x`, unit)
		}
	}
	return append(line, '"')
}

// isPlain reports whether text needs no escaping in JSON or on a terminal.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendMore is [appendText], but omits the member if the value is empty.
func appendMore(line []byte, name, value string) []byte {
	if value == "" {
		return line
	}
	return appendText(line, name, value)
}

// appendMilliseconds appends a duration in milliseconds, to the microsecond.
func appendMilliseconds(line []byte, d time.Duration) []byte {
	micros := d.Microseconds()
	line = strconv.AppendInt(append(line, `,"duration_ms":`...), micros/1000, 10)
	if rest := micros % 1000; rest > 0 {
		digits := strconv.FormatInt(1000+rest, 10)
		line = append(append(line, '.'), strings.TrimRight(digits[1:], "0")...)
	}
	return line
}

// history keeps the latest decisions and passes new ones to its followers.
type history struct {
	mu        sync.Mutex
	latest    []*record // a ring buffer
	next      int       // the index of the next record
	followers map[*follower]struct{}
	closed    bool
}

// follower is a reader of the decision stream. A follower that reads too slowly
// misses decisions and is told how many.
type follower struct {
	decisions chan *record
	missed    int // since the last one that was delivered
}

func newHistory(size int) *history {
	return &history{latest: make([]*record, size), followers: map[*follower]struct{}{}}
}

func (h *history) add(d *record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.latest) > 0 {
		h.latest[h.next] = d
		h.next = (h.next + 1) % len(h.latest)
	}
	for f := range h.followers {
		select {
		case f.decisions <- d:
		default:
			f.missed++
		}
	}
}

// list returns up to limit of the latest decisions for which keep is true,
// newest first.
func (h *history) list(limit int, keep func(*record) bool) []*record {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := []*record{}
	for i := 1; i <= len(h.latest) && len(found) < limit; i++ {
		d := h.latest[(h.next-i+len(h.latest))%len(h.latest)]
		if d == nil {
			break
		}
		if keep(d) {
			found = append(found, d)
		}
	}
	return found
}

// follow adds a follower; it returns false if the history is closed.
func (h *history) follow() (*follower, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false
	}
	f := &follower{decisions: make(chan *record, 256)}
	h.followers[f] = struct{}{}
	return f, true
}

// leave removes a follower.
func (h *history) leave(f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers, f)
}

// takeMissed returns how many decisions the follower missed, and resets the
// count.
func (h *history) takeMissed(f *follower) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := f.missed
	f.missed = 0
	return n
}

// close ends every follower, so that a stop does not wait for open streams.
func (h *history) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for f := range h.followers {
		close(f.decisions)
		delete(h.followers, f)
	}
}
