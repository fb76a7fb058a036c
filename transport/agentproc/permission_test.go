package agentproc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

func request(t *testing.T, line string) *PermissionRequest {
	t.Helper()
	e, err := parseEvent([]byte(line))
	if err != nil || e.request == nil || e.fault != nil {
		t.Fatalf("parseEvent(%s) = %+v, %v", line, e, err)
	}
	return e.request
}

func TestARequestBecomesAnEnvelopeByteForByte(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"the least": {
			`{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{}}`,
			`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w \"x\"","agent_id":"coder","tool_call_id":"1","tool_name":"Bash","input":{},"request_id":"1"}`,
		},
		"numbers, order and escapes survive": {
			`{"type":"permission_request","input":{"z":9007199254740993,"a":1e400,"s":"\ud83d<&>"},"tool_name":"\u0042ash","request_id":"1"}`,
			`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w \"x\"","agent_id":"coder","tool_call_id":"1","tool_name":"\u0042ash",` +
				`"input":{"z":9007199254740993,"a":1e400,"s":"\ud83d<&>"},"request_id":"1"}`,
		},
		"the model's name for the call names it": {
			`{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{},"description":"list","tool_use_id":"toolu_1","session_id":"s"}`,
			`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w \"x\"","agent_id":"coder","tool_call_id":"toolu_1","tool_name":"Bash","input":{},` +
				`"request_id":"1","description":"list","tool_use_id":"toolu_1","session_id":"s"}`,
		},
		"what is new is carried": {
			`{"type":"permission_request","request_id":"1","risk":{"score":0.10},"tool_name":"Bash","input":{},"\"q\"":null}`,
			`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w \"x\"","agent_id":"coder","tool_call_id":"1","tool_name":"Bash","input":{},` +
				`"request_id":"1","risk":{"score":0.10},"\"q\"":null}`,
		},
		"an agent says nothing in the bridge's name": {
			`{"type":"permission_request","workspace":"/etc","agent_id":"root","Agent_Id":"root","hook_schema":2,"event":"post_tool_use","output":1,` +
				`"is_error":false,"tool_call_id":"x","request_id":"1","tool_name":"Bash","input":{}}`,
			`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w \"x\"","agent_id":"coder","tool_call_id":"1","tool_name":"Bash","input":{},"request_id":"1"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := request(t, c.line).Envelope(`/w "x"`, "coder")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.JSON())); diff != "" {
				t.Errorf("envelope (-want +got):\n%s", diff)
			}
			if got.Event() != chain.PreToolUse || got.ToolName() != "Bash" || got.Workspace() != `/w "x"` || got.AgentID() != "coder" {
				t.Errorf("read as %v %q %q %q", got.Event(), got.ToolName(), got.Workspace(), got.AgentID())
			}
		})
	}
}

func TestEveryFieldOfTheEnvelopeIsTheBridgesToSay(t *testing.T) {
	whole := `{"hook_schema":1,"event":"post_tool_use","workspace":"w","agent_id":"a","tool_call_id":"c","tool_name":"t","input":{},"output":1,"is_error":false`
	if _, err := chain.ParseRequest([]byte(whole + "}")); err != nil {
		t.Fatal(err)
	}
	for _, field := range envelopeFields() {
		if _, err := chain.ParseRequest([]byte(whole + `,"` + strings.ToUpper(field) + `":1}`)); err == nil {
			t.Errorf("%s is no field of an envelope", field)
		}
	}
}

func TestARequestOfNoAgentMakesAnEnvelopeToo(t *testing.T) {
	got, err := (&PermissionRequest{RequestID: "1", ToolName: "a\"b", Input: json.RawMessage(`{}`)}).Envelope("w", "a")
	if err != nil || got.ToolName() != `a"b` || got.ToolCallID() != "1" {
		t.Errorf("Envelope = %v, %v", got, err)
	}
}

func TestARequestThatMakesNoEnvelopeIsRefused(t *testing.T) {
	for name, r := range map[string]PermissionRequest{
		"zero":     {},
		"no tool":  {RequestID: "1", Input: json.RawMessage(`{}`)},
		"no input": {RequestID: "1", ToolName: "Bash"},
		"smuggled": {RequestID: "1", ToolName: "Bash", Input: json.RawMessage(`{},"event":"pre_tool_use"`)},
	} {
		_, err := r.Envelope("w", "a")
		if err == nil || !strings.HasPrefix(err.Error(), "no envelope can be made of the request: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestA13_ZeroValuesDeny(t *testing.T) {
	if got := string(Answer{}.response("1")); !strings.Contains(got, `"behavior":"deny"`) {
		t.Errorf("the zero Answer is %s", got)
	}
	if answer, settled := AnswerTo(chain.Outcome{}); !settled || answer.Behavior != Deny {
		t.Errorf("the zero Outcome is %+v", answer)
	}
	if answer, settled := PermissionDefault(0).Answer(); !settled || answer.Behavior != Deny {
		t.Errorf("the zero PermissionDefault is %+v", answer)
	}
	if answer, settled := PermissionDefault(99).Answer(); !settled || answer.Behavior != Deny {
		t.Errorf("an unknown PermissionDefault is %+v", answer)
	}
	if Behavior(99).String() != "deny" {
		t.Error("an unknown Behavior does not deny")
	}
	if (Result{}).Succeeded {
		t.Error("the zero Result has succeeded")
	}
	if err := new(Profile).Check(); err == nil {
		t.Error("the zero Profile is taken")
	}
	if _, err := Run(t.Context(), Turn{}, Options{}); err == nil {
		t.Error("the zero Options run")
	}
}

func TestAChainsOutcomeIsAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		outcome chain.Outcome
		want    Answer
		settled bool
	}{
		"deny": {chain.Outcome{Decision: chain.Deny, Reason: "denied by hook 'guard'"}, Answer{Message: "denied by hook 'guard'"}, true},
		"modify": {
			chain.Outcome{Decision: chain.Modify, Input: json.RawMessage(`{"a":1}`), Reason: "hook 'narrow'"},
			Answer{Behavior: Allow, UpdatedInput: json.RawMessage(`{"a":1}`)},
			true,
		},
		"allow leaves it to the profile":         {chain.Outcome{Decision: chain.Allow, Reason: "opened"}, Answer{}, false},
		"replace cannot be an answer to a call":  {chain.Outcome{Decision: chain.Replace, Output: json.RawMessage(`1`)}, Answer{}, true},
		"undecided is no permission to anything": {chain.Outcome{}, Answer{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, settled := AnswerTo(c.outcome)
			if diff := cmp.Diff(c.want, got); diff != "" || settled != c.settled {
				t.Errorf("settled %v (-want +got):\n%s", settled, diff)
			}
		})
	}
}

func TestAProfilesDefaultAnswersWhatTheChainAllows(t *testing.T) {
	type said struct {
		Answer  Answer
		Settled bool
	}
	got := map[string]said{}
	for _, d := range PermissionDefaults() {
		answer, settled := d.Answer()
		got[d.String()] = said{answer, settled}
		if again, err := ParsePermissionDefault(d.String()); err != nil || again != d {
			t.Errorf("ParsePermissionDefault(%q) = %v, %v", d, again, err)
		}
	}
	want := map[string]said{
		"allow":       {Answer{Behavior: Allow}, true},
		"deny":        {Answer{Message: "denied: permission_default of this agent's profile is deny"}, true},
		"deny_logged": {Answer{Message: "denied: permission_default of this agent's profile is deny_logged"}, true},
		"ask":         {Answer{}, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	_, err := ParsePermissionDefault("Allow")
	if err == nil || err.Error() != `permission_default "Allow" is not one of allow, deny, deny_logged, ask` {
		t.Errorf("ParsePermissionDefault(Allow) = %v", err)
	}
}

func TestAResponseIsOneLineWithWhatBelongsToIt(t *testing.T) {
	for name, c := range map[string]struct {
		answer Answer
		want   string
	}{
		"allow":                          {Answer{Behavior: Allow, DecisionID: "d"}, `"behavior":"allow"`},
		"an allow has no message":        {Answer{Behavior: Allow, Message: "fine"}, `"behavior":"allow"`},
		"allow with another input":       {Answer{Behavior: Allow, UpdatedInput: json.RawMessage("{\n \"a\":\r\n 1}")}, `"behavior":"allow","updated_input":{  "a":   1}`},
		"deny":                           {Answer{Message: "not <here>\n\"now\""}, `"behavior":"deny","message":"not <here>\n\"now\""`},
		"deny without a reason":          {Answer{}, `"behavior":"deny"`},
		"a deny has no input":            {Answer{UpdatedInput: json.RawMessage(`{}`)}, `"behavior":"deny"`},
		"an input that is no object":     {Answer{Behavior: Allow, UpdatedInput: json.RawMessage(`[]`)}, `"behavior":"deny","message":"denied: the updated input is not a JSON object"`},
		"an input that is no JSON":       {Answer{Behavior: Allow, UpdatedInput: json.RawMessage(`{"a":1,"a":2}`)}, `"behavior":"deny","message":"denied: the updated input is not a JSON object"`},
		"an input that would be a frame": {Answer{Behavior: Allow, UpdatedInput: json.RawMessage("{}}\n{")}, `"behavior":"deny","message":"denied: the updated input is not a JSON object"`},
	} {
		t.Run(name, func(t *testing.T) {
			held, usable := c.answer.held()
			if usable == strings.Contains(c.want, "not a JSON object") {
				t.Errorf("usable: %v", usable)
			}
			got := string(held.response(`r"1`))
			want := `{"type":"permission_response","request_id":"r\"1",` + c.want + "}\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAgentReadsExactlyOneAnswer(t *testing.T) {
	for line, want := range map[string]Answer{
		`{"type":"permission_response","request_id":"1","behavior":"allow"}`:                                  {Behavior: Allow},
		`{"type":"permission_response","request_id":"1","behavior":"allow","updated_input":{"n":1e400}}`:      {Behavior: Allow, UpdatedInput: json.RawMessage(`{"n":1e400}`)},
		`{"type":"permission_response","request_id":"1","behavior":"allow","updated_input":null,"new":true}`:  {Behavior: Allow},
		`{"type":"permission_response","request_id":"1","behavior":"deny","message":"no","updated_input":{}}`: {Message: "no"},
		`{"type":"permission_response","request_id":"1","behavior":"deny","message":7}`:                       {},
	} {
		id, got, err := parseResponse([]byte(line))
		if err != nil || id != "1" {
			t.Errorf("%s: id %q, %v", line, id, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	for line, want := range map[string]string{
		``: "no JSON value",
		`{"type":"permission_response","request_id":"1","behavior":"allow","behavior":"allow"}`:       "duplicate",
		`{"type":"permission_response","request_id":"1","behavior":"deny","Behavior":"allow"}`:        "only by case",
		`{"type":"permission_response","request_id":"1","behavior":"Allow"}`:                          `behavior "Allow" is neither allow nor deny`,
		`{"type":"permission_response","request_id":"1"}`:                                             `behavior "" is neither allow nor deny`,
		`{"type":"permission_response","request_id":"1","behavior":true}`:                             `behavior "" is neither allow nor deny`,
		`{"type":"permission_response","behavior":"allow"}`:                                           "no valid request_id",
		`{"type":"permission_response","request_id":1,"behavior":"allow"}`:                            "no valid request_id",
		`{"type":"permission_request","request_id":"1","behavior":"allow"}`:                           `type "permission_request" is not permission_response`,
		`{"request_id":"1","behavior":"allow"}`:                                                       `type "" is not permission_response`,
		`{"type":"permission_response","request_id":"1","behavior":"allow","updated_input":"rm -rf"}`: "updated_input is not an object",
	} {
		id, got, err := parseResponse([]byte(line))
		if err == nil || !strings.Contains(err.Error(), want) || got.Behavior != Deny || id != "" {
			t.Errorf("parseResponse(%s) = %q, %+v, %v, want the error %q", line, id, got, err, want)
		}
	}
}
