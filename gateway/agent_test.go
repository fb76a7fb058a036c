package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookgate/hookgate/transport/agentproc"
)

// runAgent is the test binary in the role of an agent. An error ends it with a
// status that no test expects.
func runAgent(behaviour string) {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
	}
	a, err := agentproc.ReadTurn(os.Stdin, os.Stdout)
	must(err)
	switch behaviour {
	case "talks":
		must(a.Partial(agentproc.Partial{Text: "one"}))
		must(a.Partial(agentproc.Partial{Text: "<two>", Role: agentproc.RoleThinking}))
		must(a.SetSession("s-1"))
		must(a.Result("said "+a.Turn.Message, json.RawMessage(`{"tokens": 9007199254740993,  "x":1e400}`)))
	case "silent":
	case "error":
		must(a.Error("out of luck", nil))
	case "exit":
		os.Exit(7)
	case "hangs":
		<-time.After(time.Hour)
	case "names itself and hangs":
		must(a.Partial(agentproc.Partial{Text: fmt.Sprintf("pid %d", os.Getpid())}))
		<-time.After(time.Hour)
	case "floods":
		for {
			must(a.Partial(agentproc.Partial{Text: strings.Repeat("x", 64<<10)}))
		}
	case "environment":
		must(a.Result(strings.Join(os.Environ(), " "), nil))
	case "asks":
		answer, err := a.Ask(context.Background(), agentproc.PermissionRequest{RequestID: "r-1", ToolName: "shell", Input: json.RawMessage(`{"command":"ls"}`)})
		must(err)
		if answer.Behavior == agentproc.Allow {
			must(a.Result("allow "+string(answer.UpdatedInput), nil))
			return
		}
		must(a.Result("deny: "+answer.Message, nil))
	case "asks twice": // the second only once the first is answered
		var told []string
		for range 2 {
			answer, err := a.Ask(context.Background(), agentproc.PermissionRequest{ToolName: "shell", Input: json.RawMessage(`{"command":"ls"}`)})
			must(err)
			told = append(told, answer.Behavior.String()+" "+string(answer.UpdatedInput)+answer.Message)
		}
		must(a.Result(strings.Join(told, "; "), nil))
	case "asks 50":
		var asking sync.WaitGroup
		var allowed atomic.Int64
		for range 50 {
			asking.Go(func() {
				answer, err := a.Ask(context.Background(), agentproc.PermissionRequest{ToolName: "shell", Input: json.RawMessage(`{}`)})
				must(err)
				if answer.Behavior == agentproc.Allow {
					allowed.Add(1)
				}
			})
		}
		asking.Wait()
		must(a.Result(fmt.Sprintf("%d allowed", allowed.Load()), nil))
	default:
		must(fmt.Errorf("unknown behaviour %q", behaviour))
	}
}
