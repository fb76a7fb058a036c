package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookgate/hookgate/gateway/setup"
)

// setUp holds the arguments of init and doctor.
type setUp struct {
	flags *flag.FlagSet
	setup.Options
}

// setUpFlags defines the flags that init and doctor share.
func (p *program) setUpFlags(command, about string) *setUp {
	s := &setUp{flags: flag.NewFlagSet("gateway "+command, flag.ContinueOnError)}
	s.flags.SetOutput(p.stderr)
	s.flags.StringVar(&s.File, "file", "", "the settings `file`, if it is not the user's default one")
	s.flags.Usage = func() {
		p.complain("usage: gateway %s %s\n\nclients: %s\n\n", command, about, strings.Join(setup.Names(), ", "))
		s.flags.PrintDefaults()
	}
	s.Home.Getenv = func(name string) string { value, _ := p.lookupEnv(name); return value }
	return s
}

// parse reads flags before and after the client's name. done reports whether to
// exit with code.
func (s *setUp) parse(p *program, args []string) (code int, done bool) {
	for first := true; ; first = false {
		if err := s.flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return exitOK, true
			}
			return exitUsage, true
		}
		if s.flags.NArg() == 0 {
			break
		}
		if !first {
			p.complain("%s: takes one client, but %q is a second\n", s.flags.Name(), s.flags.Arg(0))
			return exitUsage, true
		}
		s.Client, args = s.flags.Arg(0), s.flags.Args()[1:]
	}
	home, err := os.UserHomeDir()
	if err != nil {
		p.complain("%s: cannot find the home directory, which has the settings of clients: %v\n", s.flags.Name(), err)
		return exitFailed, true
	}
	s.Home.Dir = home
	return exitOK, false
}

// initClient prints the settings with which a client asks a gateway, or merges
// them into its settings file.
func (p *program) initClient(_ context.Context, args []string) int {
	s := p.setUpFlags("init", "CLIENT [flags]")
	s.flags.StringVar(&s.URL, "url", "", "the `address` of the gateway, or of a chain: http://127.0.0.1:8080/v1/chains/NAME (default: that of HOOKGATE_ADDR)")
	s.flags.DurationVar(&s.Patience, "timeout", 25*time.Second, "how long a hook waits for the gateway; the client waits 10s longer")
	s.flags.StringVar(&s.Program, "program", "", "the `path` of the program that the settings name (default: where it is)")
	s.flags.StringVar(&s.TokenFile, "token-file", "", "the `file` with the bearer token that gateway ask sends, if the gateway authenticates callers")
	command := s.flags.Bool("command", false, "make the client run gateway ask, even if it has HTTP hooks")
	post := s.flags.Bool("http", false, "make the client use its HTTP hooks, even if they fail open")
	write := s.flags.Bool("write", false, "merge into the client's settings file; the old file is kept beside the new one")
	if code, done := s.parse(p, args); done {
		return code
	}
	if s.Client == "" || *command && *post {
		p.complain("gateway init: name one client, and at most one of --command and --http\n")
		s.flags.Usage()
		return exitUsage
	}
	plan, err := p.plan(s, *command, *post, *write)
	if err != nil {
		p.complain("gateway init: %v\n", err)
		return exitFailed
	}
	if *write {
		return p.writePlan(plan)
	}
	return p.printPlan(plan)
}

// plan returns the plan that init prints or carries out.
func (p *program) plan(s *setUp, command, post, write bool) (*setup.Plan, error) {
	s.Transport = nil
	for transport, wanted := range map[setup.Transport]bool{setup.Command: command, setup.HTTP: post} {
		if wanted {
			s.Transport = &transport
		}
	}
	if s.URL == "" {
		settings, err := p.readSettings()
		if err != nil {
			return nil, err
		}
		s.URL = "http://" + reachable(settings.Addr)
	}
	slow := ""
	if s.Program == "" {
		here, err := p.executable()
		if err != nil {
			return nil, fmt.Errorf("cannot determine the path of this program: %w (set it with --program)", err)
		}
		if write && isTemporary(here) {
			return nil, fmt.Errorf("this program is %s, which go run deletes afterwards: run go install ./cmd/... and use the installed program, or name it with --program", here)
		}
		s.Program = here
		if quick := filepath.Join(filepath.Dir(here), "gateway-ask"); isProgram(quick) {
			s.Program = quick // the same command without the gateway, which starts faster
		} else {
			slow = fmt.Sprintf("put gateway-ask beside %s (go install ./cmd/... does) and run this again: it starts in half the time, before every call", here)
		}
	}
	s.Fresh = !write
	plan, err := setup.New(s.Options)
	if err == nil && slow != "" && plan.Transport == setup.Command {
		plan.Steps = append(plan.Steps, slow)
	}
	return plan, err
}

// isTemporary reports whether the go command has built the program only to run
// it once, as in .../go-build123/b001/exe/gateway.
func isTemporary(path string) bool {
	for part := range strings.SplitSeq(filepath.Dir(path), string(filepath.Separator)) {
		digits, found := strings.CutPrefix(part, "go-build")
		if _, err := strconv.ParseUint(digits, 10, 64); found && err == nil {
			return true
		}
	}
	return false
}

// printPlan prints the contents of the client's files to stdout, and the
// explanation to stderr.
func (p *program) printPlan(plan *setup.Plan) int {
	for _, f := range plan.Files {
		if len(plan.Files) > 1 && !p.say("# %s\n", f.Path) {
			return exitFailed
		}
		if !p.say("%s", endLine(f.After)) {
			return exitFailed
		}
		p.complain("This belongs in %s; --write merges it into what is there.\n", f.Path)
	}
	p.explain(plan)
	return exitOK
}

// endLine returns the text with exactly one newline at its end.
func endLine(text []byte) string {
	return strings.TrimRight(string(text), "\n") + "\n"
}

func (p *program) writePlan(plan *setup.Plan) int {
	kept, err := plan.Write(time.Now())
	for i, f := range plan.Files {
		switch {
		case err != nil:
		case !f.Changed():
			p.complain("%s already has these settings: nothing was changed.\n", f.Path)
		case kept[i] == "":
			p.complain("%s was written.\n", f.Path)
		default:
			p.complain("%s was changed; the old file is kept as %s.\n", f.Path, kept[i])
		}
	}
	if err != nil {
		p.complain("gateway init: %v\n", err)
		return exitFailed
	}
	p.explain(plan)
	return exitOK
}

// explain prints the steps that remain for the user, and what the client cannot
// guarantee.
func (p *program) explain(plan *setup.Plan) {
	p.complain("\n%s asks through %v.\n", plan.Title, plan.Transport)
	for _, step := range plan.Steps {
		p.complain("To do by hand: %s\n", step)
	}
	if len(plan.Gaps) > 0 {
		p.complain("What it cannot guarantee:\n")
	}
	for _, gap := range plan.Gaps {
		p.complain("  - %s\n", gap)
	}
}

// isProgram reports whether path is an executable file.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
