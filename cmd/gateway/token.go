package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"strings"
)

// tokenPrefix begins every generated token, so that secret scanners can
// recognize a leaked one.
const tokenPrefix = "hookgate_"

// longestToken is more than a request's header can carry, in bytes.
const longestToken = 64 << 10

// shortestToken is the minimum length of a token to hash, in bytes. An unsalted
// hash protects only tokens that cannot be guessed.
const shortestToken = 32

// token generates a bearer token for a caller. It writes the token to stdout,
// for scripts, and the entry for the callers file, with the token's hash, to
// stderr.
func (p *program) token(_ context.Context, args []string) int {
	flags := flag.NewFlagSet("gateway token", flag.ContinueOnError)
	flags.SetOutput(p.stderr)
	hash := flags.Bool("hash", false, "print the hash of the token on stdin instead of generating a token")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	if flags.NArg() > 0 {
		p.complain("gateway token: takes no arguments, got %q\n", flags.Arg(0))
		return exitUsage
	}
	if *hash {
		return p.hashToken()
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: the process would crash instead
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	if !p.say("%s\n", token) {
		return exitFailed
	}
	p.complain("The token is on stdout and nowhere else. Add its hash to its caller in the callers file (HOOKGATE_CALLERS):\n    tokens:\n      - sha256: %s\n", hashOf(token))
	return exitOK
}

// hashToken prints the hash of the token on stdin.
func (p *program) hashToken() int {
	text, err := io.ReadAll(io.LimitReader(p.stdin, longestToken+1))
	if err != nil {
		p.complain("gateway token: cannot read stdin: %v\n", err)
		return exitFailed
	}
	token := strings.TrimRight(string(text), "\r\n")
	if len(text) > longestToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		// No request could carry it, so its hash would lock its caller out.
		p.complain("gateway token: stdin does not contain one token: a token is at most %d bytes of printable ASCII without spaces\n", longestToken)
		return exitFailed
	}
	if len(token) < shortestToken {
		p.complain("gateway token: the token on stdin has %d bytes: it needs at least %d random bytes, because the hash of a shorter token can be reversed by guessing\n", len(token), shortestToken)
		return exitFailed
	}
	if !p.say("%s\n", hashOf(token)) {
		return exitFailed
	}
	return exitOK
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
