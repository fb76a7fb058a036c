package config

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
)

// truth is the result of a condition. The zero truth is unknown, which counts
// as true.
type truth uint8

const (
	unknown truth = iota
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// condition is one question about a request.
type condition struct {
	field pointer
	// absent is the result if the field does not exist.
	absent truth
	// ask returns the result for the field's value, one JSON value.
	// By until it has one, which is unknown if it would take longer.
	ask func(value json.RawMessage, until time.Time) truth
}

// when reads conditions that must all hold. The hook is asked unless one of
// them is known to be false (F7).
func (r *reading) when(v value, event chain.Event) func(*chain.Request, time.Time) bool {
	items, ok := r.list(v, "a list of conditions")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.fail(v, "is empty: if there is no condition, leave the key out")
	}
	var all []condition
	for _, item := range items {
		all = append(all, r.condition(item, event))
	}
	return func(req *chain.Request, until time.Time) bool {
		return !slices.ContainsFunc(all, func(c condition) bool { return !late(until) && c.evaluate(req, until) == no })
	}
}

// late reports whether a time has passed. The zero time never does.
func late(until time.Time) bool { return !until.IsZero() && !time.Now().Before(until) }

// operators are the operators of a condition.
func operators() []string { return []string{"equals", "glob", "matches", "exists"} }

// condition reads one condition. An invalid one evaluates to unknown, but the
// file is refused anyway.
func (r *reading) condition(v value, event chain.Event) condition {
	c := condition{absent: no, ask: func(json.RawMessage, time.Time) truth { return unknown }}
	o, ok := r.object(v, append([]string{"field"}, operators()...)...)
	if !ok {
		return c
	}
	if f, ok := o["field"]; ok {
		c.field = r.field(f, event)
	} else {
		r.fail(v, `field is missing: want a JSON pointer, like "/input/command"`)
	}
	var chosen []string
	for _, key := range operators() {
		if _, ok := o[key]; ok {
			chosen = append(chosen, key)
		}
	}
	if len(chosen) != 1 {
		r.fail(v, "want exactly one of %s", listed(operators(), "and"))
		return c
	}
	r.operator(&c, chosen[0], o[chosen[0]])
	return c
}

// operator reads the operator of a condition.
func (r *reading) operator(c *condition, key string, v value) {
	switch key {
	case "equals":
		if want, ok := r.json(v); ok {
			c.ask = equals(want)
		}
	case "glob":
		if pattern, ok := r.text(v); ok {
			c.ask = ofText(func(s string, _ time.Time) truth { return truthOf(chain.MatchTool(pattern, s)) })
		}
	case "matches":
		s, ok := r.text(v)
		if !ok {
			return
		}
		expression, err := regexp.Compile(s)
		if err != nil {
			r.fail(v, "is not a valid RE2 regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			return
		}
		c.ask = ofText(matching(expression))
	case "exists":
		if wanted, ok := r.boolean(v); ok {
			c.absent = truthOf(!wanted)
			c.ask = func(json.RawMessage, time.Time) truth { return truthOf(wanted) }
		}
	}
}

func (c condition) evaluate(req *chain.Request, until time.Time) truth {
	value, found := c.field.lookup(req)
	switch found {
	case yes:
		return c.ask(value, until)
	case no:
		return c.absent
	case unknown:
	}
	return unknown
}

// ofText applies ask to a string. For any other value the result is unknown.
func ofText(ask func(string, time.Time) truth) func(json.RawMessage, time.Time) truth {
	return func(value json.RawMessage, until time.Time) truth {
		s, ok := chain.ReadString(value)
		if !ok {
			return unknown
		}
		return ask(s, until)
	}
}

// long is the length of a text from which an expression is watched while it
// looks for a match, in bytes.
const long = 64 << 10

// matching asks whether an expression matches a text. How long that takes is the
// caller's choice, who makes the text: it ends in time.
func matching(expression *regexp.Regexp) func(string, time.Time) truth {
	return func(s string, until time.Time) truth {
		if len(s) < long || until.IsZero() {
			return truthOf(expression.MatchString(s))
		}
		text := watched{from: strings.NewReader(s), until: until}
		found := expression.MatchReader(&text)
		if text.late {
			return unknown
		}
		return truthOf(found)
	}
}

// watched is a text that ends early once the time has passed.
type watched struct {
	from  *strings.Reader
	until time.Time
	read  int
	late  bool
}

// ReadRune implements [io.RuneReader].
func (w *watched) ReadRune() (rune, int, error) {
	if w.read++; w.read%4096 == 0 && late(w.until) {
		w.late = true
	}
	if w.late {
		return 0, 0, io.EOF
	}
	return w.from.ReadRune()
}

// equals compares two values. Objects are equal regardless of the order of
// their members; numbers only if their text is equal, so 1 does not equal 1.0.
func equals(want json.RawMessage) func(json.RawMessage, time.Time) truth {
	wanted, ok := normal(want)
	return func(value json.RawMessage, _ time.Time) truth {
		if len(value) == 0 || !ok {
			return unknown
		}
		if value[0] != want[0] {
			return no // another type, or another number
		}
		if tooLong(value, len(wanted)) {
			return no
		}
		found, ok := normal(value)
		if !ok {
			return unknown
		}
		return truthOf(string(found) == string(wanted))
	}
}
