package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// finding is a violation of a rule.
type finding struct {
	line int
	rule string
	text string
}

type checker struct {
	goVersion string
	findings  []finding
}

// lint returns the violations in a Dockerfile, in the order of its lines.
func lint(file io.Reader, goVersion string) []finding {
	c := &checker{goVersion: goVersion}
	parsed, err := parser.Parse(file)
	if err != nil {
		return []finding{{1, "D11", err.Error()}}
	}
	for _, w := range parsed.Warnings {
		c.found(rangesOf(w.Location), "D11", "%s", w.Short)
	}
	warn := linter.New(&linter.Config{Warn: func(rule, _, _, msg string, where []parser.Range) {
		c.found(where, "D11", "%s: %s", rule, msg)
	}})
	stages, args, err := instructions.Parse(parsed.AST, warn)
	if err != nil {
		c.found(nil, "D11", "%s", err)
		return c.findings
	}
	for i := range args {
		c.secrets(&args[i])
	}
	for i := range stages {
		c.stage(stages, i)
	}
	c.last(stages)
	slices.SortStableFunc(c.findings, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	return c.findings
}

func rangesOf(r *parser.Range) []parser.Range {
	if r == nil {
		return nil
	}
	return []parser.Range{*r}
}

func (c *checker) found(where []parser.Range, rule, format string, args ...any) {
	line := 1
	if len(where) > 0 {
		line = where[0].Start.Line
	}
	c.findings = append(c.findings, finding{line, rule, fmt.Sprintf(format, args...)})
}

// stage checks the rules for every stage.
func (c *checker) stage(stages []instructions.Stage, i int) {
	s := stages[i]
	c.base(stages[:i], s)
	for _, cmd := range s.Commands {
		c.secrets(cmd)
		switch cmd := cmd.(type) {
		case *instructions.AddCommand:
			c.found(cmd.Location(), "D8", "ADD fetches and unpacks; COPY does not")
		case *instructions.RunCommand:
			c.build(cmd)
		}
	}
}

// base checks D2 and D10.
func (c *checker) base(before []instructions.Stage, s instructions.Stage) {
	if s.BaseName == "scratch" || named(before, s.BaseName) {
		return
	}
	name, digest, _ := strings.Cut(s.BaseName, "@")
	image, tag := name, ""
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		image, tag = name[:colon], name[colon+1:]
	}
	pinned := regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+.].*)?$`).MatchString(tag) ||
		regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(digest)
	if !pinned || tag == "latest" {
		c.found(s.Location, "D2", "base %q is named neither down to its patch version nor by digest", s.BaseName)
	}
	if c.goVersion == "" || !isGo(image) {
		return
	}
	if version, _, _ := strings.Cut(tag, "-"); version != c.goVersion {
		c.found(s.Location, "D10", "Go programs are built with %s, but base %q has another version", c.goVersion, s.BaseName)
	}
}

func isGo(image string) bool { return image == "golang" || strings.HasSuffix(image, "/golang") }

func named(stages []instructions.Stage, name string) bool {
	return slices.ContainsFunc(stages, func(s instructions.Stage) bool { return s.Name != "" && strings.EqualFold(s.Name, name) })
}

// build checks D7.
func (c *checker) build(cmd *instructions.RunCommand) {
	line := strings.Join(cmd.CmdLine, " ")
	if !strings.Contains(line, "go build") && !strings.Contains(line, "go install") {
		return
	}
	for _, want := range []string{"CGO_ENABLED=0", "-trimpath"} {
		if !strings.Contains(line, want) {
			c.found(cmd.Location(), "D7", "a Go program is built without %s", want)
		}
	}
}

// secrets checks D9.
func (c *checker) secrets(cmd instructions.Command) {
	var names []string
	switch cmd := cmd.(type) {
	case *instructions.ArgCommand:
		for _, a := range cmd.Args {
			names = append(names, a.Key)
		}
	case *instructions.EnvCommand:
		for _, e := range cmd.Env {
			names = append(names, e.Key)
		}
	}
	secret := regexp.MustCompile(`(?i)(^|_)(secret|token|password|passwd|passphrase|credentials?|apikey|key|auth)s?($|_)`)
	for _, name := range names {
		if secret.MatchString(name) {
			c.found(cmd.Location(), "D9", "%s reads like a secret, and stays in the image; mount it instead", name)
		}
	}
}

// shipped collects the instructions of the last stage.
type shipped struct {
	copies      bool
	user        *instructions.UserCommand
	health      *instructions.HealthCheckCommand
	entry       *instructions.EntrypointCommand
	healthArgv  []string
	entryBinary string
}

// last checks the rules for the last stage, which is shipped.
func (c *checker) last(stages []instructions.Stage) {
	s := stages[len(stages)-1]
	if s.BaseName != "scratch" && !strings.HasPrefix(s.BaseName, "gcr.io/distroless/static") {
		c.found(s.Location, "D3", "the last stage starts from %q, neither from scratch nor from a distroless static image", s.BaseName)
	}
	var is shipped
	for _, cmd := range s.Commands {
		c.lastCommand(&is, stages, cmd)
	}
	if len(stages) < 2 || !is.copies {
		c.found(s.Location, "D1", "the last stage copies nothing from an earlier one")
	}
	c.user(s, is)
	c.runs(s, is)
}

func (c *checker) lastCommand(is *shipped, stages []instructions.Stage, cmd instructions.Command) {
	switch cmd := cmd.(type) {
	case *instructions.CopyCommand:
		is.copies = is.copies || named(stages[:len(stages)-1], cmd.From)
	case *instructions.RunCommand:
		c.found(cmd.Location(), "D3", "the last stage runs something")
	case *instructions.UserCommand:
		is.user = cmd
	case *instructions.HealthCheckCommand:
		is.health = cmd
		if cmd.Health != nil {
			is.healthArgv = cmd.Health.Test
		}
	case *instructions.EntrypointCommand:
		is.entry = cmd
		if len(cmd.CmdLine) > 0 {
			is.entryBinary = cmd.CmdLine[0]
		}
		if cmd.PrependShell {
			c.found(cmd.Location(), "D6", "ENTRYPOINT is in shell form")
		}
	case *instructions.CmdCommand:
		if cmd.PrependShell {
			c.found(cmd.Location(), "D6", "CMD is in shell form")
		}
	}
}

// user checks D4.
func (c *checker) user(s instructions.Stage, is shipped) {
	if is.user == nil {
		c.found(s.Location, "D4", "the last stage has no USER, and so runs as root")
		return
	}
	if !regexp.MustCompile(`^[1-9][0-9]*(:[1-9][0-9]*)?$`).MatchString(is.user.User) {
		c.found(is.user.Location(), "D4", "USER %s is not a number other than 0", is.user.User)
	}
}

// runs checks D5 and the presence of D6.
func (c *checker) runs(s instructions.Stage, is shipped) {
	if is.entry == nil {
		c.found(s.Location, "D6", "the last stage has no ENTRYPOINT")
	}
	switch {
	case is.health == nil:
		c.found(s.Location, "D5", "the last stage has no HEALTHCHECK")
	case len(is.healthArgv) < 2 || is.healthArgv[0] != "CMD":
		c.found(is.health.Location(), "D5", "HEALTHCHECK is not a command in exec form")
	case is.healthArgv[1] != is.entryBinary:
		c.found(is.health.Location(), "D5", "HEALTHCHECK runs %s, not the image's own %s", is.healthArgv[1], is.entryBinary)
	}
}
