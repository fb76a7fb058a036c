package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Audit is what the operator's file says of the audit trail. The zero Audit
// requires nothing and has neither inputs nor outputs in it.
type Audit struct {
	// Required withholds what was allowed where the record of it is not safe.
	Required bool
	// Input and Output put the input and the output of tools into records.
	Input, Output bool
	// Mask are the places in them that are not shown, as paths in which * is
	// any member or item.
	Mask [][]string
}

// audit reads what a file says of the audit trail.
func (r *reading) audit(v value) Audit {
	var a Audit
	o, ok := r.object(v, "required", "include", "mask")
	if !ok {
		return a
	}
	if v, ok := o["required"]; ok {
		a.Required, _ = r.boolean(v)
	}
	if v, ok := o["include"]; ok {
		items, _ := r.list(v, "a list of input and output")
		for _, item := range items {
			word, _ := r.word(item, "input", "output")
			a.Input, a.Output = a.Input || word == "input", a.Output || word == "output"
		}
	}
	if v, ok := o["mask"]; ok {
		items, _ := r.list(v, "a list of JSON pointers")
		for _, item := range items {
			if path := r.masked(item, a); path != nil {
				a.Mask = append(a.Mask, path)
			}
		}
	}
	return a
}

// masked reads a JSON pointer to what is not shown.
func (r *reading) masked(v value, a Audit) []string {
	s, ok := r.literal(v)
	if !ok {
		return nil
	}
	path, ok := splitPointer(s)
	switch {
	case !ok || path[0] != "input" && path[0] != "output":
		r.fail(v, `%s is not a JSON pointer into the input or the output: it must begin with /input or /output, like "/input/headers/authorization"`, quote(s))
		return nil
	case path[0] == "input" && !a.Input || path[0] == "output" && !a.Output:
		r.fail(v, "there is nothing to mask: records contain the %s only if include lists it", path[0])
		return nil
	}
	return path
}

// splitPointer takes a JSON pointer (RFC 6901) apart.
func splitPointer(s string) ([]string, bool) {
	rest, ok := strings.CutPrefix(s, "/")
	if !ok {
		return nil, false
	}
	tokens := strings.Split(rest, "/")
	for i, token := range tokens {
		token = strings.ReplaceAll(token, "~1", "/")
		if strings.Contains(strings.ReplaceAll(token, "~0", ""), "~") {
			return nil, false
		}
		tokens[i] = strings.ReplaceAll(token, "~0", "~")
	}
	return tokens, true
}

// maskedText stands where something is not shown.
const maskedText = `"[masked]"`

// MaskInput and MaskOutput return a value without what is not to be shown of it.
// One that cannot be read is not shown at all.
func (a *Audit) MaskInput(value json.RawMessage) json.RawMessage { return a.hide("input", value) }

// MaskOutput is described with MaskInput.
func (a *Audit) MaskOutput(value json.RawMessage) json.RawMessage { return a.hide("output", value) }

func (a *Audit) hide(root string, value json.RawMessage) json.RawMessage {
	paths := below(a.Mask, root)
	if len(paths) == 0 {
		return value
	}
	hidden, err := appendHidden(nil, jsontext.Value(value), paths)
	if err != nil {
		return json.RawMessage(maskedText)
	}
	return hidden
}

// below are the paths that go on in a member, without the step into it.
func below(paths [][]string, name string) [][]string {
	var on [][]string
	for _, p := range paths {
		if len(p) > 0 && (p[0] == name || p[0] == "*") {
			on = append(on, p[1:])
		}
	}
	return on
}

// appendHidden appends a value without what the paths lead to.
func appendHidden(to []byte, v jsontext.Value, paths [][]string) ([]byte, error) {
	for _, p := range paths {
		if len(p) == 0 {
			return append(to, maskedText...), nil
		}
	}
	kind := v.Kind()
	if len(paths) == 0 || kind != '{' && kind != '[' {
		return append(to, v...), nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	to = append(to, byte(kind))
	for i := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; i++ {
		if i > 0 {
			to = append(to, ',')
		}
		name := strconv.Itoa(i)
		if kind == '{' {
			key, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			to = append(append(to, key...), ':')
			plain, err := jsontext.AppendUnquote(nil, key)
			if err != nil {
				return nil, err
			}
			name = string(plain)
		}
		member, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if to, err = appendHidden(to, bytes.Clone(member), below(paths, name)); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return append(to, byte(kind)+2), err // ] and } stand two behind [ and {
}
