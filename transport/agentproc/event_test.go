package agentproc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// same compares what events say, without the raw members that they carry.
func same() cmp.Option {
	return cmp.Options{
		cmp.AllowUnexported(event{}, PermissionRequest{}),
		cmpopts.IgnoreFields(event{}, "fault"),
		cmpopts.IgnoreFields(PermissionRequest{}, "toolName", "carried"),
	}
}

func TestA1_EachLineIsOneEventOfTheClosedVocabulary(t *testing.T) {
	for line, want := range map[string]event{
		`{"type":"partial","text":"some words"}`:                      {kind: partialEvent, text: "some words"},
		`{"type":"partial","text":"one\ntwo"}`:                        {kind: partialEvent, text: "one\ntwo"},
		`{"type":"partial","text":""}`:                                {kind: partialEvent},
		`{"type":"partial"}`:                                          {kind: partialEvent},
		`{"type":"partial","text":42}`:                                {kind: partialEvent},
		`{"type":"partial","text":null}`:                              {kind: partialEvent},
		`{"type":"partial","text":"grüße 🚀"}`:                         {kind: partialEvent, text: "grüße 🚀"},
		`{"type":"partial","text":"why","role":"thinking"}`:           {kind: partialEvent, text: "why", role: RoleThinking},
		`{"type":"partial","text":"so","role":"output"}`:              {kind: partialEvent, text: "so", role: RoleOutput},
		`{"type":"partial","text":"so","role":"aside"}`:               {kind: partialEvent, text: "so", role: "aside"},
		`{"type":"partial","text":"so","role":42}`:                    {kind: partialEvent, text: "so"},
		`{"type":"partial","text":"so","session_id":"s-1"}`:           {kind: partialEvent, text: "so", sessionID: "s-1"},
		`{"type":"partial","text":"so","usage":{"input_tokens":1}}`:   {kind: partialEvent, text: "so"},
		`{"session_id":"s-1","text":"so","type":"partial"}`:           {kind: partialEvent, text: "so", sessionID: "s-1"},
		` {"type" : "partial" , "text" : "so"} ` + "\r":               {kind: partialEvent, text: "so"},
		`{"\u0074ype":"par\u0074ial","text":"so"}`:                    {kind: partialEvent, text: "so"},
		`{"type":"partial","text":"so","new":{"of":["a","newer"]}}`:   {kind: partialEvent, text: "so"},
		`{"type":"result","text":"done"}`:                             {kind: resultEvent, text: "done"},
		`{"type":"result","text":""}`:                                 {kind: resultEvent},
		`{"type":"result"}`:                                           {kind: resultEvent},
		`{"type":"result","text":true}`:                               {kind: resultEvent},
		`{"type":"result","text":"done","session_id":"org:a thread"}`: {kind: resultEvent, text: "done", sessionID: "org:a thread"},
		`{"type":"result","text":"done","session_id":""}`:             {kind: resultEvent, text: "done", badSession: true},
		`{"type":"result","text":"done","session_id":null}`:           {kind: resultEvent, text: "done"},
		`{"type":"result","text":"done","session_id":7}`:              {kind: resultEvent, text: "done", badSession: true},
		`{"type":"result","text":"done","session_id":"a/b"}`:          {kind: resultEvent, text: "done", badSession: true},
		`{"type":"result","text":"done","session_id":"a\u0000"}`:      {kind: resultEvent, text: "done", badSession: true},
		`{"type":"result","usage":{"n":9007199254740993,"x":1e400}}`:  {kind: resultEvent, usage: json.RawMessage(`{"n":9007199254740993,"x":1e400}`)},
		`{"type":"result","usage":[1]}`:                               {kind: resultEvent},
		`{"type":"error","message":"too many requests"}`:              {kind: errorEvent, text: "too many requests"},
		`{"type":"error","message":""}`:                               {kind: errorEvent},
		`{"type":"error"}`:                                            {kind: errorEvent},
		`{"type":"error","message":false}`:                            {kind: errorEvent},
		`{"type":"error","text":"elsewhere"}`:                         {kind: errorEvent},
		`{"type":"error","message":"no","session_id":"s","usage":{}}`: {kind: errorEvent, text: "no", sessionID: "s", usage: json.RawMessage(`{}`)},
		`{"type":"permission_request","request_id":"1","tool_name":"Bash","input":{}}`: {
			kind: permissionEvent, request: &PermissionRequest{RequestID: "1", ToolName: "Bash", Input: json.RawMessage(`{}`)},
		},
		`{"type":"permission_request","request_id":"r","tool_name":"Fetch","input":{"url":"x"},"description":"look","tool_use_id":"t","session_id":"s"}`: {
			kind: permissionEvent, sessionID: "s", request: &PermissionRequest{
				RequestID: "r", ToolName: "Fetch", Input: json.RawMessage(`{"url":"x"}`), Description: "look", ToolUseID: "t", SessionID: "s",
			},
		},
		`{"type":"permission_request","request_id":"r","tool_name":"Fetch","input":{},"description":null,"tool_use_id":3}`: {
			kind: permissionEvent, request: &PermissionRequest{RequestID: "r", ToolName: "Fetch", Input: json.RawMessage(`{}`)},
		},
	} {
		got, err := parseEvent([]byte(line))
		if err == nil {
			err = got.fault
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, got, same()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestA1_WhateverElseAnAgentPrintsIsNoEvent(t *testing.T) {
	for line, want := range map[string]string{
		``:                                     "no JSON value",
		"  \r":                                 "no JSON value",
		`debug: starting`:                      "invalid character",
		`42`:                                   "a number instead of an object",
		`"partial"`:                            "a string instead of an object",
		`null`:                                 "null instead of an object",
		`true`:                                 "a boolean instead of an object",
		`[{"type":"error"}]`:                   "an array instead of an object",
		`{"type":"partial","text":"a"`:         "cut short",
		`{"type":"partial"}{"type":"partial"}`: "after top-level value",
		`{"text":"no type"}`:                   `no string "type"`,
		`{"type":7}`:                           `no string "type"`,
		`{"type":["partial"]}`:                 `no string "type"`,
		`{"type":"Partial"}`:                   `unknown type "Partial"`,
		`{"type":"tool_call"}`:                 `unknown type "tool_call"`,
		`{"type":"turn","message":"hi"}`:       `unknown type "turn"`,
		`{"type":"permission_response","request_id":"1","behavior":"allow"}`:                          `unknown type "permission_response"`,
		`{"type":"session","id":"s-1"}`:                                                               `unknown type "session"`,
		`{"type":"text","text":"older wire"}`:                                                         `unknown type "text"`,
		`{"type":"partial","type":"result"}`:                                                          "duplicate",
		`{"type":"result","text":"a","text":"b"}`:                                                     "duplicate",
		`{"type":"result","usage":{"a":1,"a":2}}`:                                                     "duplicate",
		`{"type":"result","Text":"a"}`:                                                                `field "Text" before byte 24 differs from "text" only by case`,
		`{"TYPE":"result"}`:                                                                           `differs from "type" only by case`,
		"{\"type\":\"result\",\"text\":\"\xc3\x28\"}":                                                 "invalid UTF-8",
		"\uFEFF" + `{"type":"result"}`:                                                                "invalid character",
		`{"type":"permission_request","tool_name":"Bash","input":{}}`:                                 "a permission_request without a valid request_id",
		`{"type":"permission_request","request_id":1,"tool_name":"Bash","input":{}}`:                  "a permission_request without a valid request_id",
		`{"type":"permission_request","request_id":"","tool_name":"Bash","input":{}}`:                 "a permission_request without a valid request_id",
		`{"type":"permission_request","request_id":"a b","tool_name":"Bash","input":{}}`:              "a permission_request without a valid request_id",
		`{"type":"permission_request","request_id":"a\nb","tool_name":"Bash","input":{}}`:             "a permission_request without a valid request_id",
		`{"type":"permission_request","request_id":"\ud83d","tool_name":"Bash","input":{}}`:           "a permission_request without a valid request_id",
		`{"type":"permission_request","Request_Id":"1","Tool_Name":"Bash","Input":{}}`:                "only by case",
		`{"type":"permission_request","request_id":"1","request_id":"2","tool_name":"B","input":{}}`:  "duplicate",
		`{"type":"permission_request","request_id":"1","request\u005fid":"1","tool_name":"B"}`:        "duplicate",
		`{"type":"permission_request","request_id":"1","Request_ID":"2","tool_name":"B","input":{}}`:  "only by case",
		`{"type":"permission_request","request_id":"1","tool_name":"B","input":{}} {"type":"result"}`: "after top-level value",
	} {
		got, err := parseEvent([]byte(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseEvent(%s) = %+v, %v, want the error %q", line, got, err, want)
		}
	}
}

func TestA2_AMalformedRequestWhoseIDIsCertainIsToBeDenied(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"permission_request","request_id":"7","input":{}}`:                                                                    `no string "tool_name"`,
		`{"type":"permission_request","request_id":"7","tool_name":"","input":{}}`:                                                     `no string "tool_name"`,
		`{"type":"permission_request","request_id":"7","tool_name":3,"input":{}}`:                                                      `no string "tool_name"`,
		`{"type":"permission_request","request_id":"7","tool_name":"Bash"}`:                                                            `"input" is not an object`,
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":null}`:                                               `"input" is not an object`,
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":"rm"}`:                                               `"input" is not an object`,
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":[]}`:                                                 `"input" is not an object`,
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":{},"input":{"a":1}}`:                                 "duplicate",
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":{"a":1,"a":2}}`:                                      "duplicate",
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":{},"Input":{}}`:                                      "only by case",
		`{"type":"permission_request","request_id":"7","tool_name":"Bash","input":{"a":}}`:                                             "invalid character",
		"{\"type\":\"permission_request\",\"request_id\":\"7\",\"tool_name\":\"Bash\",\"input\":{\"c\":\"a\xffb\"}}":                   "invalid UTF-8",
		`{"type":"permission_request","request_id":"7","input":{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}`: "exceeded max depth",
	} {
		got, err := parseEvent([]byte(line))
		if err != nil || got.kind != permissionEvent || got.request.RequestID != "7" {
			t.Errorf("parseEvent(%.100s) = %+v, %v, want a request of id 7", line, got, err)
			continue
		}
		if got.fault == nil || !strings.Contains(got.fault.Error(), want) {
			t.Errorf("parseEvent(%.100s): fault %v, want %q", line, got.fault, want)
		}
	}
}

func TestA2_AnIDInDoubtIsNotGuessed(t *testing.T) {
	for line, want := range map[string]struct{ kind, id string }{
		`{"type":"permission_request","request_id":"1"}`:                                                        {"permission_request", "1"},
		` { "request_id" : "1" , "x" : [1,{"request_id":"2"}], "type" : "permission_request" , "n" : -1.5e3 } `: {"permission_request", "1"},
		`{"request_id":"a\u0062\"c","type":"permission_request","x":"}\\"}`:                                     {"permission_request", `ab"c`},
		`{"type":"permission_request","x":{"type":"result","request_id":"9"},"request_id":"1"}`:                 {"permission_request", "1"},
		`{"type":"error","message":"a","message":"b"}`:                                                          {"error", ""},
		`{}`: {"", ""},
		`{"type":"permission_request","request_id":"1"`:                                         {"", ""},
		`{"type":"permission_request","request_id":"1}`:                                         {"", ""},
		`{"type":"permission_request","request_id":"1"}}`:                                       {"", ""},
		`{"type":"permission_request","request_id":"1"}{}`:                                      {"", ""},
		`{"type":"permission_request","request_id":"1"} x`:                                      {"", ""},
		`{"type":"permission_request","request_id":"1"}"`:                                       {"", ""},
		`"type":"permission_request","request_id":"1"}`:                                         {"", ""},
		`[{"type":"permission_request","request_id":"1"}]`:                                      {"", ""},
		`{"type":"permission_request","request_id":"1","request_id":"1"}`:                       {"", ""},
		`{"type":"permission_request","request_id":7,"request_id":"1"}`:                         {"", ""},
		`{"type":"permission_request","request_id":"1","REQUEST_ID":"2"}`:                       {"", ""},
		`{"type":"permission_request","type":"result","request_id":"1"}`:                        {"", ""},
		`{"Type":"permission_request","request_id":"1"}`:                                        {"", ""},
		`{"type":"permission_request","request_id":"1",}`:                                       {"", ""},
		`{,"type":"permission_request","request_id":"1"}`:                                       {"", ""},
		`{"type":"permission_request" "request_id":"1"}`:                                        {"", ""},
		`{"type":"permission_request","request_id" "1"}`:                                        {"", ""},
		`{"type":"permission_request","request_id":"1" "2"}`:                                    {"", ""},
		`{"type":"permission_request","request_id":,"x":1}`:                                     {"", ""},
		`{"type":"permission_request",request_id:"1"}`:                                          {"", ""},
		`{"type":"permission_request","request_id":1"2"}`:                                       {"", ""},
		`{"type":"permission_request","request_id":"1","x":1 2}`:                                {"", ""},
		`{"type":"permission_request","request_id":{"request_id":"1"}}`:                         {"permission_request", ""},
		`{"type":"permission_request","request_id":"a b"}`:                                      {"permission_request", ""},
		"{\"type\":\"permission_request\",\"request_id\":\"a\xff\"}":                            {"permission_request", ""},
		`{"type":"permission_request","request_id":"\q"}`:                                       {"permission_request", ""},
		`{"type":"permission_request","request_id":"` + strings.Repeat("i", 257) + `"}`:         {"permission_request", ""},
		`{"type":"permission_request","request_id":"` + strings.Repeat("i", 99999) + `"}`:       {"permission_request", ""},
		`{"type":"permission_request","request_id":"1","` + strings.Repeat("k", 99999) + `":1}`: {"permission_request", "1"},
	} {
		var whole, single idScanner
		whole.write([]byte(line))
		for _, c := range []byte(line) {
			single.write([]byte{c})
		}
		for _, scan := range []*idScanner{&whole, &single} {
			id, ok := scan.requestID()
			if !ok {
				id = ""
			}
			if got := (struct{ kind, id string }{scan.kind(), id}); got != want {
				t.Errorf("%.120s: scanned as %q, want %q", line, got, want)
			}
		}
	}
}
