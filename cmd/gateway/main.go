// Command gateway is hookgate, a fail-closed HTTP gateway for the tool-call
// hooks of AI agents. It only translates arguments and the environment into
// options.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/hookgate/hookgate/cmd/internal/ask"
)

// version is set by the linker in release builds.
var version string

func main() {
	if os.Getenv("GOGC") == "" {
		// The live heap is a few megabytes. With the default, the garbage collector
		// would run every few hundred decisions.
		debug.SetGCPercent(300)
	}
	os.Exit(run(os.Args[1:]))
}

// run is main with an exit code, so that deferred calls run.
func run(args []string) int {
	signal.Ignore(syscall.SIGPIPE) // a closed log pipe must not end the gateway
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal then ends the process in the default way
	p := &program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		environ: os.Environ(), lookupEnv: os.LookupEnv, executable: os.Executable, version: buildVersion(version),
	}
	return p.run(ctx, args)
}

// program is the command line with its connections to the outside.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	lookupEnv      func(string) (string, bool)
	executable     func() (string, error) // returns the path of this program
	version        build
}

// Exit codes. A wrong argument can be told from a failure.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

type subcommand struct {
	name, summary string
	run           func(context.Context, []string) int
}

// ask sends stdin to a gateway and prints its answer.
func (p *program) ask(ctx context.Context, args []string) int {
	asks := &ask.Program{Name: "gateway ask", Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, Version: p.version.version}
	return asks.Run(ctx, args)
}

func (p *program) subcommands() []subcommand {
	return []subcommand{
		{"serve", "run the gateway (the default)", p.serve},
		{"check", "validate hooks files and print how long their chains can take", p.check},
		{"ask", "send an envelope, or an agent's native hook JSON, from stdin to a gateway and print the answer", p.ask},
		{"init", "print or write the agent settings that make an agent ask a gateway", p.initClient},
		{"doctor", "report what would let an agent's calls run unchecked", p.doctor},
		{"approvals", "list the calls that wait for a person, and answer them", p.approvals},
		{"env", "list the environment variables with their defaults", p.listEnv},
		{"health", "ask the gateway on this machine whether it is ready", p.health},
		{"audit", "read the audit trail, verify its hash chain, and print matching records", p.audit},
		{"token", "generate a bearer token for a caller, with its hash", p.token},
		{"version", "print the version", p.printVersion},
	}
}

func (p *program) run(ctx context.Context, args []string) int {
	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if slices.Contains(helpFlags(), name) {
		p.usage(p.stdout)
		return exitOK
	}
	if strings.TrimLeft(name, "-") == "version" {
		name = "version"
	}
	for _, c := range p.subcommands() {
		if c.name == name {
			return c.run(ctx, args)
		}
	}
	p.complain("gateway: unknown command %q\n", name)
	p.usage(p.stderr)
	return exitUsage
}

// noArguments handles the arguments of a subcommand that takes none. done
// reports whether to exit with code.
func (p *program) noArguments(command string, args []string) (code int, done bool) {
	switch {
	case len(args) == 0:
		return exitOK, false
	case slices.Contains(helpFlags(), args[0]):
		p.usage(p.stdout)
		return exitOK, true
	}
	p.complain("gateway %s: takes no arguments, got %q: use environment variables instead (gateway env lists them)\n", command, args[0])
	return exitUsage, true
}

func helpFlags() []string { return []string{"help", "-h", "-help", "--help"} }

func (p *program) usage(w io.Writer) {
	var text strings.Builder
	text.WriteString("usage: gateway [command]\n\n")
	for _, c := range p.subcommands() {
		fmt.Fprintf(&text, "  %-9s %s\n", c.name, c.summary)
	}
	text.WriteString("\nThe gateway is configured by environment variables: gateway env lists them.\n")
	_, _ = io.WriteString(w, text.String()) // stderr may be the stream that failed
}

// complain writes to stderr. It ignores errors, since there is no other place
// to report them.
func (p *program) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(p.stderr, format, args...)
}

// say writes to stdout and reports whether that succeeded.
func (p *program) say(format string, args ...any) bool {
	if _, err := fmt.Fprintf(p.stdout, format, args...); err != nil {
		p.complain("gateway: cannot write to stdout: %v\n", err)
		return false
	}
	return true
}

// build identifies a build.
type build struct{ version, revision, goVersion string }

// buildVersion reads what the Go toolchain recorded in the program. A version
// set by the linker takes precedence.
func buildVersion(linked string) build {
	b := build{version: "devel", revision: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.goVersion = info.GoVersion
		if v := info.Main.Version; v != "" && v != "(devel)" {
			b.version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.revision = s.Value
			}
		}
	}
	if linked != "" {
		b.version = linked
	}
	return b
}

func (p *program) printVersion(_ context.Context, args []string) int {
	if code, done := p.noArguments("version", args); done {
		return code
	}
	if !p.say("hookgate %s (revision %s, %s)\n", p.version.version, p.version.revision, p.version.goVersion) {
		return exitFailed
	}
	return exitOK
}
