package secret

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bodyOf returns n random-looking characters of a class.
func bodyOf(of class, n int) string {
	classes := classes()
	var from []byte
	for c := range byte(128) {
		if classes[c]&of != 0 && classes[c]&(alnum|hexLetter) != 0 {
			from = append(from, c)
		}
	}
	text := make([]byte, n)
	for i := range text {
		text[i] = from[(i*i*7+i*13+5)%len(from)]
	}
	return string(text)
}

// sample returns a credential that matches a rule.
func sample(r rule) string { return r.prefix + bodyOf(r.body, max(r.least, 8)) }

// redacted returns the text with its credentials redacted.
func redacted(tb testing.TB, f *Finder, text string) string {
	tb.Helper()
	hits, _, err := f.find(context.Background(), []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var out strings.Builder
	at := 0
	for _, h := range hits {
		if h.from < at || h.to <= h.from {
			tb.Fatalf("hits %v of %q are not in order and apart", hits, text)
		}
		out.WriteString(text[at:h.from] + "[" + h.kind + "]")
		at = h.to
	}
	return out.String() + text[at:]
}

func TestR3_EveryKindWithAPrefixIsFound(t *testing.T) {
	f := NewFinder(nil)
	for _, r := range rules() {
		s := sample(r)
		for text, want := range map[string]string{
			s:                            "[" + r.kind + "]",
			"a " + s + " b":              "a [" + r.kind + "] b",
			"x=" + s + "\ny":             "x=[" + r.kind + "]\ny",
			`{"k":"` + s + `"}`:          `{"k":"[` + r.kind + `]"}`,
			`a\n` + s + `\nb`:            `a\n[` + r.kind + `]\nb`,
			`\u000a` + s:                 `\u000a[` + r.kind + `]`,
			s + " " + s:                  "[" + r.kind + "] [" + r.kind + "]",
			"Authorization: Bearer " + s: "Authorization: Bearer [" + r.kind + "]",
			"TOKEN=" + s:                 "TOKEN=[" + r.kind + "]",
		} {
			if got := redacted(t, f, text); got != want {
				t.Errorf("%s: %q\n got %q\nwant %q", r.prefix, text, got, want)
			}
		}
	}
}

func TestR6_WhatOnlyBeginsLikeACredentialIsLeftAlone(t *testing.T) {
	f := NewFinder(nil)
	for _, r := range rules() {
		s := sample(r)
		for _, text := range []string{
			"x" + s,                              // in the middle of a word
			r.prefix + bodyOf(r.body, r.least-1), // too short
			r.prefix + strings.Repeat("x", max(r.least, 8)), // crosses
			r.prefix + strings.Repeat("0", max(r.least, 8)), // zeros
			r.prefix + "…",
			r.prefix,
			s[:len(r.prefix)-1],
		} {
			if text == "x"+s && strings.Contains(r.prefix, ".") {
				continue // after the dot another one begins
			}
			if got := redacted(t, f, text); got != text {
				t.Errorf("%s: %q became %q", r.prefix, text, got)
			}
		}
		if r.most > 0 && r.most == r.least {
			if text := s + "0a"; redacted(t, f, text) != text {
				t.Errorf("%s: one that is too long is taken for one", r.prefix)
			}
		}
	}
}

func TestR3_KindsWithoutAPrefixAreFound(t *testing.T) {
	f := NewFinder(nil)
	key := bodyOf(base64&^equals, 64)
	jwt := "eyJ" + bodyOf(alnum, 20) + ".eyJ" + bodyOf(alnum, 30) + "." + bodyOf(alnum, 43)
	for text, want := range map[string]string{
		"-----BEGIN PRIVATE KEY-----\n" + key + "\nabc=\n-----END PRIVATE KEY-----\nx":                "[private-key]\nx",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n\n" + key + "\n-----END RSA PRIVATE KEY-----": "[private-key]",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + key + "\n-----END PGP PRIVATE KEY BLOCK-----":   "[private-key]",
		`"-----BEGIN EC PRIVATE KEY-----\n` + key + `\n-----END EC PRIVATE KEY-----\n"`:               `"[private-key]\n"`,
		`-----BEGIN PRIVATE KEY-----\\n` + key + `\\n-----END PRIVATE KEY-----`:                       `[private-key]`,
		"-----BEGIN PRIVATE KEY----- " + key + " -----END PRIVATE KEY-----":                           "[private-key]",
		"1\t-----BEGIN PRIVATE KEY-----\n2\t" + key + "\n3\t-----END PRIVATE KEY-----":                "1\t[private-key]",
		// truncated
		"-----BEGIN PRIVATE KEY-----\n" + key + "\n" + key + "\nabcd":                   "[private-key]",
		"-----BEGIN PRIVATE KEY-----\n" + key + "\nand so on":                           "[private-key]\nand so on",
		"-----BEGIN PRIVATE KEY-----\n  2→" + key + "\n  3→" + key + "\n":               "[private-key]\n",
		"-----BEGIN PRIVATE KEY-----\n2|" + key + "\n3: " + key + " done!":              "[private-key] done!",
		"-----BEGIN PRIVATE KEY-----\n" + key + "\n-----BEGIN PRIVATE KEY-----\n" + key: "[private-key]\n[private-key]",
		"-----BEGIN PRIVATE KEY-----" + key + "-----END":                                "[private-key]-----END",
		`-----BEGIN PRIVATE KEY-----\n` + key + `\n` + key + `\nthen!`:                  `[private-key]\nthen!`,
		// tokens
		jwt:                        "[jwt]",
		"x." + jwt + ".y":          "x.[jwt].y",
		"Cookie: a=" + jwt + "; b": "Cookie: a=[jwt]; b",
		// URLs
		"postgres://bob:hunter22@db/x":     "postgres://bob:[url-password]@db/x",
		"redis://:hunter22@db":             "redis://:[url-password]@db",
		"https://a:b@c:8080/ amqp://x:y@z": "https://a:[url-password]@c:8080/ amqp://x:[url-password]@z",
		"a://u:p@ss@host":                  "a://u:[url-password]@host",
		"https://" + sample(rule{prefix: "ghp_", body: alnum, least: 36}) + ":x1@h": "https://[github-token]:x1@h",
	} {
		if got := redacted(t, f, text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestR6_KindsWithoutAPrefixLeaveTheRestAlone(t *testing.T) {
	f := NewFinder(nil)
	key := bodyOf(base64&^equals, 64)
	for _, text := range []string{
		"-----BEGIN PUBLIC KEY-----\n" + key + "\n-----END PUBLIC KEY-----",
		"-----BEGIN CERTIFICATE-----\n" + key + "\n-----END CERTIFICATE-----",
		`"-----BEGIN PRIVATE KEY-----" + key + "-----END PRIVATE KEY-----"`,
		"-----BEGIN PRIVATE KEY-----\n(base64 here)\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY----- is how it begins",
		"-----BEGIN PRIVATE KEY",
		"-----BEGIN ", "-----BEGIN [x] PRIVATE KEY-----\n" + key,
		"------------",
		"eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ", "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.short", "eyJ.abc.def",
		"https://user:pass@host", "https://user:password@host", "https://$USER:$PASS@host", "https://<user>:<pw>@host",
		"https://host:8080/a@b", "https://host/a:b@c", "https://user@host", "https://user:@host", "http://[::1]:80", "https://u:***@h",
		"git@github.com:a/b.git", "://", "a://",
	} {
		if got := redacted(t, f, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestFinder_AnExceptedKindIsLeftAlone(t *testing.T) {
	key := bodyOf(base64&^equals, 64)
	jwt := "eyJ" + bodyOf(alnum, 20) + ".eyJ" + bodyOf(alnum, 30) + "." + bodyOf(alnum, 43)
	texts := map[string]string{
		kindPrivateKey: "-----BEGIN PRIVATE KEY-----\n" + key + "\n-----END PRIVATE KEY-----",
		kindJWT:        jwt, kindURL: "a://b:hunter22@c", kindAssigned: "PASSWORD=hunter22",
	}
	for _, r := range rules() {
		texts[r.kind] = sample(r)
	}
	for _, kind := range Kinds() {
		text := texts[kind]
		if got := redacted(t, NewFinder([]string{kind}), text); got != text {
			t.Errorf("without %s %q became %q", kind, text, got)
		}
		if redacted(t, NewFinder(nil), text) == text {
			t.Errorf("%s: %q is not found", kind, text)
		}
	}
}

func TestKinds_AreSortedAndUsableInAList(t *testing.T) {
	kinds := Kinds()
	if !slices.IsSorted(kinds) || len(slices.Compact(slices.Clone(kinds))) != len(kinds) {
		t.Errorf("kinds are not sorted, or not each once: %v", kinds)
	}
	for _, k := range kinds {
		if strings.Trim(k, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("kind %q has other characters than small letters and dashes", k)
		}
	}
}

func TestRules_AreWellFormed(t *testing.T) {
	of := classes()
	for _, r := range rules() {
		if len(r.prefix) < 2 || of[r.prefix[0]]&word == 0 {
			t.Errorf("%q cannot begin a word", r.prefix)
		}
		if r.least < 16 || r.most > 0 && r.most < r.least {
			t.Errorf("%q has lengths %d to %d", r.prefix, r.least, r.most)
		}
	}
}

func TestR5_AContextThatEndedEndsTheWork(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	f := NewFinder(nil)
	for name, value := range map[string]string{
		"one long text":    `"` + strings.Repeat("a ", 100_000) + `"`,
		"many short texts": `["a"` + strings.Repeat(`,"a"`, 100_000) + `]`,
		"a long name":      `{"` + strings.Repeat("a ", 100_000) + `":1}`,
		"many escapes":     `"` + strings.Repeat(`\u0061`, 100_000) + `"`,
	} {
		if _, err := f.Redact(ctx, []byte(value)); !errors.Is(err, why) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if found, err := f.Redact(ctx, []byte(`"short"`)); err != nil || found.Count != 0 {
		t.Errorf("a short text: %+v, %v", found, err)
	}
}

func TestR5_AContextThatEndsLateEndsTheWorkToo(t *testing.T) {
	ctx, f := &endingContext{Context: context.Background(), left: 1 << 30}, NewFinder(nil)
	value := []byte(`"` + strings.Repeat(`\u0061 `, 100_000) + "ghp_" + strings.Repeat("a1B2c3D4e5", 4) + `"`)
	if found, err := f.Redact(ctx, value); err != nil || found.Count != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	for asked := range 1<<30 - ctx.left {
		if _, err := f.Redact(&endingContext{Context: context.Background(), left: asked}, value); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended at question %d: error %v", asked, err)
		}
	}
}

// endingContext is a context that ends after Err was called a number of times.
type endingContext struct {
	context.Context //nolint:containedctx // this type is a context

	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestR5_TheRunsOfAllRulesAreRemembered(t *testing.T) {
	if n := len(NewFinder(nil).bodies); n > mostBodies {
		t.Errorf("%d classes, more than the %d that have a place", n, mostBodies)
	}
}

// Quadratic work would exceed the timeout of the whole test run.
func TestR5_TextMadeToBeSlowIsNot(t *testing.T) {
	f := NewFinder(nil)
	for name, piece := range map[string]string{
		"assignments": "token=", "names": "token: ", "quotes": "token='", "escaped quotes": `token=\\\"a`, "keys": keyBegins + "PRIVATE KEY-----",
		"key lines": keyBegins + `PRIVATE KEY-----\n`, "addresses": "://a:b", "tokens": "eyJ.eyJ.", "prefixes": "sk-", "escapes": `\\`, "words": "ghp_",
		"strings": `","token":"`, "list of key lines": `","` + keyBegins + `PRIVATE KEY-----`, "dashes": "-", "dashes in tokens": "xoxb-", "dashes in tokens of two kinds": "xoxb-glpat-", "dashes in parts of tokens": "eyJ-", "slashes": "/", "surrogates": `\ud83d`,
	} {
		value := []byte(`["` + strings.Repeat(piece, 1<<20/len(piece)) + `"]`)
		if _, err := f.Redact(context.Background(), value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClasses_AreWhatTheirNamesSay(t *testing.T) {
	of := classes()
	var got strings.Builder
	for _, c := range []byte("aGz5-_./+=é ") {
		got.WriteByte("01"[boolByte(of[c]&url64 != 0)])
	}
	if diff := cmp.Diff("111111000000"+"0", got.String()); diff != "" {
		t.Error(diff)
	}
}

func boolByte(b bool) int {
	if b {
		return 1
	}
	return 0
}
