package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// strict are the rules of every text that this package reads: no duplicate
// names at any depth, at most 10,000 levels, one value and nothing after it.
// Invalid UTF-8 is refused by wellFormed beforehand; the option only lets an
// escaped lone surrogate pass, which JavaScript runtimes make by cutting text.
func strict() jsontext.Options { return jsontext.AllowInvalidUTF8(true) }

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
	if err := wellFormed(text); err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), strict())
	if _, err := dec.ReadValue(); err != nil {
		return plainly(err)
	}
	return end(dec)
}

// ReadObject reads text as exactly one JSON object under the contract's rules
// and calls member for each of its members, in order, with the decoded name,
// the bytes of the value without surrounding blanks, and where in text they
// begin. It stops at member's first error.
func ReadObject(text []byte, member func(name string, value json.RawMessage, at int) error) error {
	if err := wellFormed(text); err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), strict())
	open, err := dec.ReadToken()
	if err != nil {
		return plainly(err)
	}
	if open.Kind() != '{' {
		return fmt.Errorf("%s instead of an object", kindName(open.Kind()))
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return plainly(err)
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return plainly(err)
		}
		stop := int(dec.InputOffset())
		at := stop - len(value)
		if err := member(name, text[at:stop:stop], at); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return plainly(err)
	}
	return end(dec)
}

// end makes sure that only blanks follow.
func end(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); {
	case err == nil:
		return fmt.Errorf("a second value after the first, before byte %d", dec.InputOffset())
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("data after the value: %w", plainly(err))
	}
	return nil
}

// plainly says a decoder's error in the words of our refusals.
func plainly(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("no JSON value")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is cut short")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "jsontext: "))
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "something"
}

// ReadString returns the text of a JSON string, false where value is none.
func ReadString(value json.RawMessage) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	// The only error left for a value that was read strictly is an escaped
	// lone surrogate, which is decoded as U+FFFD for matching and logs; what
	// is carried on is the value itself.
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
