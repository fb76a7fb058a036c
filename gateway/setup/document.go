package setup

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// document is a settings file. Unchanged parts are preserved byte for byte,
// including comments and trailing commas (S2).
type document struct{ root hujson.Value }

// parseDocument parses a settings file; an empty one is an empty object.
func parseDocument(text []byte) (*document, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{}\n")
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %.200s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d := &document{root}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("it holds no JSON object")
	}
	if err := unique(&d.root, ""); err != nil {
		return nil, err
	}
	return d, nil
}

// unique checks that no object has duplicate names: a client that uses the last
// one would not see what is written into the first.
func unique(v *hujson.Value, at string) error {
	switch v := v.Value.(type) {
	case *hujson.Object:
		seen := map[string]bool{}
		for i := range v.Members {
			name := nameOf(v.Members[i])
			if seen[name] {
				return fmt.Errorf("the name %q occurs twice in %s: remove one", name, place(at))
			}
			seen[name] = true
			if err := unique(&v.Members[i].Value, at+"."+name); err != nil {
				return err
			}
		}
	case *hujson.Array:
		for i := range v.Elements {
			if err := unique(&v.Elements[i], at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	}
	return nil
}

func place(at string) string {
	if at == "" {
		return "the outermost object"
	}
	return strings.TrimPrefix(at, ".")
}

func nameOf(m hujson.ObjectMember) string {
	literal, _ := m.Name.Value.(hujson.Literal)
	return literal.String()
}

// memberOf returns a member of an object; nil if there is none.
func memberOf(o *hujson.Object, name string) *hujson.Value {
	i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
	if i < 0 {
		return nil
	}
	return &o.Members[i].Value
}

// at returns the value at a path of names; nil if there is none.
func (d *document) at(path ...string) *hujson.Value {
	v := &d.root
	for _, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		if v = memberOf(o, name); v == nil {
			return nil
		}
	}
	return v
}

// set adds a member to the top-level object, unless it exists.
func (d *document) set(m member) error {
	if d.at(m.key) != nil {
		return nil
	}
	root, _ := d.root.Value.(*hujson.Object)
	return add(root, m.key, m.value, 1)
}

// array returns the list at a path of names, creating what is missing.
func (d *document) array(path ...string) (*hujson.Array, error) {
	v := &d.root
	for depth, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object: %.60s", place(strings.Join(path[:depth], ".")), v.Value)
		}
		next := memberOf(o, name)
		if next == nil {
			empty := "{}"
			if depth == len(path)-1 {
				empty = "[]"
			}
			if err := add(o, name, empty, depth+1); err != nil {
				return nil, err
			}
			next = memberOf(o, name)
		}
		v = next
	}
	a, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf("%s is not a list: %.60s", strings.Join(path, "."), v.Value)
	}
	return a, nil
}

// indent is the indentation of one level.
const indent = "  "

// add appends a member to an object whose members are at the given depth.
func add(o *hujson.Object, name, text string, depth int) error {
	value, err := hujson.Parse([]byte(text))
	if err != nil {
		return err
	}
	value.BeforeExtra = hujson.Extra(" ")
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: value}
	var last *hujson.Value
	if n := len(o.Members); n > 0 {
		last = &o.Members[n-1].Value
	}
	m.Name.BeforeExtra, m.Value.AfterExtra, o.AfterExtra = joint(last, o.AfterExtra, depth)
	o.Members = append(o.Members, m)
	return nil
}

// appendTo appends a value to a list whose elements are at the given depth.
func appendTo(a *hujson.Array, value any, depth int) error {
	v, err := inserted(value, depth)
	if err != nil {
		return err
	}
	var last *hujson.Value
	if n := len(a.Elements); n > 0 {
		last = &a.Elements[n-1]
	}
	v.BeforeExtra, v.AfterExtra, a.AfterExtra = joint(last, a.AfterExtra, depth)
	a.Elements = append(a.Elements, v)
	return nil
}

// joint returns the whitespace and comments around an appended element: what
// was between the last element and the bracket now precedes it, and it has a
// trailing comma if the last one had.
func joint(last *hujson.Value, rest hujson.Extra, depth int) (before, after, closing hujson.Extra) {
	before = hujson.Extra(strings.TrimRight(string(rest), " \t\r\n") + "\n" + strings.Repeat(indent, depth))
	if last != nil && last.AfterExtra != nil {
		after = hujson.Extra{}
	}
	return before, after, hujson.Extra("\n" + strings.Repeat(indent, depth-1))
}

// inserted encodes a value for the given depth.
func inserted(value any, depth int) (hujson.Value, error) {
	text, err := indented(value, strings.Repeat(indent, depth))
	if err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(text)
}

// replaceIn replaces an element of a list, unless it has the same value.
func replaceIn(a *hujson.Array, i int, value any, depth int) error {
	v, err := inserted(value, depth)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(decoded(&v), decoded(&a.Elements[i])) {
		a.Elements[i].Value = v.Value
	}
	return nil
}

// removeFrom removes an element from a list; a comment before it stays.
func removeFrom(a *hujson.Array, i int) {
	gone := a.Elements[i]
	comma := a.Elements[len(a.Elements)-1].AfterExtra != nil
	a.Elements = slices.Delete(a.Elements, i, i+1)
	if comment := strings.TrimRight(string(gone.BeforeExtra), " \t\r\n"); comment != "" {
		next := &a.AfterExtra
		if i < len(a.Elements) {
			next = &a.Elements[i].BeforeExtra
		}
		*next = hujson.Extra(comment + "\n" + strings.TrimLeft(string(*next), "\r\n"))
	}
	if n := len(a.Elements); n > 0 && !comma {
		a.Elements[n-1].AfterExtra = nil
	}
}

// indented encodes a value as JSON without HTML escapes; all lines but the
// first begin with prefix.
func indented(value any, prefix string) ([]byte, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, indent)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return []byte(strings.TrimRight(text.String(), "\n")), nil
}

// decoded converts a value to encoding/json's types, without comments.
func decoded(v *hujson.Value) any {
	if v == nil {
		return nil
	}
	plain := v.Clone()
	plain.Standardize()
	var out any
	if err := json.Unmarshal(plain.Pack(), &out); err != nil {
		return nil // treated as absent
	}
	return out
}

// is reports whether the value at a path is the given JSON literal.
func (d *document) is(s setting) bool {
	v := d.at(s.path...)
	if v == nil {
		return false
	}
	literal, ok := v.Value.(hujson.Literal)
	return ok && string(literal) == s.value
}

func (d *document) text() []byte { return d.root.Pack() }
