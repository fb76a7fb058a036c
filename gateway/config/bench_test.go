package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hundredChains writes a hundred chains of ten hooks.
func hundredChains(b *testing.B) Options {
	b.Helper()
	dir := b.TempDir()
	for c := range 100 {
		var text strings.Builder
		text.WriteString("schema: 1\nbudget_ms: 60000\nhooks:\n")
		for h := range 10 {
			fmt.Fprintf(&text, `  - name: hook-%d
    url: https://hook-%d.example.com/decide
    event: pre_tool_use
    tools: [shell, "mcp__git__*"]
    timeout_ms: 2500
    on_failure: deny
    guard: true
    headers: {X-Team: "${TEAM}", Authorization: "Bearer ${file:token}"}
    breaker: {consecutive_failures: 5, open_ms: 30000, half_open_probes: 1}
    max_in_flight: 64
    when:
      - {field: /input/command, glob: "git push*"}
`, h, h)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("tenant-%d.yaml", c)), []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("secret\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	return Options{ChainsDir: dir, LookupEnv: lookup(map[string]string{"TEAM": "red"})}
}

func BenchmarkLoad_AHundredChainsOfTenHooks(b *testing.B) {
	o := hundredChains(b)
	b.ReportAllocs()
	for b.Loop() {
		set, err := Load(o)
		if err != nil || len(set.Chains) != 100 {
			b.Fatalf("%d chains: %v", len(set.Chains), err)
		}
	}
}

func BenchmarkNext_NothingChangedInAHundredChains(b *testing.B) {
	set, err := Load(hundredChains(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if next, err := set.Next(); err != nil || next != set {
			b.Fatalf("Next = %p, %v", next, err)
		}
	}
}
