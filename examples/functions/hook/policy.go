package hook

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// policy decides about calls. Replace it with yours.
type policy struct {
	production, install, accessKey *regexp.Regexp
}

func newPolicy() policy {
	return policy{
		production: regexp.MustCompile(`(?i)\bprod`),
		install:    regexp.MustCompile(`^npm (install|ci)\b[\w ./@^-]*$`),
		accessKey:  regexp.MustCompile(`\bA(KIA|SIA)[A-Z2-7]{16}\b`),
	}
}

// answer is the decision object on the wire.
type answer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitempty"`
	Input    any    `json:"input,omitempty"`
	Output   any    `json:"output,omitempty"`
}

func deny(format string, args ...any) answer {
	return answer{Decision: "deny", Reason: fmt.Sprintf(format, args...)}
}

func (p policy) decide(call *chain.Request) answer {
	if call.Event() == chain.PostToolUse {
		return p.review(call.Output())
	}
	if call.ToolName() != "shell" {
		return deny("this hook knows the tool shell and was asked about %q", call.ToolName())
	}
	// Values stay raw, so that a rewrite preserves every number.
	var input map[string]json.RawMessage
	var command *string
	if json.Unmarshal(call.Input(), &input) != nil || json.Unmarshal(input["command"], &command) != nil || command == nil {
		return deny("input.command is not a string")
	}
	if p.production.MatchString(*command) {
		return deny("production is off limits")
	}
	if p.install.MatchString(*command) && !strings.Contains(*command, "--ignore-scripts") {
		rewritten, err := json.Marshal(*command + " --ignore-scripts")
		if err != nil {
			return deny("the command cannot be rewritten: %v", err)
		}
		input["command"] = rewritten
		return answer{Decision: "modify", Input: input, Reason: "packages run no scripts while they are installed"}
	}
	return answer{Decision: "allow"}
}

// review keeps the ids of AWS access keys from the model.
func (p policy) review(output json.RawMessage) answer {
	var result any
	if err := json.Unmarshal(output, &result); err != nil {
		return deny("the result cannot be parsed: %v", err)
	}
	if text, ok := result.(string); ok {
		redacted := p.accessKey.ReplaceAllString(text, "[access key]")
		if redacted == text {
			return answer{Decision: "allow"}
		}
		return answer{Decision: "replace", Output: redacted, Reason: "an access key was redacted"}
	}
	// Encoded again, because the same text can be escaped in many ways.
	plain, err := json.Marshal(result)
	if err != nil {
		return deny("the result cannot be searched: %v", err)
	}
	if p.accessKey.Match(plain) {
		return deny("the result contains an access key")
	}
	return answer{Decision: "allow"}
}
