package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookgate/hookgate/chain"
)

// parseJSON parses one JSON value. A duplicate name stays in the tree and is
// reported, with its place, when names are checked, as for YAML.
func parseJSON(data []byte) (*node, []flaw) {
	j := jsonReader{
		data: data,
		dec:  jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)),
		seen: place{1, 1},
	}
	root, err := j.value(0)
	if err == nil {
		err = j.end()
	}
	var own *flaw
	switch {
	case errors.As(err, &own):
		return nil, []flaw{*own}
	case err != nil:
		return nil, []flaw{jsonFlaw(data, err)}
	}
	return root, nil
}

// jsonFlaw converts an error of the library to our wording and position.
func jsonFlaw(data []byte, err error) flaw {
	offset, message := len(data), err.Error()
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, message = int(e.ByteOffset), e.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		offset, message = len(bytes.TrimRight(data, " \t\r\n")), "the text is truncated"
	}
	return flaw{placeOf(data, offset), "not JSON: " + strings.TrimPrefix(message, "jsontext: ")}
}

// Error makes a flaw an error, so that the parser can return it.
func (f *flaw) Error() string { return f.message }

// jsonReader converts JSON text to our tree.
type jsonReader struct {
	data []byte
	dec  *jsontext.Decoder
	// seen is the place of the byte at offset; the next place is counted from
	// there.
	seen   place
	offset int
}

// next returns the place of the next token.
func (j *jsonReader) next() place {
	at := int(j.dec.InputOffset())
	for at < len(j.data) && strings.IndexByte(" \t\r\n,:", j.data[at]) >= 0 {
		at++
	}
	passed := j.data[j.offset:at]
	if lines := bytes.Count(passed, []byte{'\n'}); lines > 0 {
		j.seen = place{j.seen.line + lines, 1}
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	j.seen.column += utf8.RuneCount(passed)
	j.offset = at
	return j.seen
}

func (j *jsonReader) value(depth int) (*node, error) {
	n := &node{at: j.next()}
	if depth > maxDepth {
		return nil, &flaw{n.at, tooDeep()}
	}
	if kind := j.dec.PeekKind(); kind == '{' {
		n.kind = mapping
		return n, j.members(n, depth)
	} else if kind == '[' {
		n.kind = list
		return n, j.elements(n, depth)
	}
	raw, err := j.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	n.text = string(raw)
	switch raw[0] {
	case '"':
		n.kind = text
		n.text, _ = chain.ReadString(json.RawMessage(raw))
	case 't', 'f':
		n.kind = boolean
	case 'n':
		n.kind = null
	default:
		n.kind = number
	}
	return n, nil
}

func (j *jsonReader) members(n *node, depth int) error {
	if _, err := j.dec.ReadToken(); err != nil {
		return err
	}
	for j.dec.PeekKind() != '}' {
		at := j.next()
		key, err := j.dec.ReadToken()
		if err != nil {
			return err
		}
		m := member{key: key.String(), at: at}
		if m.value, err = j.value(depth + 1); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := j.dec.ReadToken()
	return err
}

func (j *jsonReader) elements(n *node, depth int) error {
	if _, err := j.dec.ReadToken(); err != nil {
		return err
	}
	for j.dec.PeekKind() != ']' {
		item, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := j.dec.ReadToken()
	return err
}

// end checks that only whitespace follows.
func (j *jsonReader) end() error {
	at := j.next()
	switch _, err := j.dec.ReadToken(); {
	case err == nil:
		return &flaw{at, "a second value begins here: a file must contain exactly one"}
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// isNumber reports whether a text is a number in JSON's grammar.
func isNumber(s string) bool {
	v := jsontext.Value(s)
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && v.Kind() == '0' && v.IsValid() &&
		strings.TrimSpace(s) == s
}

// appendJSON appends a value as JSON text. Numbers keep their text; the caller
// must have checked that each is a JSON number.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case null, broken:
		return append(dst, "null"...)
	case boolean, number:
		return append(dst, n.text...)
	case text:
		return chain.AppendString(dst, n.text)
	case list:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case mapping:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(chain.AppendString(dst, m.key), ':')
			dst = m.value.appendJSON(dst)
		}
		return append(dst, '}')
	}
	return dst
}
