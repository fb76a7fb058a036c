package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// filledKeys are the keys whose values may contain ${NAME} and ${file:PATH}.
func filledKeys() []string { return []string{"headers", "env", "tls", "auth", "signing"} }

// filler resolves references to values outside the file.
type filler struct {
	// lookup returns a variable.
	lookup func(name string) (string, bool)
	// read reads a file, given its absolute path.
	read func(path string) ([]byte, error)
}

// filled reads a string and resolves its references. If the file contains a
// reference, the result is not empty.
func (r *reading) filled(v value) (string, bool) {
	full, _, ok := r.filledFrom(v)
	return full, ok
}

// filledFrom is [reading.filled], and also returns the values of the
// references.
func (r *reading) filledFrom(v value) (full string, found []string, ok bool) {
	s, ok := r.text(v)
	if !ok {
		return "", nil, false
	}
	full, found, err := r.expand(s)
	if err != nil {
		r.fail(v, "%v", err)
		return "", nil, false
	}
	return full, found, true
}

// unreadable is the error of a malformed reference, which it quotes.
type unreadable string

// Error implements error.
func (u unreadable) Error() string { return string(u) }

// secretText is [reading.filled] for a value that may itself be a secret:
// messages quote only the names of variables and files.
func (r *reading) secretText(v value) (string, bool) {
	if v.kind != text {
		r.wantSecret(v, "a string in quotes")
		return "", false
	}
	full, _, err := r.expand(v.text)
	if _, quotes := errors.AsType[unreadable](err); quotes {
		err = errors.New("contains a ${ that does not begin ${NAME} or ${file:PATH}; write a literal ${ as $${")
	}
	switch {
	case err != nil:
		r.fail(v, "%v", err)
	case full == "":
		r.fail(v, "is empty")
	case strings.ContainsFunc(full, isControl):
		r.fail(v, "the value contains a line break or another control character")
	default:
		return full, true
	}
	return "", false
}

// wantSecret is [reading.want] for a value that may be a secret.
func (r *reading) wantSecret(v value, wanted string) {
	if v.kind != broken {
		r.fail(v, "want %s, not %s", wanted, v.kind)
	}
}

// expand replaces ${NAME} by a variable, ${file:PATH} by the content of a file,
// and $$ by a dollar sign. Any other dollar sign is literal. It also returns
// the values that it inserted. Errors name references, never their values.
func (r *reading) expand(s string) (filled string, found []string, err error) {
	var full strings.Builder
	for {
		before, after, more := strings.Cut(s, "$")
		full.WriteString(before)
		switch {
		case !more:
			return full.String(), found, nil
		case strings.HasPrefix(after, "$"):
			full.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "{"):
			name, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", nil, unreadable(fmt.Sprintf("%s has no closing brace; write a literal ${ as $${", quote("$"+after)))
			}
			value, err := r.resolve(name)
			if err != nil {
				return "", nil, err
			}
			full.WriteString(value)
			found = append(found, value)
			s = rest
		default:
			full.WriteByte('$')
			s = after
		}
	}
}

// resolve returns the value of ${reference}.
func (r *reading) resolve(reference string) (string, error) {
	if file, ok := strings.CutPrefix(reference, "file:"); ok {
		return r.secret(file)
	}
	if !isVariable(reference) {
		return "", unreadable(fmt.Sprintf("${%.40s} is not ${NAME} or ${file:PATH}", printed(reference)))
	}
	found, set := r.fill.lookup(reference)
	switch {
	case !set:
		return "", fmt.Errorf("${%s}: the variable is not set", reference)
	case found == "":
		return "", fmt.Errorf("${%s}: the variable is empty", reference)
	}
	return found, nil
}

// secret returns the content of a file without its final newline.
func (r *reading) secret(file string) (string, error) {
	if file == "" {
		return "", errors.New("${file:} has no file name")
	}
	data, err := r.fill.read(r.absolute(file))
	if err != nil {
		return "", fmt.Errorf("${file:%s}: the file %w", printed(file), err)
	}
	found := strings.TrimRight(string(data), "\r\n")
	if found == "" {
		return "", fmt.Errorf("${file:%s}: the file is empty", printed(file))
	}
	return found, nil
}

// absolute resolves a path relative to the directory of the declaring file.
func (r *reading) absolute(file string) string {
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(r.dir, file)
}

// printed returns a string from a file in a form that a message can contain.
func printed(s string) string {
	quoted := quote(s)
	if quoted == `"`+s+`"` {
		return s
	}
	return quoted
}

// isVariable reports whether name is a valid variable name.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
