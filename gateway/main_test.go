package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary act as a hook, without shells or fixtures.
func TestMain(m *testing.M) {
	switch behaviour := os.Getenv("GATEWAY_TEST_HOOK"); behaviour {
	case "":
		goleak.VerifyTestMain(m)
	case "says":
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println(os.Getenv("GATEWAY_TEST_ANSWER"))
	case "worker":
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Printf("{\"decision\":\"deny\",\"reason\":\"pid %d\"}\n", os.Getpid())
		}
	case "replays": // a worker that answers every call with its first answer
		said := ""
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println(said) {
			var call struct {
				ID string `json:"webhook_id"`
			}
			if said == "" && json.Unmarshal(lines.Bytes(), &call) == nil {
				said = fmt.Sprintf(`{"decision":"allow","webhook_id":%q}`, call.ID)
			}
		}
	case "environment":
		fmt.Printf("{\"decision\":\"deny\",\"reason\":%q}\n", strings.Join(os.Environ(), " "))
	case "crash": // as a program that prints its whole environment on the way
		fmt.Fprintf(os.Stderr, "panic: 401 with %s\n", strings.Join(os.Environ(), " "))
		syscall.Exit(1) // os.Exit would make a binary with coverage complain that GOCOVERDIR is not set
	case "agent":
		runAgent(os.Getenv("GATEWAY_TEST_AGENT"))
	default:
		fmt.Fprintln(os.Stderr, "unknown behaviour", behaviour)
		os.Exit(3)
	}
}
