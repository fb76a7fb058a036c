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

// CheckValue reports why text is not exactly one JSON value under the
// contract's rules.
func CheckValue(text []byte) error {
	return read(text, func(dec *jsontext.Decoder) error {
		_, err := dec.ReadValue()
		return err
	})
}

// OneLine returns a JSON value on one line, for texts of which each line is one
// value. Outside of strings JSON has line breaks only as blanks, and inside
// none, so each becomes a space. Where there are none the value is returned
// itself.
func OneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	line := bytes.ReplaceAll(value, []byte{'\n'}, []byte{' '})
	return bytes.ReplaceAll(line, []byte{'\r'}, []byte{' '})
}

// ReadObject reads text as exactly one JSON object under the contract's rules
// and calls member for each of its members, in order, with the decoded name,
// the bytes of the value without surrounding blanks, and where in text they
// begin. It stops at member's first error. Only value may be kept.
func ReadObject(text []byte, member func(name []byte, value json.RawMessage, at int) error) error {
	return read(text, func(dec *jsontext.Decoder) error {
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
				name, _ = jsontext.AppendUnquote(nil, quoted) // see ReadString
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
	})
}

// read calls f to read the one value of text, under the rules of every text
// that this package reads: valid UTF-8, no duplicate names at any depth, at
// most 10,000 levels, and nothing but blanks after the value.
func read(text []byte, f func(*jsontext.Decoder) error) error {
	if len(bytes.TrimLeft(text, " \t\r\n")) == 0 {
		return errors.New("no JSON value")
	}
	if err := wellFormed(text); err != nil {
		return err
	}
	u := unmarshaler{f: f}
	// The bytes are known to be UTF-8; the option only lets an escaped lone
	// surrogate pass, which JavaScript runtimes make by cutting text.
	err := jsonv2.Unmarshal(text, &u, jsontext.AllowInvalidUTF8(true))
	switch {
	case u.err != nil:
		return plainly(u.err)
	case err != nil:
		return plainly(err)
	}
	return nil
}

// unmarshaler reads by f, and keeps its error from being wrapped. It borrows a
// decoder from the library, which keeps them for reuse.
type unmarshaler struct {
	f   func(*jsontext.Decoder) error
	err error
}

// UnmarshalJSONFrom implements the library's interface for types that read
// themselves.
func (u *unmarshaler) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	u.err = u.f(dec)
	return u.err
}

// longestError bounds what is said of a text: a decoder quotes the path to the
// place, which is as long as the sender likes.
const longestError = 300

// plainly says a decoder's error in the words of our refusals.
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

// kindName says what a value is that is not an object, and nothing of what is no
// value.
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

// ReadString returns the text of a JSON string, false where value is none.
func ReadString(value json.RawMessage) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	// The only error left for a value that was read strictly is an escaped
	// lone surrogate, which is decoded as U+FFFD for matching and logs; what
	// is carried on is the value itself.
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text), true
}

// ReadBool returns a JSON boolean, false where value is none.
func ReadBool(value json.RawMessage) (b, ok bool) {
	switch string(value) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// AppendString appends s as a JSON string to dst. Only what JSON requires is
// escaped: <, > and & stay themselves, and invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // its one error is the replacement of invalid UTF-8
	return dst
}
