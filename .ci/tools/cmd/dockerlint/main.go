// Command dockerlint holds a Dockerfile to what an image of this project
// promises. It reads the file with the parser that builds it.
//
//   - D1 What builds does not ship: there are at least two stages, and the last
//     one copies from an earlier one.
//   - D2 Every base is scratch, an earlier stage, or an image named down to its
//     patch version or digest. Never latest.
//   - D3 The last stage starts from scratch or from a distroless static image,
//     and runs nothing: there is no shell in it.
//   - D4 It runs as a numeric user that is not root, so that an orchestrator can
//     see that without reading the image's user table.
//   - D5 Its health check is its own binary, in exec form.
//   - D6 Its entry point is there, and it and the command are in exec form, so
//     that signals reach the program.
//   - D7 Go programs are built without cgo and without paths of the build
//     machine.
//   - D8 Files come by COPY: ADD fetches and unpacks.
//   - D9 No ARG or ENV is named like a secret: both stay in the image.
//   - D10 Where -go gives a version, Go programs are built with it.
//   - D11 The parser has nothing to warn of.
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
