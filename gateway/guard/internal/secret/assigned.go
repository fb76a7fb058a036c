package secret

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// sense is what the name of a value says about it.
type sense uint8

const (
	harmless    sense = iota
	password          // chosen by a person: may be short
	randomValue       // made by a machine: long and random
)

// names recognizes the names of credentials. They are compared by suffix,
// ignoring case and separators.
type names struct{ passwords, values, not []string }

func newNames() names {
	return names{
		passwords: []string{"password", "passwd", "passphrase", "pwd"},
		values: []string{
			"secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "accountkey", "signingkey",
			"encryptionkey", "masterkey", "servicekey", "sharedkey", "storagekey", "credential", "credentials", "authorization",
			"secretkeybase",
		},
		not: []string{
			"pagetoken", "nexttoken", "continuationtoken", "continuetoken", "synctoken", "cancellationtoken", "clienttoken",
			"padtoken", "eostoken", "bostoken", "unktoken",
		},
	}
}

// longestName is how much of a name is examined, and longestValue the longest
// value that can be a credential, in bytes.
const (
	longestName  = 64
	longestValue = 8 << 10
)

// of returns what a name says. env reports whether it is spelled like an
// environment variable.
func (n names) of(name []byte) (s sense, env bool) {
	var plain [longestName]byte
	size := 0
	env = len(name) > 0 && name[0] >= 'A' && name[0] <= 'Z'
	for _, c := range name[max(0, len(name)-longestName):] {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '_' || c >= '0' && c <= '9':
		default:
			env = false
		}
		if c != '_' && c != '-' && c != '.' {
			plain[size] = c
			size++
		}
	}
	ends := func(word string) bool { return bytes.HasSuffix(plain[:size], []byte(word)) }
	switch {
	case slices.ContainsFunc(n.passwords, ends), env && bytes.HasSuffix(name, []byte("_PASS")):
		return password, env
	case slices.ContainsFunc(n.values, ends) && !slices.ContainsFunc(n.not, ends):
		return randomValue, env
	}
	return harmless, env
}

// assigned checks a value that is assigned to the name of a credential; the ":"
// or "=" is at index at.
func (f *Finder) assigned(text []byte, at int) hit {
	if !f.finds(kindAssigned) {
		return hit{}
	}
	name, tight := nameBefore(text, at)
	if len(name) == 0 {
		return hit{}
	}
	s, env := f.names.of(name)
	if s == harmless {
		return hit{}
	}
	from, ok := operatorEnds(text, at)
	if !ok {
		return hit{}
	}
	from = skip(text, from, " \t", 8)
	env = env && tight && text[at] == '='
	v := valueAt(text, from, env)
	if !v.credential(s, env) {
		return hit{}
	}
	return hit{v.from, v.to, kindAssigned}
}

// nameBefore returns the name before an operator, bare, quoted or as a key in
// brackets. tight reports whether nothing is between them.
func nameBefore(text []byte, at int) (name []byte, tight bool) {
	to := at
	for to > 0 && at-to < 6 {
		c := text[to-1]
		bracket := c == ']' && to > 1 && (text[to-2] == '"' || text[to-2] == '\'')
		if !bracket && strings.IndexByte(" \t\"'`\\", c) < 0 {
			break
		}
		to--
	}
	from := to
	for from > 0 && to-from < longestName && isNameByte(text[from-1]) {
		from--
	}
	return text[from:to], to == at
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// operatorEnds returns the end of the operator at index at, and false if it is
// a comparison or something else.
func operatorEnds(text []byte, at int) (int, bool) {
	next := byte(0)
	if at+1 < len(text) {
		next = text[at+1]
	}
	switch {
	case text[at] == ':' && next == '=', text[at] == '=' && next == '>':
		return at + 2, true
	case text[at] == next:
		return 0, false
	}
	return at + 1, true
}

// skip skips up to most of the given characters.
func skip(text []byte, i int, of string, most int) int {
	end := min(len(text), i+most)
	for i < end && strings.IndexByte(of, text[i]) >= 0 {
		i++
	}
	return i
}

// value is a value that is assigned to a name.
type value struct {
	text     []byte
	from, to int
	quoted   bool
	scheme   bool // it follows a scheme such as Bearer
}

// valueAt returns the value that begins at from.
func valueAt(text []byte, from int, env bool) value {
	v := value{from: from}
	begin := skip(text, from, `\`, 4)
	if begin < len(text) && strings.IndexByte("\"'`", text[begin]) >= 0 {
		v.quoted = true
		v.from = begin + 1
		v.to = quoteEnds(text, v.from, text[begin], begin > from)
	} else {
		v.to = wordEnds(text, from, env)
	}
	if n := schemeLength(text[v.from:]); n > 0 {
		v.scheme = true
		v.from += n
		if !v.quoted {
			v.to = wordEnds(text, v.from, env)
		}
	}
	v.to = max(v.from, v.to)
	v.text = text[v.from:v.to]
	return v
}

// schemeLength returns the length of the authentication scheme that text begins
// with, including the space; 0 if there is none.
func schemeLength(text []byte) int {
	for _, scheme := range []string{"bearer ", "basic ", "token "} {
		if len(text) > len(scheme) && strings.EqualFold(string(text[:len(scheme)]), scheme) {
			return len(scheme)
		}
	}
	return 0
}

// quoteEnds returns the end of a quoted value that begins at i. A quote that
// was itself escaped ends at the next escape.
func quoteEnds(text []byte, i int, quote byte, escaped bool) int {
	end := min(len(text), i+longestValue)
	for i < end && text[i] != quote && text[i] != '\n' {
		if text[i] == '\\' {
			if escaped {
				return i
			}
			i++
		}
		i++
	}
	return min(i, end)
}

// wordEnds returns the end of an unquoted value that begins at i.
func wordEnds(text []byte, i int, env bool) int {
	stops := " \t\r\n\"'`\\,;&)]}>|<:"
	if env {
		stops = " \t\r\n\"'`\\"
	}
	end := min(len(text), i+longestValue)
	for i < end && strings.IndexByte(stops, text[i]) < 0 {
		if text[i] == '=' && i+1 < end && text[i+1] != '=' && strings.IndexByte(stops, text[i+1]) < 0 {
			return i // another assignment: within a value, "=" is only padding
		}
		i++
	}
	return i
}

// credential reports whether a value is a credential, given the sense of its
// name.
func (v value) credential(s sense, env bool) bool {
	return v.plausible(s, env) && !standsFor(v.text) && !monotone(v.text) && !common(v.text)
}

// plausible reports whether a value has the form of a credential. It is the
// cheaper check.
func (v value) plausible(s sense, env bool) bool {
	if len(v.text) < 6 || len(v.text) >= longestValue || v.text[0] == '/' || v.text[0] == '.' {
		return false
	}
	digits, groups, letters, others := count(v.text)
	switch {
	case bytes.ContainsAny(v.text, " \t"), bytes.Contains(v.text, []byte("://")), !v.quoted && isCall(v.text):
		return false // prose, a URL or code
	case v.scheme:
		return len(v.text) >= 16
	case s == password && env:
		return true
	case s == password:
		return len(v.text) >= 8 && digits > 0 && letters > 0 && (v.quoted || !isExpression(v.text))
	case env:
		return len(v.text) >= 8 && digits > 0 && letters+others > 0
	}
	return len(v.text) >= 16 && groups >= 2 && letters >= 2 && others <= len(v.text)/4 && entropy(v.text) >= 3 &&
		(v.quoted || !isExpression(v.text))
}

// count returns the number of digits, of groups of digits, of letters and of
// other characters.
func count(text []byte) (digits, groups, letters, others int) {
	inGroup := false
	for _, c := range text {
		isDigit := c >= '0' && c <= '9'
		switch {
		case isDigit:
			digits++
			if !inGroup {
				groups++
			}
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
		default:
			others++
		}
		inGroup = isDigit
	}
	return digits, groups, letters, others
}

// isCall reports whether a value begins like a function call or an index
// expression.
func isCall(text []byte) bool {
	at := bytes.IndexAny(text, "([")
	if at <= 0 {
		return false
	}
	for _, c := range text[:at] {
		if !isNameByte(c) || c == '-' {
			return false
		}
	}
	return true
}

// isExpression reports whether an unquoted value is source code: a lower-case
// identifier or a member access.
func isExpression(text []byte) bool {
	if text[0] >= '0' && text[0] <= '9' {
		return false
	}
	member := bytes.IndexByte(text, '.') >= 0
	for _, c := range text {
		switch {
		case c == '.' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		case member && c >= 'A' && c <= 'Z':
		default:
			return false
		}
	}
	return member || bytes.IndexByte(text, '_') >= 0
}

// standsFor reports whether a text stands for a credential without being one: a
// variable, a template or a placeholder.
func standsFor(text []byte) bool {
	if bytes.ContainsAny(text, "$<>{}") {
		return true
	}
	plain := strings.ToLower(string(text[:min(len(text), 128)]))
	for _, sign := range []string{
		"...", "***", "xxxx", "%(", "example", "placeholder", "changeme", "change_me", "change-me", "your", "redacted", "dummy",
		"insert", "replace", "process.env", "environ", "getenv",
	} {
		if strings.Contains(plain, sign) {
			return true
		}
	}
	return false
}

// common reports whether a text is a word that examples and development
// settings use as a credential.
func common(text []byte) bool {
	switch strings.ToLower(string(text[:min(len(text), 16)])) {
	case "password", "passwd", "pass", "pwd", "secret", "token", "user", "username", "root", "admin", "test", "postgres",
		"mysql", "guest", "foo", "bar", "baz", "true", "false", "null", "none", "undefined", "string", "required":
		return true
	}
	return false
}

// entropy returns the entropy of a text in bits per character.
func entropy(text []byte) float64 {
	var counts [256]int
	for _, c := range text {
		counts[c]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
