package main

import (
	"fmt"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

func TestThePolicyAllowsKnownToolsAndNothingThatDestroys(t *testing.T) {
	p := newPolicy()
	for _, c := range []struct {
		tool, input string
		want        chain.Decision
	}{
		{"shell", `{"command":"go test ./..."}`, chain.Allow},
		{"read_file", `{"path":"/etc/hosts"}`, chain.Allow},
		{"shell", `{"command":"rm  -rf /"}`, chain.Deny},
		{"shell", `{"command":"rm\t-rf\u0020/srv"}`, chain.Deny},
		{"shell", `{"command":"mkfs.ext4 /dev/sda"}`, chain.Deny},
		{"browser", `{"command":"ls"}`, chain.Deny},
	} {
		req, err := chain.ParseRequest(fmt.Appendf(nil,
			`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w","agent_id":"a","tool_call_id":"c","tool_name":%q,"input":%s}`, c.tool, c.input))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := p.Intercept(t.Context(), req); err != nil || o.Decision != c.want {
			t.Errorf("%s %s: %v, %v", c.tool, c.input, o, err)
		}
	}
	odd, err := chain.ParseRequest([]byte(`{"hook_schema":1,"event":"pre_tool_use","workspace":"/w","agent_id":"a","tool_call_id":"c","tool_name":"shell","input":"ls"}`))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := p.Intercept(t.Context(), odd); err == nil {
		t.Errorf("a command that is not where it belongs is answered %v", o)
	}
}
