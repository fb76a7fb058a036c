package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

// BenchmarkReplaceALargeResult translates a replacement of 13 MB: one text, and
// many values.
func BenchmarkReplaceALargeResult(b *testing.B) {
	for name, output := range map[string]string{
		"text":   `{"stdout":"` + strings.Repeat("a line, and another\\n", 650_000) + `","stderr":"","interrupted":false,"isImage":false}`,
		"values": `{"stdout":"","more":[0` + strings.Repeat(",0", 6_500_000) + `]}`,
	} {
		for agent, body := range map[string]string{
			"claude-code": `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Read","tool_input":{},"tool_response":OUTPUT}`,
			"opencode":    `{"hook_schema":1,"event":"post_tool_use","tool_name":"x","input":{},"output":OUTPUT}`,
			"codex":       `{"hook_event_name":"PostToolUse","session_id":"s","turn_id":"t","tool_use_id":"c","cwd":"/","tool_name":"Bash","tool_input":{},"tool_response":OUTPUT}`,
		} {
			b.Run(fmt.Sprint(agent, "/", name), func(b *testing.B) {
				c, _ := Find(agent)
				call, err := c.Read("", []byte(strings.Replace(body, "OUTPUT", output, 1)))
				if err != nil {
					b.Fatal(err)
				}
				now := json.RawMessage(output[:len(output)-1] + `,"added":1}`)
				b.SetBytes(int64(len(now)))
				for b.Loop() {
					call.Answer(chain.Outcome{Decision: chain.Replace, Output: now}, false)
				}
			})
		}
	}
}
