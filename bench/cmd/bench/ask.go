package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"
)

// question is what Codex sends before a shell call.
const question = `{"session_id":"s","turn_id":"t","cwd":"/repo","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls -l"},"tool_use_id":"call-1"}`

// asking is a program that sends the question to a gateway.
type asking struct {
	about string
	argv  []string
	// wall and cpu are the median of each round, in ms.
	wall, cpu []float64
}

// ask measures what an agent pays for every call: one process, from start to
// exit.
func (b *bench) ask(ctx context.Context) error {
	gateway, err := b.Gateway(ctx, "schema: 1\nhooks: []\n")
	if err != nil {
		return err
	}
	address := strings.TrimSuffix(gateway.URL, "/v1/decide")
	route := address + "/v1/clients/codex"
	post := &asking{about: "the smallest program", argv: []string{b.programs.Post, route}}
	small := &asking{about: "gateway-ask", argv: []string{b.programs.Ask, "--client", "codex", "--url", address}}
	whole := &asking{about: "gateway ask", argv: []string{b.programs.Gateway, "ask", "--client", "codex", "--url", address}}
	all := []*asking{post, small, whole}
	for range b.rounds {
		if err := visitAll(ctx, all); err != nil {
			return err
		}
	}
	for _, a := range all[1:] {
		b.promise(atMost(1.5, "×", a.about+", start to exit: of "+post.about, ratios(a.wall, post.wall)))
		b.promise(atMost(10, "ms", a.about+", CPU from start to exit", a.cpu))
	}
	return gateway.Stop()
}

// perRound is how often each program is run in a round.
const perRound = 40

// visitAll runs all programs alternately in random order and records the
// medians.
func visitAll(ctx context.Context, all []*asking) error {
	wall, cpu := make([][]float64, len(all)), make([][]float64, len(all))
	for range perRound {
		for _, i := range rand.Perm(len(all)) { //nolint:gosec // an order of visits is no secret
			w, c, err := all[i].once(ctx)
			if err != nil {
				return err
			}
			wall[i], cpu[i] = append(wall[i], w), append(cpu[i], c)
		}
	}
	for i, a := range all {
		a.wall, a.cpu = append(a.wall, median(wall[i])), append(a.cpu, median(cpu[i]))
	}
	return nil
}

// once runs one process and checks that its answer is an allow.
func (a *asking) once(ctx context.Context) (wall, cpu float64, err error) {
	cmd := exec.CommandContext(ctx, a.argv[0], a.argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(question), &stdout, &stderr
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	if err == nil && stdout.String() != "{}" {
		err = errors.New("that is no allow")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s%s", a.about, err, &stdout, &stderr)
	}
	return millis(took), millis(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()), nil
}

func ratios(of, to []float64) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i] / to[i]
	}
	return all
}
