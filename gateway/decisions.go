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

// record is one decision as it is logged, listed and followed: who asked, what
// was decided, and who said what. It carries neither input nor output.
type record struct {
	// What a list can be narrowed by.
	chain, tool, decision, cause string

	id string
	// line is the record as JSON, without an end.
	line []byte
}

// longest is how much of a text that a caller or a participant chose goes into
// a record, in bytes.
const longest = 1024

func clip(text string) string {
	if len(text) <= longest {
		return text
	}
	end := longest
	for !utf8.RuneStart(text[end]) {
		end-- // no half of a character
	}
	return text[:end] + "…"
}

// newRecord makes the record of a verdict. It keeps nothing of the request
// alive but its tool's name.
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

// appendAnswer appends one participant's part in a decision.
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

// appendText appends another member of an object.
func appendText(line []byte, name, value string) []byte {
	line = append(append(append(line, `,"`...), name...), `":`...)
	return appendShown(line, clip(value))
}

// appendShown appends a JSON string in which whatever would act on a screen, or
// end a line for some reader, is escaped.
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

// isPlain reports whether a JSON string and a screen show text as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendMore is appendText for what is left out where it is empty.
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

// history keeps the latest decisions and passes new ones on to who follows
// them.
type history struct {
	mu        sync.Mutex
	latest    []*record // a ring
	next      int       // where the next one goes
	followers map[*follower]struct{}
	closed    bool
}

// follower is somebody who reads decisions as they are made. One that reads too
// slowly misses some, and is told how many.
type follower struct {
	decisions chan *record
	missed    int // since the last one that went through
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

// list returns up to limit of the latest decisions that keep holds for, newest
// first.
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

// follow returns a follower, false once the history is closed.
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

// leave ends a follower.
func (h *history) leave(f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers, f)
}

// takeMissed returns how many decisions the follower missed and forgets them.
func (h *history) takeMissed(f *follower) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := f.missed
	f.missed = 0
	return n
}

// close ends every follower, so that a stop does not wait for them.
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
