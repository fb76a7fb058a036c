package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// member is a member of an object whose value is a string, a list of strings or
// a boolean.
type member struct {
	name string // in the guard's spelling
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

// eachObject calls visit for every object in value, at any depth, inner ones
// first, with those of its members that are wanted. Names are compared without
// regard to case, as some tools read them.
//
// It relies on value being valid JSON, which everything in a request is, and
// therefore navigates only by the bytes outside strings. That costs a tenth of
// a strict parse, and every guard walks through every call.
func eachObject(m *work.Meter, value json.RawMessage, wanted []string, visit func([]member) error) error {
	w := walker{meter: m, text: value, wanted: wanted, visit: visit}
	for w.skipTo() {
		if err := w.step(); err != nil {
			return err
		}
	}
	if len(w.open) > 0 {
		return errNotJSON
	}
	return nil
}

// errNotJSON reports that a value is not JSON after all, found when the walk
// cannot continue.
var errNotJSON = errors.New("it is not JSON")

// walker is the state of one walk through a value. It keeps its own stack, so
// that depth needs no recursion.
type walker struct {
	meter  *work.Meter
	text   []byte
	at     int // the current position
	wanted []string
	visit  func([]member) error
	open   []level
}

// level is an object or an array that is not closed yet.
type level struct {
	members []member // of an object
	name    string   // of the member whose value comes next; "" if it is not wanted
	array   bool
	list    []string // the strings and numbers of an array
}

// skipTo skips whitespace and separators, and reports whether anything follows.
func (w *walker) skipTo() bool {
	for ; w.at < len(w.text); w.at++ {
		switch w.text[w.at] {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return true
		}
	}
	return false
}

// step processes the token at the current position.
func (w *walker) step() error {
	if !w.meter.Spend(1) {
		return w.meter.Err()
	}
	switch w.text[w.at] {
	case '{':
		w.open = append(w.open, level{})
		w.at++
	case '[':
		w.open = append(w.open, level{array: true, name: w.name()})
		w.at++
	case '}', ']':
		return w.close()
	case '"':
		return w.quoted()
	default:
		return w.literal()
	}
	return nil
}

// close closes the current object or array.
func (w *walker) close() error {
	if len(w.open) == 0 {
		return errNotJSON
	}
	done := w.open[len(w.open)-1]
	if done.array != (w.text[w.at] == ']') {
		return errNotJSON
	}
	w.open = w.open[:len(w.open)-1]
	w.at++
	switch {
	case done.array && len(done.list) > 0:
		w.add(member{list: done.list, kind: listMember})
	case len(done.members) > 0:
		return w.visit(done.members)
	}
	return nil
}

// quoted processes a string: a name, an element or a value. It decodes only
// wanted ones.
func (w *walker) quoted() error {
	begin := w.at
	if !w.skipText() {
		return errNotJSON
	}
	text := w.text[begin:w.at]
	switch {
	case w.isName():
		return w.named(text)
	case w.name() == "":
	default:
		w.take(text)
	}
	return nil
}

// skipText skips the string at the current position, and reports whether it
// ends.
func (w *walker) skipText() bool {
	for at := w.at + 1; ; at++ {
		n := bytes.IndexByte(w.text[at:], '"')
		if n < 0 {
			return false
		}
		at += n
		escapes := 0
		for w.text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 { // the escapes are complete pairs, so the quote is not escaped
			w.at = at + 1
			return true
		}
	}
}

// isName reports whether the string just read is the name of a member.
func (w *walker) isName() bool {
	for _, c := range w.text[w.at:] {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == ':'
		}
	}
	return false
}

// named starts a member.
func (w *walker) named(quoted []byte) error {
	if len(w.open) == 0 {
		return errNotJSON
	}
	at := &w.open[len(w.open)-1]
	at.name = ""
	name := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(name, '\\') >= 0 {
		name, _ = chain.ReadString(quoted) // it is a valid string
	}
	for _, one := range w.wanted {
		if strings.EqualFold(one, name) {
			at.name = one
		}
	}
	return nil
}

// name returns the wanted member to which the next value belongs.
func (w *walker) name() string {
	if len(w.open) == 0 {
		return ""
	}
	return w.open[len(w.open)-1].name
}

// take stores a wanted string: an element or a value.
func (w *walker) take(quoted []byte) {
	text, _ := chain.ReadString(quoted) // it is a valid string
	if at := &w.open[len(w.open)-1]; at.array {
		at.list = append(at.list, text)
		return
	}
	w.add(member{text: text, kind: textMember})
}

// literal processes a number, true, false or null. Argument lists that a
// program wrote as JSON can contain numbers.
func (w *walker) literal() error {
	literal := w.text[w.at:]
	if end := bytes.IndexAny(literal, " \t\r\n,]}"); end >= 0 {
		literal = literal[:end]
	}
	w.at += len(literal)
	switch {
	case string(literal) == "true":
		w.add(member{kind: trueMember})
	case string(literal) == "false", string(literal) == "null": // say nothing
	case literal[0] != '-' && (literal[0] < '0' || literal[0] > '9'):
		return errNotJSON
	case w.name() != "" && w.open[len(w.open)-1].array:
		at := &w.open[len(w.open)-1]
		at.list = append(at.list, string(literal))
	}
	return nil
}

// add stores a value of the current object.
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
