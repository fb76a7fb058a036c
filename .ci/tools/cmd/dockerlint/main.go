// Command dockerlint checks a Dockerfile against the rules for this project's
// images. It uses the parser that builds them.
//
//   - D1 Build tools are not shipped: there are at least two stages, and the
//     last one copies from an earlier one.
//   - D2 Every base is scratch, an earlier stage, or an image pinned to its
//     patch version or digest. Never latest.
//   - D3 The last stage starts from scratch or from a distroless static image,
//     and runs nothing, because it has no shell.
//   - D4 It runs as a numeric non-root user, so that an orchestrator can verify
//     that without the image's user table.
//   - D5 Its health check is its own binary, in exec form.
//   - D6 It has an entry point, and entry point and command are in exec form, so
//     that signals reach the program.
//   - D7 Go programs are built without cgo and without paths of the build
//     machine.
//   - D8 Files are added by COPY, because ADD downloads and unpacks.
//   - D9 No ARG or ENV is named like a secret, because both remain in the image.
//   - D10 If -go gives a version, Go programs are built with it.
//   - D11 The parser has no warnings.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

func main() {
	goVersion := flag.String("go", "", "version of Go that golang images must have")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: dockerlint [-go VERSION] FILE…")
		os.Exit(2)
	}
	failed := false
	for _, file := range flag.Args() {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "dockerlint:", err)
			os.Exit(2)
		}
		findings := lint(bytes.NewReader(text), *goVersion)
		for _, f := range findings {
			failed = true
			fmt.Printf("%s:%d: %s %s\n", file, f.line, f.rule, f.text)
		}
		if len(findings) == 0 {
			fmt.Printf("%s: nothing to say\n", file)
		}
	}
	if failed {
		os.Exit(1)
	}
}
