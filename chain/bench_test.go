package chain

import (
	"strings"
	"testing"
	"time"
)

func BenchmarkFoldOfFive(b *testing.B) {
	participants := make([]*Participant, 5)
	for i := range participants {
		participants[i] = hook("h", allow(), onTools("shell", "mcp__*"))
	}
	c := newChain(b, Options{Name: "bench", Participants: participants, Budget: time.Minute})
	req, ctx := request(b, preText), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if v := c.Decide(ctx, req, 0); v.Outcome.Decision != Allow {
			b.Fatal(v.Outcome)
		}
	}
}

func BenchmarkParseRequest(b *testing.B) {
	for name, text := range map[string]string{
		"300B":  envelope(`{"command":"`+strings.Repeat("x", 170)+`"}`, ``),
		"900kB": envelope(`{"content":"`+strings.Repeat("x", 900<<10)+`"}`, ``),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseRequest([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
