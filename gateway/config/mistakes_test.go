package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mistakes maps each file in testdata/mistakes to its errors, one per line.
func mistakes() map[string][]string {
	return map[string][]string{
		"a-list.yaml": {
			`1: want a mapping, not a list`,
		},
		"alias-cycle.yaml": {
			`5: the alias "h" is part of the value that it refers to`,
		},
		"auth.yaml": {
			`3: hooks[0] "a": auth: want a mapping of bearer, basic, header, aws_sigv4, google_id_token, azure and oauth2, not a string`,
			`4: hooks[1] "b": auth: bearer and basic are mutually exclusive: an endpoint gets one credential`,
			`5: hooks[2] "c": auth: want one of bearer, basic, header, aws_sigv4, google_id_token, azure and oauth2`,
			`6: hooks[3] "d": auth: want one of bearer, basic, header, aws_sigv4, google_id_token, azure and oauth2`,
			`6: hooks[3] "d": auth: unknown key "berer"; did you mean "bearer"?`,
			`7: hooks[4] "e": auth.bearer: want a string in quotes, not a number`,
			`8: hooks[5] "f": auth.bearer: ${NO_SUCH_VARIABLE}: the variable is not set`,
			`9: hooks[6] "g": auth.bearer: contains a ${ that does not begin ${NAME} or ${file:PATH}; write a literal ${ as $${`,
			`10: hooks[7] "h": auth.bearer: contains a ${ that does not begin ${NAME} or ${file:PATH}; write a literal ${ as $${`,
			`11: hooks[8] "i": auth.bearer: the value contains a line break or another control character`,
			`12: hooks[9] "j": auth.bearer: is empty`,
			`13: hooks[10] "k": auth.basic: want a mapping of user and password, not a string`,
			`14: hooks[11] "l": auth.basic: user is missing`,
			`14: hooks[11] "l": auth.basic: unknown key "usr"; did you mean "user"?`,
			`14: hooks[11] "l": auth.basic.password: want a string in quotes, not a list`,
			`15: hooks[12] "m": auth.header: name is not a valid header name`,
			`16: hooks[13] "n": auth.header: name is a header that cannot be set here: the gateway sets it itself, or never sends it`,
			`17: hooks[14] "o": auth.aws_sigv4: region is missing`,
			`17: hooks[14] "o": auth.aws_sigv4: unknown key "regin"; did you mean "region"?`,
			`18: hooks[15] "p": auth.google_id_token: audience is missing`,
			`18: hooks[15] "p": auth.google_id_token.credentials_file: the file "none.json" does not exist`,
			`19: hooks[16] "q": auth.azure: scope is missing`,
			`19: hooks[16] "q": auth.azure: unknown key "scopes"; did you mean "scope"?`,
			`20: hooks[17] "r": auth.oauth2.token_url: want a URL with scheme http or https`,
			`20: hooks[17] "r": auth.oauth2.scopes: want a list of scopes, not a string`,
			`21: hooks[18] "s": auth.oauth2.token_url: contains credentials, which would end up in logs: use client_id and client_secret`,
			`21: hooks[18] "s": auth.oauth2.scopes: is empty: want a list of scopes`,
			`22: hooks[19] "t": auth: is sent in a header that headers also sets: remove it there`,
			`23: hooks[20] "u": auth is for a url hook, and this is a command hook`,
			`24: hooks[21] "v": auth.oauth2: want a mapping of token_url, client_id, client_secret and scopes, not a list`,
			`25: hooks[22] "w": auth: want a mapping of bearer, basic, header, aws_sigv4, google_id_token, azure and oauth2, not null`,
			`26: hooks[23] "x": auth.bearer: ${file:none}: the file does not exist`,
		},
		"billion-laughs.yaml": {
			`9: the aliases up to this one expand to more than 10000 values`,
		},
		"blank.json": {
			`1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []`,
		},
		"breakers.yaml": {
			`3: hooks[0] "a": breaker: unknown key "consecutive_failure"; did you mean "consecutive_failures"?`,
			`4: hooks[1] "b": breaker: want a mapping, not the string "off"`,
			`5: hooks[2] "c": breaker: failure_ratio and consecutive_failures are mutually exclusive: set one of them`,
			`6: hooks[3] "d": breaker: min_calls requires failure_ratio, which is not set`,
			`6: hooks[3] "d": breaker: window_ms requires failure_ratio, which is not set`,
			`7: hooks[4] "e": breaker.failure_ratio: want a number over 0 and up to 1, like 0.5, not 1.5`,
			`8: hooks[5] "f": breaker.failure_ratio: want a number over 0 and up to 1, like 0.5, not 0`,
			`9: hooks[6] "g": breaker.failure_ratio: want a number over 0 and up to 1, like 0.5, not the string "half"`,
			`10: hooks[7] "h": breaker.failure_ratio: want a number over 0 and up to 1, like 0.5, not 5e-1`,
			`10: hooks[7] "h": breaker.window_ms: 10 is not between 100 and 3600000`,
			`11: hooks[8] "i": breaker: unknown key "max_retry_after"; did you mean "max_retry_after_ms"?`,
			`11: hooks[8] "i": breaker.max_retry_after_ms: 3600001 is not between 0 and 3600000`,
		},
		"budget-too-long.yaml": {
			`2: budget_ms: 3600001 is not between 1 and 3600000`,
		},
		"canaries.yaml": {
			`3: hooks[0] "a": canary: want a mapping, not true`,
			`4: hooks[1] "b": canary: expect is missing: write expect: deny`,
			`4: hooks[1] "b": canary: request is missing: it is the call that the hook must deny`,
			`4: hooks[1] "b": canary: unknown key "expects"; did you mean "expect"?`,
			`5: hooks[2] "c": canary.request: is not a valid request: field "tool_name" is missing`,
			`5: hooks[2] "c": canary.expect: unknown value "allow", want deny`,
			`6: hooks[3] "d": canary.request: is not a valid request: field "output" is missing`,
			`6: hooks[3] "d": canary.every: want a time like "30s" or "5m", not "often"`,
			`7: hooks[4] "e": canary.request: is a call of the tool "read", and the hook's tools do not match it`,
			`7: hooks[4] "e": canary.every: 10ms is not between 1s and 24h0m0s`,
			`8: hooks[5] "f": canary.request: is a call about which the hook is not asked: it does not meet the conditions of when`,
			`8: hooks[5] "f": canary.every: want a string, not the number 60: quote it, as "60"`,
			`9: hooks[6] "g": canary.request: has the event post_tool_use, but the hook is asked at pre_tool_use`,
			`9: hooks[6] "g": canary.gate_readiness: want true or false, not the string "on": write true`,
			`10: hooks[7] "h": canary.request: want a mapping of the fields of a request, not the string "rm"`,
			`11: hooks[8] "i": canary.request: duplicate key "input", first in line 11`,
			`12: hooks[9] "j": canary.request: is not a valid request: field "Tool_name" before byte 107 differs from "tool_name" only by case, so JSON parsers may disagree about its meaning`,
		},
		"commands.yaml": {
			`4: hooks[0] "a": command: want a list like ["./check.sh", "--strict"] (no shell splits it), not the string "./check.sh --strict"`,
			`6: hooks[1] "b": command: is empty: want the program to run`,
			`8: hooks[2] "c": command[0]: is empty: want the program to run`,
			`10: hooks[3] "d": command[1]: want a string, not the number 5: quote it, as "5"`,
			`10: hooks[3] "d": command[2]: want a string, not true: quote it, as "true"`,
			`10: hooks[3] "d": command[3]: want a string, not null`,
			`12: hooks[4] "e": command[2]: ${…} is not expanded here, only in headers, env, tls, auth and signing`,
			`16: hooks[6] "g": command[0]: contains a NUL character`,
			`19: hooks[7] "h": dir: is empty: for the directory of this file, leave the key out`,
			`20: hooks[7] "h": worker: processes is missing: set how many to keep alive`,
			`23: hooks[8] "i": dir: ${…} is not expanded here, only in headers, env, tls, auth and signing`,
			`24: hooks[8] "i": worker: want a mapping, not the number 4`,
		},
		"conditions.yaml": {
			`3: hooks[0] "a": when: is empty: if there is no condition, leave the key out`,
			`4: hooks[1] "b": when: want a list of conditions, not a mapping`,
			`5: hooks[2] "c": when[0]: field is missing: want a JSON pointer, like "/input/command"`,
			`6: hooks[3] "d": when[0]: want exactly one of equals, glob, matches and exists`,
			`7: hooks[4] "e": when[0]: want exactly one of equals, glob, matches and exists`,
			`8: hooks[5] "f": when[0].field: "input.command" is not a JSON pointer into the request: it must begin with a slash, like "/input/command"`,
			`9: hooks[6] "g": when[0].field: "" is not a JSON pointer into the request: it must begin with a slash, like "/input/command"`,
			`10: hooks[7] "h": when[0].field: "/input/~2" is not a JSON pointer: write ~ as ~0, and a / within a name as ~1`,
			"11: hooks[8] \"i\": when[0].matches: is not a valid RE2 regular expression: missing closing ): `(`",
			`12: hooks[9] "j": when[0].exists: want true or false, not the string "yes": write true`,
			`13: hooks[10] "k": when[0].glob: want a string, not the number 5: quote it, as "5"`,
			`14: hooks[11] "l": when[0].equals: 0x10 is not a valid JSON number: write it in plain digits, or quote it if it is a string`,
			`15: hooks[12] "m": when[0].field: /output exists only after the call, and this hook is asked before it`,
			`16: hooks[13] "n": when[0]: want exactly one of equals, glob, matches and exists`,
			`16: hooks[13] "n": when[0]: unknown key "exist"; did you mean "exists"?`,
			`17: hooks[14] "o": when[0]: want a mapping, not the string "/input"`,
			`18: hooks[15] "p": when[0].field: want a string, not the number 5: quote it, as "5"`,
		},
		"control-character.yaml": {
			`3: not YAML: control characters are not allowed (value: 1)`,
		},
		"cut-short.json": {
			`2: not JSON: the text is truncated`,
		},
		"duplicate-keys.json": {
			`4: hooks[0] "a": duplicate key "on_failure", first in line 4`,
			`6: hooks[1] "b": with.deep[0]: duplicate key "k", first in line 6`,
		},
		"duplicate-keys.yaml": {
			`6: hooks[0] "a": env: duplicate key "A", first in line 6`,
			`7: hooks[0] "a": duplicate key "on_failure", first in line 5`,
			`8: duplicate key "schema", first in line 1`,
		},
		"empty.yaml": {
			`1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []`,
		},
		"entries-that-are-none.yaml": {
			`3: hooks[0]: want a mapping, not the string "./check.sh"`,
			`4: hooks[1]: want a mapping, not null`,
			`5: hooks[2]: want a mapping, not a list`,
		},
		"environment.yaml": {
			`6: hooks[0] "a": env: "A=B" is not a valid variable name: use letters, digits and _`,
			`7: hooks[0] "a": env: "1A" is not a valid variable name: use letters, digits and _`,
			`8: hooks[0] "a": env.UNSET: ${NO_SUCH_VARIABLE}: the variable is not set`,
			`9: hooks[0] "a": env.EMPTY: ${EMPTY}: the variable is empty`,
			`10: hooks[0] "a": env.NO_NAME: ${} is not ${NAME} or ${file:PATH}`,
			`11: hooks[0] "a": env.DEFAULT: ${TEAM:-blue} is not ${NAME} or ${file:PATH}`,
			`12: hooks[0] "a": env.OPEN: "${TEAM" has no closing brace; write a literal ${ as $${`,
			`13: hooks[0] "a": env.NO_FILE: ${file:secrets/none}: the file does not exist`,
			`14: hooks[0] "a": env.NAMELESS: ${file:} has no file name`,
			`15: hooks[0] "a": env.EMPTY_FILE: ${file:empty.txt}: the file is empty`,
			`16: hooks[0] "a": env.DIRECTORY: ${file:secrets}: the file cannot be read: is a directory`,
			`17: hooks[0] "a": env.NUMBER: want a string, not the number 8080: quote it, as "8080"`,
			`18: hooks[0] "a": env.BOOLEAN: want a string, not true: quote it, as "true"`,
			`19: hooks[0] "a": env.NUL: contains a NUL character`,
			`22: hooks[1] "b": env: want a mapping of variable names to strings, not a list`,
		},
		"everything-at-once.yaml": {
			`1: schema: 3 is not supported: this gateway reads schema 1`,
			`3: hooks[0] "a": one of command, url and use is missing: it says what to ask`,
			`4: hooks[0] "a": unknown key "comand"; did you mean "command"?`,
			`7: hooks[1] "b": guard: want true or false, not the string "yes": write true`,
			`9: hooks[2] "c": url: want a URL with scheme http or https`,
			`10: budget_ms: -1 is not between 1 and 3600000`,
		},
		"approvals.yaml": {
			`3: hooks[0] "a": guard: a person may change the input, and is asked after the hooks before this one: leave guard out`,
			`6: hooks[1] "b": mode: a person cannot be asked in shadow mode: leave mode out`,
			`7: hooks[1] "b": on_failure: a call that no person answers is always denied: leave on_failure out`,
			`8: hooks[1] "b": with: approval has no options: leave with out`,
			`9: hooks[2] "c": use: unknown guard "approvl"; did you mean "approval"?`,
			`10: hooks[3] "d": timeout_ms: 600001 is not between 1 and 600000`,
		},
		"guards.yaml": {
			`3: hooks[0] "a": use: unknown guard "shel"; did you mean "shell"?`,
			`4: hooks[1] "b": use: unknown guard "something-else"; known: shell, paths and approval`,
			`5: hooks[2] "c": with: want a mapping of options, not a list`,
			`6: hooks[3] "d": with.a: 0x10 is not a valid JSON number: write it in plain digits, or quote it if it is a string`,
			`6: hooks[3] "d": with.b[0]: .nan is not a valid JSON number: write it in plain digits, or quote it if it is a string`,
			`6: hooks[3] "d": with.b[1].c: 1_000 is not a valid JSON number: write it in plain digits, or quote it if it is a string`,
			`6: hooks[3] "d": with.d: 1. is not a valid JSON number: write it in plain digits, or quote it if it is a string`,
		},
		"headers.yaml": {
			`6: hooks[0] "a": headers: "X Team" is not a valid header name`,
			`7: hooks[0] "a": headers: "" is not a valid header name`,
			`8: hooks[0] "a": headers: Content-Type cannot be set here: the gateway sets it itself, or never sends it`,
			`9: hooks[0] "a": headers: webhook-id cannot be set here: the gateway sets it itself, or never sends it`,
			`10: hooks[0] "a": headers: ce-id cannot be set here: the gateway sets it itself, or never sends it`,
			`12: hooks[0] "a": headers: X-A and x-a are the same header`,
			`13: hooks[0] "a": headers.X-Break: the value contains a line break or another control character`,
			`14: hooks[0] "a": headers.X-Secret: the value contains a line break or another control character`,
			`15: hooks[0] "a": headers.X-Number: want a string, not the number 5: quote it, as "5"`,
			`16: hooks[0] "a": headers.X-List: want a string, not a list`,
			`17: hooks[0] "a": headers.X-Unset: ${NO_SUCH_VARIABLE}: the variable is not set`,
			`20: hooks[1] "b": headers: want a mapping of header names to strings, not the string "X-Team"`,
		},
		"keys-that-are-no-texts.yaml": {
			`6: a key must be a string, not the number 8080: quote it`,
			`7: a key must be a string, not true: quote it`,
			`8: a key must be a string, not a list: quote it`,
		},
		"lone-surrogate.json": {
			`2: not JSON: invalid surrogate pair "\\ud83d\"}]}\n" in string`,
		},
		"long-name.yaml": {
			`3: hooks[0] "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"…: name: is longer than 128 bytes`,
		},
		"merge-key.yaml": {
			`2: unknown key "common"; known: schema, budget_ms, on_uncovered, hooks and audit`,
			`4: the merge key << is not supported: write the keys out`,
		},
		"misplaced-keys.yaml": {
			`5: hooks[0] "a": headers is for a url hook, and this is a command hook`,
			`6: hooks[0] "a": breaker is for a url hook, and this is a command hook`,
			`7: hooks[0] "a": tls is for a url hook, and this is a command hook`,
			`8: hooks[0] "a": proxy is for a url hook, and this is a command hook`,
			`9: hooks[0] "a": with is for a use hook, and this is a command hook`,
			`12: hooks[1] "b": dir is for a command hook, and this is a url hook`,
			`13: hooks[1] "b": env is for a command hook, and this is a url hook`,
			`14: hooks[1] "b": worker is for a command hook, and this is a url hook`,
			`17: hooks[2] "c": max_in_flight is for a command or url hook, and this is a use hook`,
			`18: hooks[2] "c": max_response_bytes is for a command or url hook, and this is a use hook`,
		},
		"names.yaml": {
			`3: hooks[0]: name is missing: denials name the hook`,
			`4: hooks[1]: name: is empty`,
			`6: hooks[2] "two\nlines": name: "two\nlines" contains unprintable characters`,
			`8: hooks[3] "\x1b[31mred": name: "\x1b[31mred" contains unprintable characters`,
			`10: hooks[4] "it's": name: "it's" contains a quote, but denials print the name between quotes`,
			`12: hooks[5] "the \"guard\"": name: "the \"guard\"" contains a quote, but denials print the name between quotes`,
			`14: hooks[6]: name: want a string, not the number 7: quote it, as "7"`,
			`16: hooks[7] "${TEAM}-guard": name: ${…} is not expanded here, only in headers, env, tls, auth and signing`,
		},
		"newer-schema.yaml": {
			`1: schema: 2 is not supported: this gateway reads schema 1`,
		},
		"no-binding.yaml": {
			`3: hooks[0] "a": one of command, url and use is missing: it says what to ask`,
			`4: hooks[1] "b": command and url are mutually exclusive: set one of them`,
			`7: hooks[2] "c": command, url and use are mutually exclusive: set one of them`,
		},
		"no-hooks.yaml": {
			`1: hooks is missing: for a chain without hooks, write hooks: []`,
		},
		"no-schema.yaml": {
			`1: schema is missing: write schema: 1`,
		},
		"not-json.json": {
			`4: not JSON: invalid character ',' at start of value`,
		},
		"not-utf8.yaml": {
			`3: the text is not UTF-8`,
		},
		"not-yaml.yaml": {
			`3: not YAML: mapping values are not allowed in this context`,
		},
		"null.json": {
			`1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []`,
		},
		"null.yaml": {
			`1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []`,
		},
		"numbers.json": {
			`1: schema: 1.0 is not supported: this gateway reads schema 1`,
			`2: hooks[0] "a": timeout_ms: want a whole number in plain digits, not 5000.0`,
			`3: hooks[1] "b": timeout_ms: want a whole number, not null`,
			`4: hooks[2] "c": timeout_ms: 9223372036854775808 is not between 1 and 600000`,
		},
		"numbers.yaml": {
			`3: hooks[0] "a": timeout_ms: 0 is not between 1 and 600000`,
			`4: hooks[1] "b": timeout_ms: -5 is not between 1 and 600000`,
			`5: hooks[2] "c": timeout_ms: 600001 is not between 1 and 600000`,
			`6: hooks[3] "d": timeout_ms: want a whole number in plain digits, not 5.5`,
			`7: hooks[4] "e": timeout_ms: want a whole number in plain digits, not 5e3`,
			`8: hooks[5] "f": timeout_ms: want a whole number in plain digits, not 0x10`,
			`9: hooks[6] "g": timeout_ms: want a whole number in plain digits, not 010`,
			`10: hooks[7] "h": timeout_ms: 99999999999999999999999 is not between 1 and 600000`,
			`11: hooks[8] "i": timeout_ms: want a whole number, not the string "5000"`,
			`12: hooks[9] "j": timeout_ms: want a whole number, not the string "5s"`,
			`13: hooks[10] "k": max_in_flight: 0 is not between 1 and 100000`,
			`13: hooks[10] "k": max_response_bytes: 67108865 is not between 1 and 67108864`,
			`14: hooks[11] "l": worker.processes: 1025 is not between 1 and 1024`,
			`15: hooks[12] "m": breaker.consecutive_failures: 0 is not between 1 and 1000000`,
			`15: hooks[12] "m": breaker.open_ms: 3600001 is not between 1 and 3600000`,
			`15: hooks[12] "m": breaker.half_open_probes: 1001 is not between 1 and 1000`,
			`15: hooks[12] "m": max_connection_age_ms: 999 is not between 1000 and 86400000`,
			`16: hooks[13] "n": first_call_timeout_ms: 2000 is not longer than timeout_ms (2000): raise it, or leave it out`,
			`17: hooks[14] "o": cold_after_ms: requires first_call_timeout_ms or warmup, and neither is set`,
			`18: hooks[15] "p": warmup: want true or false, not the string "yes": write true`,
			`18: hooks[15] "p": cold_after_ms: 10 is not between 1000 and 86400000`,
			`18: hooks[15] "p": first_call_timeout_ms: 600001 is not between 1 and 600000`,
		},
		"only-comments.yaml": {
			`1: the file is empty: for a chain without hooks, write schema: 1 and hooks: []`,
		},
		"proxies.yaml": {
			`3: hooks[0] "a": proxy: want a URL, or the word environment; did you mean "environment"?`,
			`4: hooks[1] "b": proxy: want a URL, or the word environment`,
			`5: hooks[2] "c": proxy: want a URL with scheme http, https or socks5`,
			`6: hooks[3] "d": proxy: want a string, not true: quote it, as "true"`,
			`7: hooks[4] "e": proxy: ${…} is not expanded here, only in headers, env, tls, auth and signing`,
		},
		"schema-as-text.yaml": {
			`1: schema: want the number 1, not the string "1"`,
		},
		"signing.yaml": {
			`3: hooks[0] "a": signing: want a mapping of secret, not a string`,
			`4: hooks[1] "b": signing: secret is missing: calls are signed with it`,
			`5: hooks[2] "c": signing: secret is missing: calls are signed with it`,
			`5: hooks[2] "c": signing: unknown key "secrets"; did you mean "secret"?`,
			`6: hooks[3] "d": signing.secret: is empty: want a secret or a list of them`,
			`7: hooks[4] "e": signing.secret[1]: want a string in quotes, not a number`,
			`7: hooks[4] "e": signing.secret[2]: want a string in quotes, not a list`,
			`8: hooks[5] "f": signing.secret: want a secret or a list of them, not a mapping`,
			`9: hooks[6] "g": signing.secret: ${NO_SUCH_VARIABLE}: the variable is not set`,
			`10: hooks[7] "h": signing is for a url hook, and this is a use hook`,
			`11: hooks[8] "i": bind_answers: want true, false or signed, not the string "yes"`,
			`12: hooks[9] "j": bind_answers: want true, false or signed, not a mapping`,
			`13: hooks[10] "k": bind_answers: signed answers need a shared secret (whsec_…) in signing, and this entry has none`,
			`14: hooks[11] "l": bind_answers: signed answers need a shared secret (whsec_…) in signing, and this entry has none`,
			`15: hooks[12] "m": bind_answers: is for a url hook or a worker: without worker, a process answers only one call`,
			`16: hooks[13] "n": cloudevents: want true or false, not the string "binary"`,
			`17: hooks[14] "o": unwrap: unknown value "lambda", want lambda_invoke; did you mean "lambda_invoke"?`,
		},
		"tabs.yaml": {
			`3: not YAML: found character that cannot start any token, while scanning for the next token that begins in line 3; YAML is indented with spaces, not with tabs`,
		},
		"tag.yaml": {
			`3: the tag "!secret" is not supported: leave it out, and quote strings`,
			`4: the tag "!!seq" is not supported: leave it out, and quote strings`,
		},
		"tls.yaml": {
			`5: hooks[0] "a": tls: cert_file and key_file must be set together`,
			`5: hooks[0] "a": tls.ca_file: the file "none.pem" does not exist`,
			`5: hooks[0] "a": tls.server_name: is empty`,
			`8: hooks[1] "b": tls: cert_file and key_file do not match: failed to find any PEM data in certificate input`,
			`8: hooks[1] "b": tls.ca_file: contains no certificate in PEM format`,
			`11: hooks[2] "c": tls: applies to an https URL, and this one is http`,
			`11: hooks[2] "c": tls: unknown key "ca_fil"; did you mean "ca_file"?`,
			`14: hooks[3] "d": tls: want a mapping, not a list`,
			`17: hooks[4] "e": tls.ca_file: is empty: want the name of a file`,
		},
		"too-deep.json": {
			`2: is nested more than 64 levels deep`,
		},
		"too-deep.yaml": {
			`5: is nested more than 64 levels deep`,
		},
		"tools.yaml": {
			`3: hooks[0] "a": tools: an empty list matches no tool: for every tool, leave the key out`,
			`4: hooks[1] "b": tools: want a list of names, like ["shell", "mcp__*"], not the string "shell"`,
			`5: hooks[2] "c": tools[0]: is empty`,
			`6: hooks[3] "d": tools[1]: want a string, not the number 5: quote it, as "5"`,
			`6: hooks[3] "d": tools[2]: "a\tb" contains unprintable characters`,
			`7: hooks[4] "e": tools: want a list of names, like ["shell", "mcp__*"], not null`,
			`8: hooks[5] "f": tools[0]: ${…} is not expanded here, only in headers, env, tls, auth and signing`,
		},
		"top-values.yaml": {
			`2: budget_ms: 0 is not between 1 and 3600000`,
			`3: on_uncovered: unknown value "Deny", want allow or deny; did you mean "deny"?`,
			`4: hooks: want a list of hooks, not a mapping`,
		},
		"two-documents.yaml": {
			`3: a second document begins here: a file must contain exactly one`,
		},
		"two-values.json": {
			`2: a second value begins here: a file must contain exactly one`,
		},
		"unknown-anchor.yaml": {
			`4: not YAML: unknown anchor 'nowhere' referenced`,
		},
		"unknown-keys.yaml": {
			`7: hooks[1] "dlp": unknown key "on_faliure"; did you mean "on_failure"?`,
			`8: hooks[1] "dlp": unknown key "Event"; did you mean "event"?`,
			`9: hooks[1] "dlp": unknown key "timeout"; did you mean "timeout_ms"?`,
			`10: hooks[1] "dlp": unknown key "matcher"; known: name, command, url, use, event, tools, when, timeout_ms, on_failure, guard, mode, canary, env, dir, worker, headers, auth, signing, bind_answers, cloudevents, unwrap, breaker, tls, proxy, first_call_timeout_ms, cold_after_ms, warmup, max_connection_age_ms, with, max_in_flight, max_request_bytes and max_response_bytes`,
			`11: hooks[1] "dlp": unknown key "cache"; known: name, command, url, use, event, tools, when, timeout_ms, on_failure, guard, mode, canary, env, dir, worker, headers, auth, signing, bind_answers, cloudevents, unwrap, breaker, tls, proxy, first_call_timeout_ms, cold_after_ms, warmup, max_connection_age_ms, with, max_in_flight, max_request_bytes and max_response_bytes`,
		},
		"unknown-top-keys.yaml": {
			`2: unknown key "budgetms"; did you mean "budget_ms"?`,
			`3: unknown key "on_uncoverd"; did you mean "on_uncovered"?`,
			`4: unknown key "Hooks"; did you mean "hooks"?`,
			`6: unknown key "matchers"; known: schema, budget_ms, on_uncovered, hooks and audit`,
		},
		"unknown-words.yaml": {
			`5: hooks[0] "a": event: unknown value "PreToolUse", want pre_tool_use or post_tool_use; did you mean "pre_tool_use"?`,
			`6: hooks[0] "a": on_failure: unknown value "Allow", want deny or allow; did you mean "allow"?`,
			`7: hooks[0] "a": mode: unknown value "shadows", want enforce or shadow; did you mean "shadow"?`,
			`10: hooks[1] "b": event: want pre_tool_use or post_tool_use, not a list`,
			`11: hooks[1] "b": on_failure: unknown value "open", want deny or allow`,
			`12: hooks[1] "b": mode: want enforce or shadow, not true`,
			`15: hooks[2] "c": event: want pre_tool_use or post_tool_use, not null`,
			`16: hooks[2] "c": on_failure: want deny or allow, not null`,
			`17: hooks[2] "c": mode: want enforce or shadow, not null`,
		},
		"urls.yaml": {
			`3: hooks[0] "a": url: want a URL with scheme http or https`,
			`4: hooks[1] "b": url: want a URL with scheme http or https`,
			`5: hooks[2] "c": url: has no host`,
			`6: hooks[3] "d": url: contains credentials, which would end up in logs: use auth`,
			`7: hooks[4] "e": url: has a fragment, which is not sent`,
			`8: hooks[5] "f": url: port 70000 is not between 1 and 65535`,
			`9: hooks[6] "g": url: ${…} is not expanded here, only in headers, env, tls, auth and signing`,
			`10: hooks[7] "h": url: is not a URL`,
			`11: hooks[8] "i": url: want a string, not a list`,
			`12: hooks[9] "j": url: want a URL with scheme http or https`,
		},
		"yaml-1.1-booleans.yaml": {
			`3: hooks[0] "a": guard: want true or false, not the string "yes": write true`,
			`4: hooks[1] "b": guard: want true or false, not the string "Off": write false`,
			`5: hooks[2] "c": guard: want true or false, not the string "yes"`,
			`6: hooks[3] "d": guard: want true or false, not the number 1`,
		},
	}
}

func TestF1_EachMistakeIsAnErrorThatNamesPlaceAndFix(t *testing.T) {
	for name, want := range mistakes() {
		t.Run(name, func(t *testing.T) {
			set, err := Load(Options{
				ConfigFile: filepath.Join("testdata", "mistakes", name),
				Guards:     []string{"shell", "paths"},
				LookupEnv:  lookup(map[string]string{"TEAM": "red", "EMPTY": "", "HOME": "/h"}),
			})
			var got []string
			for _, said := range refused(t, "testdata/mistakes", set, err) {
				got = append(got, strings.TrimPrefix(said, name+":"))
			}
			same(t, "messages", want, got)
		})
	}
}

func TestF1_EveryFileOfMistakesIsTested(t *testing.T) {
	all, err := os.ReadDir(filepath.Join("testdata", "mistakes"))
	if err != nil {
		t.Fatal(err)
	}
	table := mistakes()
	for _, file := range all {
		extension := filepath.Ext(file.Name())
		if _, tested := table[file.Name()]; !tested && (extension == ".yaml" || extension == ".json") {
			t.Errorf("%s has no row", file.Name())
		}
	}
}

func TestF2_MistakesOfAllFilesAreReportedTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"hooks.yaml":          "schema: 1\nhooks:\n  - {name: a, comand: [x]}\n",
		"chains/b.yaml":       "schema: 2\nhooks: []\n",
		"chains/a.json":       "{\"schema\": 1}",
		"chains/-c.yaml":      "schema: 1\nhooks: []\n",
		"chains/good.yaml":    "schema: 1\nhooks: []\n",
		"chains/d.yaml":       "schema: 1\nhooks: []\n",
		"chains/d.json":       "{\"schema\": 1, \"hooks\": []}",
		"chains/operator.yml": "schema: 1\nhooks: []\n",
	})
	set, err := Load(Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")})
	same(t, "messages", []string{
		`hooks.yaml:3: hooks[0] "a": one of command, url and use is missing: it says what to ask`,
		`hooks.yaml:3: hooks[0] "a": unknown key "comand"; did you mean "command"?`,
		`chains/-c.yaml: is not a valid name for a chain: use up to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or digit`,
		`chains/a.json:1: hooks is missing: for a chain without hooks, write hooks: []`,
		`chains/b.yaml:1: schema: 2 is not supported: this gateway reads schema 1`,
		`chains/d.yaml: defines the chain "d", which d.json already defines`,
		`chains/operator.yml: "operator" is reserved for the operator's chain`,
	}, refused(t, dir, set, err))
}

func TestF2_AnErrorSaysItsPlaceInPartsAsWell(t *testing.T) {
	_, err := Load(Options{ConfigFile: "testdata/mistakes/numbers.json"})
	found, ok := errors.AsType[Errors](err)
	if !ok {
		t.Fatalf("error is of type %T, want Errors", err)
	}
	same(t, "the third error", Error{
		Position: Position{File: "testdata/mistakes/numbers.json", Line: 3, Column: 49, Path: `hooks[1] "b": timeout_ms`},
		Message:  "want a whole number, not null",
	}, found[2])
}

func TestF1_AFileOverItsLimitIsRefused(t *testing.T) {
	dir := t.TempDir()
	for size, want := range map[int][]string{
		maxFile:     nil,
		maxFile + 1: {"hooks.yaml: is larger than 4194304 bytes"},
	} {
		text := "schema: 1\nhooks: []\n"
		write(t, dir, map[string]string{"hooks.yaml": text + "#" + strings.Repeat("x", size-len(text)-1)})
		set, err := Load(Options{ConfigFile: filepath.Join(dir, "hooks.yaml")})
		if want == nil {
			if err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			continue
		}
		same(t, "messages", want, refused(t, dir, set, err))
	}
}
