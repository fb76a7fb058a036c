package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// member is one member of an object that is a text, a list of texts or a
// boolean.
type member struct {
	name string // as the guard spells it
	text string
	list []string
	kind memberKind
}

type memberKind uint8

const (
	textMember memberKind = iota + 1
	listMember
	trueMember
)

// eachObject calls visit for every object in value, however deep, inner ones
// first, with those of its members that are wanted. Names are compared without
// regard to case, as some tools read them.
func eachObject(m *work.Meter, value json.RawMessage, wanted []string, visit func([]member) error) error {
	w := walker{
		meter:  m,
		dec:    jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)),
		wanted: wanted, visit: visit,
	}
	for {
		switch err := w.step(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// walker is the state of one walk through a value. It keeps its own stack, so
// that depth costs no recursion.
type walker struct {
	meter  *work.Meter
	dec    *jsontext.Decoder
	wanted []string
	visit  func([]member) error
	open   []level
}

// level is an object or an array that is not yet closed.
type level struct {
	members []member // of an object
	name    string   // of the member whose value comes next; "" if it is not wanted
	array   bool
	list    []string // the texts and numbers of an array
}

// step reads one token, or skips a text that nobody wants.
func (w *walker) step() error {
	if !w.meter.Spend(1) {
		return w.meter.Err()
	}
	if w.atValue() && w.dec.PeekKind() == '"' && w.name() == "" {
		return w.dec.SkipValue()
	}
	token, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		w.open = append(w.open, level{})
	case jsontext.KindBeginArray:
		w.open = append(w.open, level{array: true, name: w.name()})
	case jsontext.KindEndObject:
		members := w.open[len(w.open)-1].members
		w.open = w.open[:len(w.open)-1]
		if len(members) > 0 {
			return w.visit(members)
		}
	case jsontext.KindEndArray:
		array := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		if len(array.list) > 0 {
			w.add(member{list: array.list, kind: listMember})
		}
	case jsontext.KindString:
		w.take(token.String())
	case jsontext.KindNumber:
		w.number(token.String())
	case jsontext.KindTrue:
		w.add(member{kind: trueMember})
	case jsontext.KindFalse, jsontext.KindNull, jsontext.KindInvalid: // say nothing
	}
	return nil
}

// atValue reports whether a value comes next, and not the name of a member.
func (w *walker) atValue() bool {
	kind, n := w.dec.StackIndex(w.dec.StackDepth())
	return kind != '{' || n%2 == 1
}

// name is the wanted member that the next value belongs to.
func (w *walker) name() string {
	if len(w.open) == 0 {
		return ""
	}
	return w.open[len(w.open)-1].name
}

// number stores a number as an element: of argument lists that a program wrote
// as JSON some elements are numbers.
func (w *walker) number(text string) {
	if len(w.open) > 0 && w.open[len(w.open)-1].array && w.name() != "" {
		at := &w.open[len(w.open)-1]
		at.list = append(at.list, text)
	}
}

// take stores a text: a name, an element or a value.
func (w *walker) take(text string) {
	at := &w.open[len(w.open)-1] // a text that is all there is was skipped
	kind, n := w.dec.StackIndex(w.dec.StackDepth())
	switch {
	case at.array:
		at.list = append(at.list, text)
	case kind == '{' && n%2 == 1: // the decoder has counted it already
		at.name = ""
		for _, name := range w.wanted {
			if strings.EqualFold(name, text) {
				at.name = name
			}
		}
	default:
		w.add(member{text: text, kind: textMember})
	}
}

// add stores a value of the object that is open.
func (w *walker) add(m member) {
	if len(w.open) == 0 {
		return
	}
	at := &w.open[len(w.open)-1]
	if at.array || at.name == "" {
		return
	}
	m.name = at.name
	at.members = append(at.members, m)
}
