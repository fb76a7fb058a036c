package agentproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/hookgate/hookgate/chain"
)

// maxBridgeLine is the longest line, in bytes, that an agent reads from its
// bridge.
const maxBridgeLine = 64 << 20

// Agent is the agent's side of the wire. Its methods are safe for concurrent
// use.
type Agent struct {
	// Turn is the turn that the agent was started for.
	Turn Turn

	in *bufio.Reader

	mu        sync.Mutex
	out       io.Writer
	sessionID string
	ended     string // type of the event that ended the turn, or empty
	nextID    int
	reading   bool
	waiting   map[string]chan Answer // by request id; nil once answered
	broken    error                  // why no more answers can arrive
}

// ReadTurn reads the turn from in and returns the agent's side of it, which
// writes its events to out. Nothing else may read from in afterwards.
func ReadTurn(in io.Reader, out io.Writer) (*Agent, error) {
	a := &Agent{in: bufio.NewReader(in), out: out, waiting: map[string]chan Answer{}}
	line, err := readLine(a.in, maxBridgeLine)
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, fmt.Errorf("no turn on the agent's input: %w", err)
	}
	if a.Turn, err = parseTurn(line); err != nil {
		return nil, fmt.Errorf("the turn line cannot be read: %w", err)
	}
	if a.Turn.Message == "" && len(a.Turn.Attachments) == 0 {
		return nil, errors.New("the turn is empty: it has neither a message nor attachments")
	}
	return a, nil
}

// readLine reads a line of at most that many bytes, without its newline.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, fmt.Errorf("a line of more than %d bytes", most)
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// SetSession adds the id to every later event. The bridge uses it to continue
// the session in a later turn. An agent that cannot resume a session must not
// set one.
func (a *Agent) SetSession(id string) error {
	if !usableSessionID(id) {
		return fmt.Errorf("session id %.64q is not valid: 1 to %d bytes without / \\ or control characters", id, maxIDBytes)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessionID != "" && a.sessionID != id {
		return fmt.Errorf("the session is already %q: a bridge keeps the first", a.sessionID)
	}
	a.sessionID = id
	return nil
}

// Partial writes a part of the reply.
func (a *Agent) Partial(p Partial) error {
	line := appendMember([]byte(`{"type":"partial"`), fieldText, p.Text)
	if p.Role != "" {
		line = appendMember(line, fieldRole, p.Role)
	}
	return a.write(line, "")
}

// Result ends the turn successfully. usage is a JSON object, or nil.
func (a *Agent) Result(text string, usage json.RawMessage) error {
	return a.finish(typeResult, fieldText, text, usage)
}

// Error ends the turn as failed; later events do not count. usage is a JSON
// object, or nil.
func (a *Agent) Error(message string, usage json.RawMessage) error {
	return a.finish(typeError, fieldMessage, message, usage)
}

func (a *Agent) finish(kind, field, text string, usage json.RawMessage) error {
	line := chain.AppendString([]byte(`{"type":`), kind)
	line = appendMember(line, field, text)
	if usage != nil {
		if !isObject(usage) || chain.CheckValue(usage) != nil {
			return errors.New("usage is not a JSON object")
		}
		line = appendValue(line, fieldUsage, usage)
	}
	return a.write(line, kind)
}

// write completes the line with the session id and writes it. ends is the
// event's type if it ends the turn, or empty. After an error event nothing may
// follow, and after a result only an error.
func (a *Agent) write(line []byte, ends string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended == typeError || a.ended == typeResult && ends != typeError {
		return fmt.Errorf("the turn has ended with its %s event", a.ended)
	}
	if err := a.writeLocked(line); err != nil {
		return err
	}
	a.ended = ends
	return nil
}

func (a *Agent) writeLocked(line []byte) error {
	if a.sessionID != "" {
		line = appendMember(line, fieldSessionID, a.sessionID)
	}
	if _, err := a.out.Write(append(line, '}', '\n')); err != nil {
		return fmt.Errorf("cannot write to the bridge: %w", err)
	}
	return nil
}

// Ask requests permission to run a tool and waits for the answer. If RequestID
// is empty, an unused id is chosen. The call is permitted only if the error is
// nil and the answer is Allow, with UpdatedInput, if set, instead of the input.
// Ask may be called concurrently.
func (a *Agent) Ask(ctx context.Context, r PermissionRequest) (Answer, error) {
	if !a.Turn.Permission {
		return Answer{}, errors.New("this turn offers no permission channel")
	}
	if r.ToolName == "" || !isObject(r.Input) || chain.CheckValue(r.Input) != nil {
		return Answer{}, errors.New("a permission request needs a tool name and an input that is a JSON object")
	}
	id, answered, err := a.request(r)
	if err != nil {
		return Answer{}, err
	}
	select {
	case answer, ok := <-answered:
		if !ok {
			a.mu.Lock()
			defer a.mu.Unlock()
			return Answer{}, fmt.Errorf("request %q was not answered: %w", id, a.broken)
		}
		return answer, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("request %q was not answered: %w", id, context.Cause(ctx))
	}
}

// request registers the request before it writes it, so that its answer always
// finds it.
func (a *Agent) request(r PermissionRequest) (id string, answered chan Answer, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended != "":
		return "", nil, fmt.Errorf("the turn has ended with its %s event", a.ended)
	case a.broken != nil:
		return "", nil, fmt.Errorf("permission can no longer be requested: %w", a.broken)
	}
	if r.RequestID == "" {
		r.RequestID = a.freeID()
	}
	if _, used := a.waiting[r.RequestID]; used || !usableRequestID(r.RequestID) {
		return "", nil, fmt.Errorf("request id %.64q is already used in this turn, or not valid", r.RequestID)
	}
	answered = make(chan Answer, 1)
	a.waiting[r.RequestID] = answered
	if !a.reading {
		a.reading = true
		go a.readAnswers()
	}
	return r.RequestID, answered, a.writeLocked(appendRequest(nil, r))
}

// freeID returns an unused id.
func (a *Agent) freeID() string {
	for {
		a.nextID++
		id := strconv.Itoa(a.nextID)
		if _, used := a.waiting[id]; !used {
			return id
		}
	}
}

// appendRequest appends the request without its closing brace.
func appendRequest(dst []byte, r PermissionRequest) []byte {
	dst = append(dst, `{"type":"permission_request"`...)
	dst = appendMember(dst, fieldRequestID, r.RequestID)
	dst = appendMember(dst, fieldToolName, r.ToolName)
	dst = appendValue(dst, fieldInput, r.Input)
	if r.Description != "" {
		dst = appendMember(dst, fieldDescription, r.Description)
	}
	if r.ToolUseID != "" {
		dst = appendMember(dst, fieldToolUseID, r.ToolUseID)
	}
	return dst
}

// readAnswers passes on answers until the input ends or a line is unreadable.
// After such a line it is uncertain which call the next one answers.
func (a *Agent) readAnswers() {
	for {
		line, err := readLine(a.in, maxBridgeLine)
		if err != nil {
			a.breakOff(fmt.Errorf("the bridge's input ended: %w", err))
			return
		}
		id, answer, err := parseResponse(line)
		if err != nil {
			a.breakOff(fmt.Errorf("a line of the bridge cannot be read: %w", err))
			return
		}
		a.mu.Lock()
		if answered := a.waiting[id]; answered != nil {
			answered <- answer
			a.waiting[id] = nil // each id is answered once
		}
		a.mu.Unlock()
	}
}

// breakOff ends all waiting calls without an answer.
func (a *Agent) breakOff(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = why
	for _, answered := range a.waiting {
		if answered != nil {
			close(answered)
		}
	}
}
