package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hookgate/hookgate/chain"
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
//
// It relies on value being valid JSON, as all is that a request holds, and so
// finds its way by the bytes that stand outside of texts. That costs a tenth of
// reading it once more as strictly, and every guard walks through every call.
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

// errNotJSON says that a value is none after all. It is said of what the walk
// cannot find its way through.
var errNotJSON = errors.New("it is not JSON")

// walker is the state of one walk through a value. It keeps its own stack, so
// that depth costs no recursion.
type walker struct {
	meter  *work.Meter
	text   []byte
	at     int // where the walk is
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

// skipTo goes to the next byte that is neither blank nor between two values,
// and reports whether there is one.
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

// step reads the token that begins here.
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

// close ends the object or the array that is open.
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

// quoted reads a text: a name, an element or a value. What nobody wants is not
// decoded.
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

// skipText goes behind the text that begins here, and reports whether it ends.
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
		if escapes%2 == 0 { // each of them escapes the next, and none this quote
			w.at = at + 1
			return true
		}
	}
}

// isName reports whether the text that was read is the name of a member.
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

// named begins a member.
func (w *walker) named(quoted []byte) error {
	if len(w.open) == 0 {
		return errNotJSON
	}
	at := &w.open[len(w.open)-1]
	at.name = ""
	name := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(name, '\\') >= 0 {
		name, _ = chain.ReadString(quoted) // it is a text
	}
	for _, one := range w.wanted {
		if strings.EqualFold(one, name) {
			at.name = one
		}
	}
	return nil
}

// name is the wanted member that the next value belongs to.
func (w *walker) name() string {
	if len(w.open) == 0 {
		return ""
	}
	return w.open[len(w.open)-1].name
}

// take stores a text that is wanted: an element or a value.
func (w *walker) take(quoted []byte) {
	text, _ := chain.ReadString(quoted) // it is one
	if at := &w.open[len(w.open)-1]; at.array {
		at.list = append(at.list, text)
		return
	}
	w.add(member{text: text, kind: textMember})
}

// literal reads a number, true, false or null. Of argument lists that a program
// wrote as JSON some elements are numbers.
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
