package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Audit is the audit section of the operator's file. The zero Audit requires
// nothing and records neither inputs nor outputs.
type Audit struct {
	// Required withholds an outcome that is not a deny if its record is not
	// durable.
	Required bool
	// Input and Output include the tools' inputs and outputs in records.
	Input, Output bool
	// Mask lists the paths in them to mask, where * matches any member or
	// element.
	Mask [][]string
}

// audit reads the audit section of a file.
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

// masked reads a JSON pointer to a value to mask.
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

// splitPointer splits a JSON pointer (RFC 6901) into its tokens.
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

// maskedText replaces a masked value.
const maskedText = `"[masked]"`

// MaskInput returns an input with the values in Mask replaced. An input that
// cannot be parsed is masked as a whole.
func (a *Audit) MaskInput(value json.RawMessage) json.RawMessage { return a.hide("input", value) }

// MaskOutput is [Audit.MaskInput] for an output.
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

// below returns the paths that continue into a member, without their first
// token.
func below(paths [][]string, name string) [][]string {
	var on [][]string
	for _, p := range paths {
		if len(p) > 0 && (p[0] == name || p[0] == "*") {
			on = append(on, p[1:])
		}
	}
	return on
}

// appendHidden appends a value with what the paths lead to masked.
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
	return append(to, byte(kind)+2), err // in ASCII, ] and } follow two after [ and {
}
