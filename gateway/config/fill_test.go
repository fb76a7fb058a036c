package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestF3_ReferencesAreFilledIn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"token": "abc\n", "two-lines": "a\nb\r\n\n", "sub/deep": "d", "spaces": "  x \n"})
	r := reading{
		dir: dir,
		fill: filler{
			lookup: lookup(map[string]string{"A": "1", "_b2": "two", "DOLLAR": "${A}$$"}),
			read:   newSnapshot().file,
		},
	}
	for text, want := range map[string]string{
		"":                               "",
		"plain":                          "plain",
		"${A}":                           "1",
		"x${A}y${_b2}z":                  "x1ytwoz",
		"$$":                             "$",
		"$${A}":                          "${A}",
		"$$${A}":                         "$1",
		"$A $ 5$":                        "$A $ 5$",
		"${DOLLAR}":                      "${A}$$", // what is filled in is not looked into
		"${file:token}":                  "abc",
		"${file:two-lines}":              "a\nb",
		"${file:sub/deep}${file:token}":  "dabc",
		"${file:./sub/../token}":         "abc",
		"${file:" + dir + "/sub/deep}":   "d",
		"${file:spaces}":                 "  x ",
		"Bearer ${file:token}, ${A}{}$x": "Bearer abc, 1{}$x",
	} {
		got, _, err := r.expand(text)
		if err != nil || got != want {
			t.Errorf("expand(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestF3_WhatWasFilledInIsNeverPartOfAnErrorOrAWarning(t *testing.T) {
	const secret = "hunter2"
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"secret": secret + "\n" + secret,
		"hooks.yaml": `
schema: 1
hooks:
  - name: a
    url: http://example.com
    headers: {X-A: "${SECRET}", X-B: "${file:secret}", X-C: "${SECRET}${file:none}"}
    tls: {ca_file: "${SECRET}", server_name: "${NUL}", cert_file: "${file:secret}", key_file: "/${SECRET}"}
  - name: b
    command: [x]
    env: {A: "${NUL}", B: "${SECRET}${NONE}", "${SECRET}": x}
`,
	})
	_, err := Load(Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"),
		LookupEnv:  lookup(map[string]string{"SECRET": "\r" + secret, "NUL": secret + "\x00"}),
	})
	if err == nil || strings.Count(err.Error(), "\n") < 8 {
		t.Fatalf("want a mistake in each value, got: %v", err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the secret is in:\n%v", err)
	}
}

func TestF3_AVariableIsNotLookedUpWhereNobodyPassesALookup(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": "schema: 1\nhooks: [{name: a, command: [x], env: {A: \"${PATH}\"}}]\n"})
	set, err := Load(Options{ConfigFile: filepath.Join(dir, "hooks.yaml")})
	same(t, "messages", []string{`hooks.yaml:2: hooks[0] "a": env.A: ${PATH}: the variable is not set`}, refused(t, dir, set, err))
}
