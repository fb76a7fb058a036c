package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// path leads to a value: member names and array indexes, separated by dots.
// Alternatives are separated by |, and the first one that finds a value wins.
type path string

// first returns the top-level member in a path.
func first(way string) string {
	name, _, _ := strings.Cut(way, ".")
	return name
}

// object is the members of a JSON object, in order.
type object []member

type member struct {
	name  string
	value json.RawMessage
	// inner is the value as an object, once it was looked into.
	inner *object
}

func readObject(text []byte) (object, error) {
	var o object
	err := chain.ReadObject(text, o.add)
	return o, err
}

// add appends a member.
func (o *object) add(name []byte, value json.RawMessage, _ int) error {
	*o = append(*o, member{name: string(name), value: value})
	return nil
}

func (o object) member(name string) json.RawMessage {
	if m := o.at(name); m != nil {
		return m.value
	}
	return nil
}

// at returns the member of a name, nil if there is none.
func (o object) at(name string) *member {
	for i := range o {
		if o[i].name == name {
			return &o[i]
		}
	}
	return nil
}

// object returns the members of a value, none if it is not an object. Paths share
// their beginnings, so each value is parsed once: it can be as large as a body.
func (m *member) object() object {
	if m == nil {
		return nil
	}
	if m.inner == nil {
		m.inner = &object{}
		if chain.ReadInnerObject(m.value, m.inner.add) != nil {
			*m.inner = nil
		}
	}
	return *m.inner
}

// names returns the set of the members' names.
func (o object) names() map[string]bool {
	all := make(map[string]bool, len(o))
	for _, m := range o {
		all[m.name] = true
	}
	return all
}

// find returns the value at a path and the name of the top-level member that
// contains it. A null counts as absent.
func (o object) find(p path) (value json.RawMessage, in string) {
	if p == "" {
		return nil, "" // "" is no name here, although a member can have it
	}
	for way := range strings.SplitSeq(string(p), "|") {
		if value := o.follow(way); value != nil && string(value) != "null" {
			return value, first(way)
		}
	}
	return nil, ""
}

// follow returns the value at one path, nil if there is none.
func (o object) follow(way string) json.RawMessage {
	name, rest, more := strings.Cut(way, ".")
	m := o.at(name)
	for more && m != nil {
		name, rest, more = strings.Cut(rest, ".")
		m = m.step(name)
	}
	if m == nil {
		return nil
	}
	return m.value
}

// checkCase refuses a name that differs only in case from a name on a path: two
// readers could read two meanings.
func (o object) checkCase(p path) error {
	for way := range strings.SplitSeq(string(p), "|") {
		name, rest, more := strings.Cut(way, ".")
		for _, m := range o {
			if m.name != name && strings.EqualFold(m.name, name) {
				return fmt.Errorf("field %.60q differs from %q only by case, so JSON parsers may disagree about its meaning", m.name, name)
			}
		}
		if !more {
			continue
		}
		if err := o.at(name).object().checkCase(path(rest)); err != nil {
			return err
		}
	}
	return nil
}

// step returns a member of an object or an element of an array.
func (m *member) step(name string) *member {
	if !isArray(m.value) {
		return m.object().at(name)
	}
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 {
		return nil
	}
	return element(m.value, i)
}

// isArray reports whether a JSON value is an array.
func isArray(value json.RawMessage) bool { return len(value) > 0 && value[0] == '[' }

// element returns an element of a JSON array, nil if it has fewer. It does not
// read the elements behind it: there can be millions.
func element(array json.RawMessage, i int) *member {
	d := json.NewDecoder(bytes.NewReader(array))
	if _, err := d.Token(); err != nil { // the opening bracket
		return nil
	}
	for d.More() {
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if i == 0 {
			return &member{value: value}
		}
		i--
	}
	return nil
}

// text returns the string that value contains, "" if it is not a string.
func text(value json.RawMessage) string {
	s, _ := chain.ReadString(value)
	return s
}

// with returns an object with the value at a path replaced. Missing members are
// added.
func with(value json.RawMessage, way string, other json.RawMessage) json.RawMessage {
	o, err := readObject(value)
	if err != nil {
		o = nil // there was no object
	}
	name, rest, more := strings.Cut(way, ".")
	if more {
		other = with(o.member(name), rest, other)
	}
	edited, done := []byte{'{'}, false
	for _, m := range o {
		if m.name == name {
			m.value, done = other, true
		}
		edited = appendElement(edited, m)
	}
	if !done {
		edited = appendElement(edited, member{name: name, value: other})
	}
	return append(edited, '}')
}

// appendElement appends a member to an object under construction.
func appendElement(b []byte, m member) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(chain.AppendString(b, m.name), ':'), m.value...)
}
