package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/approval"
)

// approvalEntry is one approval in the API's JSON form.
type approvalEntry struct {
	ID         string          `json:"id"`
	State      approval.State  `json:"state"`
	Chain      string          `json:"chain"`
	AskedBy    string          `json:"asked_by"`
	DecisionID string          `json:"decision_id,omitempty"`
	Event      string          `json:"event"`
	Workspace  string          `json:"workspace"`
	AgentID    string          `json:"agent_id"`
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output,omitempty"`
	IsError    *bool           `json:"is_error,omitempty"`
	Digest     string          `json:"digest"`
	CreatedAt  time.Time       `json:"created_at"`
	ExpiresAt  time.Time       `json:"expires_at"`

	// Set on settled approvals only.
	SettledAt    *time.Time      `json:"settled_at,omitempty"`
	SettledBy    string          `json:"settled_by,omitempty"`
	Message      string          `json:"message,omitempty"`
	UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
	Used         bool            `json:"used"`
	// Waiting reports whether a caller is still waiting for the answer, as far
	// as this gateway knows.
	Waiting bool `json:"waiting"`
}

// newApprovalEntry returns the JSON form of an approval. It fails if the stored
// call cannot be parsed.
func newApprovalEntry(a *approval.Approval) (approvalEntry, error) {
	call, err := a.Call()
	if err != nil {
		return approvalEntry{}, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	e := approvalEntry{
		ID: a.ID, State: a.State, Chain: a.Chain, AskedBy: a.Asker, DecisionID: a.DecisionID,
		Event: call.Event().String(), Workspace: call.Workspace(), AgentID: call.AgentID(), ToolCallID: call.ToolCallID(),
		ToolName: call.ToolName(), Input: call.Input(), Output: call.Output(), Digest: a.Digest,
		CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt,
		SettledBy: a.By, Message: a.Message, UpdatedInput: a.UpdatedInput, Used: a.Used,
		Waiting: a.State == approval.Pending && !a.Deserted,
	}
	if call.Event() == chain.PostToolUse {
		isError := call.IsError()
		e.IsError = &isError
	}
	if a.State != approval.Pending {
		e.SettledAt = &a.SettledAt
	}
	return e, nil
}

// appendJSON appends the entry as one line of JSON. Inputs keep their number
// text and their unescaped characters.
func (e *approvalEntry) appendJSON(dst []byte) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	return append(dst, bytes.TrimRight(b.Bytes(), "\n")...), nil
}

// appendApproval appends the JSON form of an approval.
func appendApproval(dst []byte, a *approval.Approval) ([]byte, error) {
	e, err := newApprovalEntry(a)
	if err != nil {
		return nil, err
	}
	return e.appendJSON(dst)
}

// Default and maximum length of a list of approvals.
const (
	listedApprovals    = 100
	maxListedApprovals = 500
)

// approvalFilter parses the query parameters that filter a list of approvals.
func approvalFilter(r *http.Request) (approval.Filter, error) {
	q, err := filters(r, "state", "chain", "tool", "agent", "limit")
	if err != nil {
		return approval.Filter{}, err
	}
	f := approval.Filter{
		State: approval.Pending, Chain: q.Get("chain"), Tool: q.Get("tool"), Agent: q.Get("agent"), Limit: listedApprovals,
	}
	switch text := q.Get("state"); text {
	case "":
	case "any":
		f.State = approval.Unset
	default:
		state, err := approval.ParseState(text)
		if err != nil {
			return f, fmt.Errorf("%w, or any", err)
		}
		f.State = state
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxListedApprovals {
			return f, fmt.Errorf("limit is %.40q: give a whole number from 1 to %d", text, maxListedApprovals)
		}
		f.Limit = n
	}
	return f, nil
}

// serveApprovals serves GET /v1/approvals: pending and settled approvals, as a
// JSON array or as an event stream.
func (g *Gateway) serveApprovals(w http.ResponseWriter, r *http.Request) {
	f, err := approvalFilter(r)
	if err != nil {
		badFilter(err).write(w)
		return
	}
	if wantsEvents(r) {
		g.followApprovals(w, r, f)
		return
	}
	found, err := g.seenApprovals(r, f)
	if err != nil {
		approvalsUnreachable(err).write(w)
		return
	}
	body := []byte(`{"approvals":[`)
	for i := range found {
		if i > 0 {
			body = append(body, ',')
		}
		if body, err = appendApproval(body, &found[i]); err != nil {
			panic(err) // a stored call was parsed before it was stored
		}
	}
	writeBody(w, append(body, "]}"...))
}

// seenApprovals lists approvals, limited to the chains that the caller may
// reach.
func (g *Gateway) seenApprovals(r *http.Request, f approval.Filter) ([]approval.Approval, error) {
	found, err := g.desk.List(r.Context(), g.seen(r, f))
	return slices.DeleteFunc(found, func(a approval.Approval) bool { return !g.sees(r, a.Chain) }), err
}

// seen restricts a filter to the chains that the caller may reach.
func (g *Gateway) seen(r *http.Request, f approval.Filter) approval.Filter {
	if g.options.CallersFile != "" {
		f.Chains = visitorOf(r).Chains()
	}
	return f
}

func approvalsUnreachable(err error) *problem {
	return &problem{status: http.StatusServiceUnavailable, title: "Approvals store unavailable", detail: err.Error(), retryAfter: 5}
}

// followApprovals streams pending approvals and their changes as server-sent
// events until the client disconnects or the gateway stops.
func (g *Gateway) followApprovals(w http.ResponseWriter, r *http.Request, f approval.Filter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return // a stream would never end
	}
	stream := eventStream{w: w, control: http.NewResponseController(w), patience: g.callers.patience}
	if stream.send(": following approvals\n\n") != nil {
		return
	}
	changed := func(a *approval.Approval) error {
		if !g.stillPermitted(r) {
			return errNotPermitted
		}
		if !g.sees(r, a.Chain) {
			return nil
		}
		data, err := appendApproval(nil, a)
		if err != nil {
			return err
		}
		name := "settled"
		if a.State == approval.Pending {
			name = "pending"
		}
		return stream.send("event: " + name + "\nid: " + a.ID + "\ndata: " + string(data) + "\n\n")
	}
	alive := func() error {
		if !g.stillPermitted(r) {
			return errNotPermitted
		}
		return stream.send(": alive\n\n")
	}
	_ = g.desk.Follow(r.Context(), approval.Following{ // the error is dropped: a client that is gone cannot be told
		Filter: func() approval.Filter {
			g.stillPermitted(r) // refreshes the caller's permissions before anything is sent
			return g.seen(r, f)
		},
		Changed: changed, Idle: alive, Every: heartbeat,
	})
}

// errNotPermitted ends the stream of a caller that lost its permission.
var errNotPermitted = errors.New("its reader may no longer follow it")

// answerApproval serves POST /v1/approvals/{id}: a person's answer.
func (g *Gateway) answerApproval(w http.ResponseWriter, r *http.Request) {
	text, refusal := g.callers.body(r)
	if refusal != nil {
		refusal.write(w)
		return
	}
	defer g.callers.release(text)
	answer, err := parseApprovalAnswer(text)
	if err != nil {
		unusableAnswer(err).write(w)
		return
	}
	now, err := g.settleApproval(r, chi.URLParam(r, "id"), answer)
	if err != nil {
		refusedAnswer(err).write(w)
		return
	}
	body, err := appendApproval(nil, &now)
	if err != nil {
		panic(err) // it was parsed before it could be answered
	}
	writeBody(w, body)
}

// settleApproval records the caller's answer. An approval of a chain that the
// caller may not reach is reported as not found.
func (g *Gateway) settleApproval(r *http.Request, id string, answer approval.Answer) (approval.Approval, error) {
	a, err := g.desk.Get(r.Context(), id)
	if err == nil && !g.sees(r, a.Chain) {
		err = approval.ErrUnknown
	}
	if err != nil {
		return approval.Approval{}, err
	}
	answer.By = g.who(r)
	return g.desk.Answer(r.Context(), id, answer)
}

// who names the person behind a request, as far as the gateway knows.
func (g *Gateway) who(r *http.Request) string {
	if g.options.CallersFile != "" {
		return visitorOf(r).Name()
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "anonymous at " + host
}

// refusedAnswer returns the problem for an answer that was not accepted.
func refusedAnswer(err error) *problem {
	settled, isSettled := errors.AsType[*approval.SettledError](err)
	_, isUnusable := errors.AsType[*approval.UnusableError](err)
	switch {
	case errors.Is(err, approval.ErrUnknown):
		return &problem{status: http.StatusNotFound, title: "Unknown approval", detail: "there is no approval with that id: settled approvals are deleted after a day"}
	case isSettled:
		return &problem{status: http.StatusConflict, title: "No answer needed", detail: fmt.Sprintf("approval %s no longer needs an answer: %s", settled.Approval.ID, settled.Error())}
	case isUnusable:
		return unusableAnswer(err)
	}
	return approvalsUnreachable(err)
}

func unusableAnswer(err error) *problem {
	return &problem{status: http.StatusBadRequest, title: "Invalid answer", detail: "the body is not a valid answer: " + err.Error()}
}

// parseApprovalAnswer parses the body of an answer; unknown fields are errors.
func parseApprovalAnswer(text []byte) (approval.Answer, error) {
	var a approval.Answer
	behavior := ""
	err := readFields(text, []field{
		textField("behavior", &behavior),
		textField("message", &a.Message),
		textField("digest", &a.Digest),
		{"updated_input", func(value json.RawMessage) error {
			a.UpdatedInput = value
			return nil
		}},
	})
	if err != nil {
		return approval.Answer{}, err
	}
	switch behavior {
	case "allow":
		a.Allow = true
	case "deny":
	case "":
		return approval.Answer{}, errors.New("behavior is missing: use allow or deny")
	default:
		return approval.Answer{}, fmt.Errorf("behavior is %.40q: use allow or deny", behavior)
	}
	return a, nil
}
