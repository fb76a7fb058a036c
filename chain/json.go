package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func wellFormed(text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return fmt.Errorf("invalid UTF-8 at byte %d", at)
}

// CheckValue returns an error unless text is exactly one JSON value that
// follows the contract's rules.
func CheckValue(text []byte) error {
	return read(text, func(dec *jsontext.Decoder) error {
		_, err := dec.ReadValue()
		return err
	})
}

// OneLine returns a JSON value without line breaks, for formats with one value
// per line. In JSON a line break can only be white space between tokens, so
// replacing each with a space keeps the meaning. A value without line breaks is
// returned as it is, not copied.
func OneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	line := bytes.ReplaceAll(value, []byte{'\n'}, []byte{' '})
	return bytes.ReplaceAll(line, []byte{'\r'}, []byte{' '})
}

// ReadObject reads text as exactly one JSON object that follows the contract's
// rules. It calls member for each member in order, with the decoded name, the
// bytes of the value without surrounding white space, and the offset of the
// value in text. It stops at member's first error. member may retain value,
// which aliases text, but not name.
func ReadObject(text []byte, member func(name []byte, value json.RawMessage, at int) error) error {
	return read(text, func(dec *jsontext.Decoder) error { return readMembers(dec, text, member) })
}

// ReadInnerObject is ReadObject for an object within a text that was read before.
// It does not compare the names again to find duplicates, which takes most of the
// time that reading takes.
func ReadInnerObject(text []byte, member func(name []byte, value json.RawMessage, at int) error) error {
	u := unmarshaler{f: func(dec *jsontext.Decoder) error { return readMembers(dec, text, member) }}
	err := jsonv2.Unmarshal(text, &u, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return errors.Join(u.err, err)
}

func readMembers(dec *jsontext.Decoder, text []byte, member func(name []byte, value json.RawMessage, at int) error) error {
	if kind := kindName(dec.PeekKind()); kind != "" {
		return errors.New(kind + " instead of an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		quoted, err := dec.ReadValue()
		if err != nil {
			return err
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, quoted) // AppendUnquote's error is ignored for the same reason as in ReadString
		}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		stop := int(dec.InputOffset())
		at := stop - len(value)
		if err := member(name, text[at:stop:stop], at); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// read passes f a decoder to read the one value in text, under the rules for
// all JSON in this package: valid UTF-8, no duplicate names at any depth, at
// most 10,000 levels, and only white space after the value.
func read(text []byte, f func(*jsontext.Decoder) error) error {
	if len(bytes.TrimLeft(text, " \t\r\n")) == 0 {
		return errors.New("no JSON value")
	}
	if err := wellFormed(text); err != nil {
		return err
	}
	u := unmarshaler{f: f}
	// The text is known to be valid UTF-8. The option only admits an escaped lone
	// surrogate, which JavaScript runtimes produce when they truncate a string.
	err := jsonv2.Unmarshal(text, &u, jsontext.AllowInvalidUTF8(true))
	switch {
	case u.err != nil:
		return plainly(u.err)
	case err != nil:
		return plainly(err)
	}
	return nil
}

// unmarshaler adapts f to the library's Unmarshal, which reuses decoders from a
// pool, and keeps f's error before the library wraps it.
type unmarshaler struct {
	f   func(*jsontext.Decoder) error
	err error
}

// UnmarshalJSONFrom implements jsonv2.UnmarshalerFrom.
func (u *unmarshaler) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	u.err = u.f(dec)
	return u.err
}

// longestError limits the length of an error in bytes. A decoder's error quotes
// the JSON path, whose length the sender controls.
const longestError = 300

// plainly rewords a decoder's error for use in a reason.
func plainly(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is cut short")
	}
	text := strings.TrimPrefix(err.Error(), "jsontext: ")
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "") + "…"
	}
	return errors.New(text)
}

// kindName describes the kind of a value that is not an object. It returns ""
// for an object, and for input that is not a value.
func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindBeginArray:
		return "an array"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindNull:
		return "null"
	case jsontext.KindBeginObject, jsontext.KindEndObject, jsontext.KindEndArray, jsontext.KindInvalid:
	}
	return ""
}

// ReadString decodes a JSON string. It returns false if value is not a string.
func ReadString(value json.RawMessage) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	// AppendUnquote can only fail on an escaped lone surrogate, because value was
	// read strictly. It decodes one to U+FFFD, which is good enough for matching
	// and logs. Participants are sent the original bytes.
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text), true
}

// ReadBool decodes a JSON boolean. ok is false if value is not a boolean.
func ReadBool(value json.RawMessage) (b, ok bool) {
	switch string(value) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// AppendString appends s to dst as a JSON string. It escapes only what JSON
// requires: <, > and & are unchanged. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the only error reports replaced invalid UTF-8
	return dst
}
