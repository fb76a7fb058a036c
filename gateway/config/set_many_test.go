package config

import (
	"strconv"
	"testing"
	"time"

	"github.com/hookgate/hookgate/chain"
)

func TestAChainThatNamesTooManyToolsCountsAllOfItsHooks(t *testing.T) {
	for hooks, want := range map[int]time.Duration{10: time.Second, 10_000: 10_000 * time.Second} {
		var c Chain
		for i := range hooks {
			c.Hooks = append(c.Hooks, &Hook{Event: chain.PreToolUse, Timeout: time.Second, Tools: []string{"t" + strconv.Itoa(i)}})
		}
		if got := c.WorstCase(chain.PreToolUse); got != want {
			t.Errorf("%d hooks take %v, want %v", hooks, got, want)
		}
	}
}
