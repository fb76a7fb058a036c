package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reading is the state of reading one file. Its methods report a mistake and
// return false, so that the caller can continue and find the other mistakes.
type reading struct {
	file   string // as configured
	dir    string // absolute; relative file paths start here
	home   string // absolute; relative directories of commands start here
	fill   filler
	guards []string
	// operators is set for the operator's own file.
	operators bool
	errors    Errors
	warnings  []Warning
}

// value is a node with its path.
type value struct {
	*node
	way way
	// key and keyAt are the key of the value and its place.
	key   string
	keyAt place
}

// way is the path of a value: the entry, described in words, and the keys
// within it.
type way struct{ entry, keys string }

func (w way) String() string {
	if w.entry == "" || w.keys == "" {
		return w.entry + w.keys
	}
	return w.entry + ": " + w.keys
}

func (w way) member(key string) way {
	if !isPlain(key) {
		key = fmt.Sprintf("%.40q", key)
	}
	if w.keys != "" {
		key = w.keys + "." + key
	}
	w.keys = key
	return w
}

func (w way) item(i int) way {
	w.keys += "[" + strconv.Itoa(i) + "]"
	return w
}

// isPlain reports whether a key needs no quotes in a path.
func isPlain(key string) bool {
	return key != "" && len(key) <= 64 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func (r *reading) position(at place, w way) Position {
	return Position{File: r.file, Line: at.line, Column: at.column, Path: w.String()}
}

func (r *reading) failAt(at place, w way, format string, args ...any) {
	r.errors = append(r.errors, Error{r.position(at, w), fmt.Sprintf(format, args...)})
}

// fail reports a mistake at a value.
func (r *reading) fail(v value, format string, args ...any) {
	r.failAt(v.at, v.way, format, args...)
}

func (r *reading) warn(v value, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{r.position(v.at, v.way), fmt.Sprintf(format, args...)})
}

// want reports a value of the wrong type.
func (r *reading) want(v value, wanted string) {
	if v.kind != broken {
		r.fail(v, "want %s, not %s", wanted, describe(v.node))
	}
}

// describe describes a value to the author of the file.
func describe(n *node) string {
	switch n.kind {
	case text:
		return "the string " + quote(n.text)
	case number:
		return fmt.Sprintf("the number %.40s", n.text)
	case boolean:
		return n.text
	case broken, null, list, mapping:
	}
	return n.kind.String()
}

// quote quotes a text from a file, shortening a long one.
func quote(s string) string {
	const longest = 80
	if len(s) <= longest {
		return strconv.Quote(s)
	}
	end := longest
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "…"
}

// unique returns the members of a mapping, and reports duplicate keys.
func (r *reading) unique(v value) []value {
	first := make(map[string]place, len(v.members))
	all := make([]value, 0, len(v.members))
	for _, m := range v.members {
		if at, twice := first[m.key]; twice {
			r.failAt(m.at, v.way, "duplicate key %s, first in line %d", quote(m.key), at.line)
			continue
		}
		first[m.key] = m.at
		all = append(all, value{node: m.value, way: v.way.member(m.key), key: m.key, keyAt: m.at})
	}
	return all
}

// object maps the keys of a mapping to their values.
type object map[string]value

// object reads a mapping with known keys only.
func (r *reading) object(v value, known ...string) (object, bool) {
	if v.kind != mapping {
		r.want(v, "a mapping")
		return nil, false
	}
	o := make(object, len(v.members))
	for _, m := range r.unique(v) {
		if slices.Contains(known, m.key) {
			o[m.key] = m
			continue
		}
		hint := didYouMean(m.key, known)
		if hint == "" {
			hint = "; known: " + listed(known, "and")
		}
		r.failAt(m.keyAt, v.way, "unknown key %s%s", quote(m.key), hint)
	}
	return o, true
}

// text reads a string.
func (r *reading) text(v value) (string, bool) {
	switch v.kind {
	case text:
		return v.text, true
	case number, boolean:
		r.fail(v, "want a string, not %s: quote it, as %q", describe(v.node), v.text)
		return "", false
	case broken, null, list, mapping:
	}
	r.want(v, "a string")
	return "", false
}

// literal reads a string in which references are not resolved, and reports an
// attempt to use one.
func (r *reading) literal(v value) (string, bool) {
	s, ok := r.text(v)
	if ok && strings.Contains(s, "${") {
		r.fail(v, "${…} is not expanded here, only in %s", listed(filledKeys(), "and"))
		return "", false
	}
	return s, ok
}

// word reads one of several words.
func (r *reading) word(v value, known ...string) (string, bool) {
	if v.kind != text {
		r.want(v, listed(known, "or"))
		return "", false
	}
	if !slices.Contains(known, v.text) {
		r.fail(v, "unknown value %s, want %s%s", quote(v.text), listed(known, "or"), didYouMean(v.text, known))
		return "", false
	}
	return v.text, true
}

// boolean reads true or false. Words such as yes, which YAML 1.1 had for them,
// are strings.
func (r *reading) boolean(v value) (b, ok bool) {
	switch {
	case v.kind == boolean:
		return v.text == "true", true
	case v.kind == text && v.bare && slices.Contains([]string{"yes", "on", "y"}, strings.ToLower(v.text)):
		r.fail(v, "want true or false, not %s: write true", describe(v.node))
	case v.kind == text && v.bare && slices.Contains([]string{"no", "off", "n"}, strings.ToLower(v.text)):
		r.fail(v, "want true or false, not %s: write false", describe(v.node))
	default:
		r.want(v, "true or false")
	}
	return false, false
}

// whole reads an integer from 1 to most.
func (r *reading) whole(v value, most int64) (int64, bool) { return r.between(v, 1, most) }

// between reads an integer from least to most.
func (r *reading) between(v value, least, most int64) (int64, bool) {
	if v.kind != number {
		r.want(v, "a whole number")
		return 0, false
	}
	digits := strings.TrimPrefix(v.text, "-")
	if !isNumber(v.text) || strings.Trim(digits, "0123456789") != "" {
		r.fail(v, "want a whole number in plain digits, not %.40s", v.text)
		return 0, false
	}
	// An integer that overflows is out of bounds, too.
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || n < least || n > most {
		r.fail(v, "%.40s is not between %d and %d", v.text, least, most)
		return 0, false
	}
	return n, true
}

// list reads a list.
func (r *reading) list(v value, wanted string) ([]value, bool) {
	if v.kind != list {
		r.want(v, wanted)
		return nil, false
	}
	all := make([]value, len(v.items))
	for i, n := range v.items {
		all[i] = value{node: n, way: v.way.item(i)}
	}
	return all, true
}

// json reads any value as JSON text.
func (r *reading) json(v value) (json.RawMessage, bool) {
	if !r.checkJSON(v) {
		return nil, false
	}
	return v.appendJSON(nil), true
}

// checkJSON reports values that JSON cannot express.
func (r *reading) checkJSON(v value) bool {
	ok := true
	switch v.kind {
	case broken:
		return false
	case number:
		if !isNumber(v.text) {
			r.fail(v, "%.40s is not a valid JSON number: write it in plain digits, or quote it if it is a string", v.text)
			return false
		}
	case list:
		items, _ := r.list(v, "")
		for _, item := range items {
			ok = r.checkJSON(item) && ok
		}
	case mapping:
		members := r.unique(v)
		for _, m := range members {
			ok = r.checkJSON(m) && ok
		}
		ok = ok && len(members) == len(v.members)
	case null, boolean, text:
	}
	return ok
}

// printable reports a string that cannot be part of a message or a label.
func (r *reading) printable(v value, s string, longest int) bool {
	switch {
	case s == "":
		r.fail(v, "is empty")
	case len(s) > longest:
		r.fail(v, "is longer than %d bytes", longest)
	case strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }):
		r.fail(v, "%s contains unprintable characters", quote(s))
	default:
		return true
	}
	return false
}
