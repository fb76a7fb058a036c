package clients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// model is a stub of a vendor's model: it requests one shell command, and after
// seeing the result says that it is done.
type model struct {
	address string
	command string
	result  string

	// ended is closed when it has sent its last message, after the result of the
	// command.
	ended chan struct{}

	mu     sync.Mutex
	asked  bool     // whether the command was requested
	shown  []string // bodies of the requests for the model's next message
	others []string // other requests
}

// dialect is the format of the two answers in a vendor's API.
type dialect struct {
	// path is the suffix of the path of requests for the model's next message.
	path string
	// result is a text that a request contains if it reports the result of the
	// call.
	result string
	// tools is a text that a request contains if it offers tools. Clients also
	// request titles and summaries, which offer none.
	tools string
	// call requests a shell command; done is the last message.
	call func(command string) []string
	done []string
}

func newModel(t *testing.T, speaks dialect, command string) *model {
	t.Helper()
	m := &model{command: command, result: speaks.result, ended: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, speaks) }))
	t.Cleanup(server.Close)
	m.address = server.URL
	return m
}

func (m *model) serve(w http.ResponseWriter, r *http.Request, speaks dialect) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !strings.HasSuffix(r.URL.Path, speaks.path) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.others = append(m.others, fmt.Sprintf("%s %s %.500s", r.Method, r.URL, body))
		http.Error(w, `{"error":{"message":"the stub does not know this route"}}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, events(m.next(speaks, string(body)))) // a client that is gone makes the test fail elsewhere
}

// next returns the model's next answer.
func (m *model) next(speaks dialect, body string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.Contains(body, speaks.tools) {
		return speaks.done
	}
	m.shown = append(m.shown, body)
	if strings.Contains(body, speaks.result) || m.asked {
		if len(m.shown) == 2 {
			close(m.ended)
		}
		return speaks.done
	}
	m.asked = true
	return speaks.call(m.command)
}

// saw reports whether the model was shown a text.
func (m *model) saw(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.shown, func(body string) bool { return strings.Contains(body, text) })
}

// story describes the model's requests, for a failed test.
func (m *model) story() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var said strings.Builder
	fmt.Fprintf(&said, "asked for the command: %v; %d requests that offer tools; unknown requests: %q\n", m.asked, len(m.shown), m.others)
	if n := len(m.shown); n > 0 {
		_, told, _ := strings.Cut(m.shown[n-1], m.result)
		fmt.Fprintf(&said, "what it was told of the command: %.1500s", told)
	}
	return said.String()
}

// events returns a stream of server-sent events, one for each JSON text.
func events(texts []string) string {
	var all strings.Builder
	for _, text := range texts {
		var kind struct{ Type string }
		if json.Unmarshal([]byte(text), &kind) == nil && kind.Type != "" {
			all.WriteString("event: " + kind.Type + "\n")
		}
		all.WriteString("data: " + text + "\n\n")
	}
	return all.String()
}

// in formats a JSON text with JSON strings as arguments.
func in(text string, args ...any) string {
	quoted := make([]any, len(args))
	for i, arg := range args {
		b, err := json.Marshal(arg)
		if err != nil {
			panic(err)
		}
		quoted[i] = string(b)
	}
	return fmt.Sprintf(text, quoted...)
}

// arguments returns a call's input as the text of a JSON object.
func arguments(fields map[string]any) string {
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// openAIResponses is OpenAI's Responses API, which Codex uses.
func openAIResponses() dialect {
	const begin = `{"type":"response.created","response":{"id":"resp_1"}}`
	const end = `{"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":1,"input_tokens_details":null,"output_tokens":1,"output_tokens_details":null,"total_tokens":2}}}`
	return dialect{
		path: "/responses", result: `"function_call_output"`, tools: `"tools":[{`,
		call: func(command string) []string {
			return []string{begin, in(`{"type":"response.output_item.done","item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"exec_command","arguments":%s}}`,
				arguments(map[string]any{"cmd": command})), end}
		},
		done: []string{begin, `{"type":"response.output_item.done","item":{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"done"}]}}`, end},
	}
}

// openAIChat is OpenAI's older Chat Completions API, which most other vendors
// offer, too. shell is the name of the client's shell tool.
func openAIChat(shell string) dialect {
	const chunk = `{"id":"chat_1","object":"chat.completion.chunk","created":1,"model":"stub-model","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
	return dialect{
		path: "/chat/completions", result: `"role":"tool"`, tools: `"tools":[{`,
		call: func(command string) []string {
			call := map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": "call_1", "type": "function",
				"function": map[string]any{"name": shell, "arguments": arguments(map[string]any{"command": command, "description": "do it", "is_background": false})},
			}}}
			return []string{in(chunk, call, nil), in(chunk, map[string]any{}, "tool_calls"), "[DONE]"}
		},
		done: []string{in(chunk, map[string]any{"role": "assistant", "content": "done"}, nil), in(chunk, map[string]any{}, "stop"), "[DONE]"},
	}
}

// geminiAPI is Google's API.
func geminiAPI() dialect {
	const answer = `{"candidates":[{"index":0,"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`
	return dialect{
		path: ":streamGenerateContent", result: `"functionResponse"`, tools: `"run_shell_command"`,
		call: func(command string) []string {
			return []string{in(answer, map[string]any{"functionCall": map[string]any{"name": "run_shell_command", "args": map[string]any{"command": command, "description": "do it"}}})}
		},
		done: []string{in(answer, map[string]any{"text": "done"})},
	}
}

// anthropicMessages is Anthropic's API.
func anthropicMessages() dialect {
	stream := func(block, delta, why string) []string {
		return []string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"stub-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
			`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"` + why + `","stop_sequence":null},"usage":{"output_tokens":1}}`,
			`{"type":"message_stop"}`,
		}
	}
	return dialect{
		path: "/messages", result: `"tool_result"`, tools: `"tools":[{`,
		call: func(command string) []string {
			return stream(`{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}`,
				in(`{"type":"input_json_delta","partial_json":%s}`, arguments(map[string]any{"command": command, "description": "do it"})), "tool_use")
		},
		done: stream(`{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"),
	}
}
