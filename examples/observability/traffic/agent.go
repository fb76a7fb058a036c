package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/hookgate/hookgate/transport/agentproc"
)

// agent is the agent of config/agents/helper.yaml: it asks twice for permission
// to run a command, and reports the answers.
func agent(ctx context.Context, in io.Reader, out io.Writer) error {
	a, err := agentproc.ReadTurn(in, out)
	if err != nil {
		return err
	}
	var reply strings.Builder
	for _, command := range []string{"ls", "kubectl delete -n prod"} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return err
		}
		answer, err := a.Ask(ctx, agentproc.PermissionRequest{ToolName: "shell", Input: input})
		if err != nil {
			return err
		}
		reply.WriteString(command + ": " + answer.Behavior.String() + "\n")
	}
	return a.Result(reply.String(), nil)
}
