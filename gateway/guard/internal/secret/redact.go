package secret

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Found is what was found in a JSON value.
type Found struct {
	// JSON is the value without the credentials, nil where there are none.
	JSON []byte
	// Kinds are the kinds of what was found, each once, in order.
	Kinds []string
	// Count is how many credentials were found.
	Count int
	// InName is whether one of them stands in the name of a member, where it
	// still is.
	InName bool
}

// Redact takes the credentials out of a JSON value. Each becomes
// "[redacted: KIND]".
func (f *Finder) Redact(ctx context.Context, value []byte) (Found, error) {
	r := redaction{finder: f, value: value}
	for {
		more, err := r.next(ctx)
		if err != nil {
			return Found{}, err
		}
		if !more {
			break
		}
	}
	if r.copied > 0 {
		r.found.JSON = append(r.out, value[r.copied:]...)
	}
	slices.Sort(r.found.Kinds)
	return r.found, nil
}

// redaction is the state of one Redact.
type redaction struct {
	finder *Finder
	value  []byte
	at     int // everything before it was looked at
	looked int // where the context was asked last
	found  Found

	out    []byte // the new value, as far as copied
	copied int

	text   []byte // of the string at hand
	name   []byte // of the member whose value comes next
	named  []byte // the value of a member called "name", for a "value" beside it
	opened bool   // a private key goes on in the next string
}

var errNotJSON = errors.New("the value is not JSON: a string has no end")

// next looks at the next string and reports whether there was one.
func (r *redaction) next(ctx context.Context) (bool, error) {
	if r.at-r.looked >= atLeast {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		r.looked = r.at
	}
	n := bytes.IndexByte(r.value[r.at:], '"')
	if n < 0 {
		return false, nil
	}
	begin := r.at + n + 1
	end, ok := stringEnds(r.value, begin)
	if !ok {
		return false, errNotJSON
	}
	between := bytes.Trim(r.value[r.at:begin-1], " \t\r\n")
	r.at = end + 1
	raw := r.value[begin:end]
	text := raw
	if bytes.IndexByte(raw, '\\') >= 0 {
		var err error
		if r.text, err = unescape(ctx, slices.Grow(r.text[:0], len(raw)), raw); err != nil {
			return false, err
		}
		text = r.text
	}
	if isName(r.value[r.at:]) {
		return true, r.lookAtName(ctx, text)
	}
	name := r.name
	if string(between) != ":" {
		name = nil // the value is in an array or an object of that name
	}
	hits, err := r.lookAtValue(ctx, name, text)
	if err != nil {
		return false, err
	}
	return true, r.replace(ctx, begin, raw, text, hits)
}

// stringEnds is where the string ends whose first character is at i.
func stringEnds(value []byte, i int) (int, bool) {
	for {
		n := bytes.IndexByte(value[i:], '"')
		if n < 0 {
			return 0, false
		}
		quote := i + n
		slashes := 0
		for quote-slashes > i && value[quote-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote, true
		}
		i = quote + 1
	}
}

// isName reports whether the string before rest is the name of a member.
func isName(rest []byte) bool {
	for _, c := range rest {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == ':'
		}
	}
	return false
}

func (r *redaction) lookAtName(ctx context.Context, name []byte) error {
	hits, _, err := r.finder.find(ctx, name)
	for _, h := range hits {
		r.note(h)
		r.found.InName = true
	}
	r.name = append(r.name[:0], name...)
	return err
}

// lookAtValue finds what is in a string, under the name that it has.
func (r *redaction) lookAtValue(ctx context.Context, name, text []byte) ([]hit, error) {
	if r.opened && len(name) == 0 && r.finder.goesOn(text) {
		r.opened = !bytes.Contains(text, []byte(keyEnds))
		return []hit{{0, len(text), kindPrivateKey}}, nil
	}
	hits, open, err := r.finder.find(ctx, text)
	r.opened = open
	switch strings.ToLower(string(name)) {
	case "name", "key": // of a pair, as in the variables of a container
		r.named = append(r.named[:0], text[max(0, len(text)-longestName):]...)
		return hits, err
	case "value":
		name = r.named
	}
	if h := r.finder.under(name, text); len(hits) == 0 && h.to > 0 {
		hits = []hit{h}
	}
	r.named = r.named[:0]
	return hits, err
}

// goesOn reports whether a string is one more line of a private key.
func (f *Finder) goesOn(text []byte) bool {
	line := bytes.Trim(text, " \t\r\n,")
	return bytes.Contains(line, []byte(keyEnds)) || len(line) > 0 && f.run(line, 0, base64) == len(line)
}

// under tries the whole of a string that is the value of a member.
func (f *Finder) under(name, text []byte) hit {
	if len(name) == 0 || !f.finds(kindAssigned) {
		return hit{}
	}
	s, env := f.names.of(name)
	if s == harmless {
		return hit{}
	}
	n := schemeLength(text)
	v := value{text: text[n:], quoted: true, scheme: n > 0}
	if !v.credential(s, env) {
		return hit{}
	}
	return hit{n, len(text), kindAssigned}
}

func (r *redaction) note(h hit) {
	r.found.Count++
	if !slices.Contains(r.found.Kinds, h.kind) {
		r.found.Kinds = append(r.found.Kinds, h.kind)
	}
}

// replace copies the value up to the end of the hits, without them. raw is the
// string that they are in, as it stands in the value from begin, and text what
// it means.
func (r *redaction) replace(ctx context.Context, begin int, raw, text []byte, hits []hit) error {
	place := places{raw: raw, plain: len(raw) == len(text)}
	for _, h := range hits {
		r.note(h)
		if r.out == nil {
			r.out = make([]byte, 0, len(r.value)+64)
		}
		rawFrom, err := place.of(ctx, h.from)
		if err != nil {
			return err
		}
		rawTo, err := place.of(ctx, h.to)
		if err != nil {
			return err
		}
		from, to := begin+rawFrom, begin+rawTo
		r.out = append(r.out, r.value[r.copied:from]...)
		r.out = append(r.out, "[redacted: "...)
		r.out = append(r.out, h.kind...)
		r.out = append(r.out, ']')
		r.copied = to
	}
	return nil
}

// places tells where in the raw text of a string its characters stand. It is
// asked in order.
type places struct {
	raw      []byte
	plain    bool // there are no escapes
	text, at int
	looked   int // where the context was asked last
}

func (p *places) of(ctx context.Context, text int) (int, error) {
	if p.plain {
		return text, nil
	}
	for p.text < text {
		if p.at-p.looked >= atLeast {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			p.looked = p.at
		}
		if p.raw[p.at] != '\\' {
			p.text++
			p.at++
			continue
		}
		c, size := character(p.raw[p.at:])
		p.text += utf8.RuneLen(c)
		p.at += size
	}
	return p.at, nil
}

// unescape appends what the raw text of a string means.
func unescape(ctx context.Context, dst, raw []byte) ([]byte, error) {
	look := len(raw) - atLeast // bytes left when the context is asked next
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...), nil
		}
		if len(raw) <= look {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			look = len(raw) - atLeast
		}
		dst = append(dst, raw[:n]...)
		c, size := character(raw[n:])
		dst = utf8.AppendRune(dst, c)
		raw = raw[n+size:]
	}
}

// character reads the escape that raw begins with and tells how long it is. A
// surrogate without its other half is U+FFFD.
func character(raw []byte) (rune, int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	switch raw[1] {
	case 'u':
		c, size := hexCharacter(raw)
		if utf16.IsSurrogate(c) && len(raw) > size+1 && raw[size] == '\\' && raw[size+1] == 'u' {
			if low, more := hexCharacter(raw[size:]); utf16.DecodeRune(c, low) != utf8.RuneError {
				return utf16.DecodeRune(c, low), size + more
			}
		}
		if utf16.IsSurrogate(c) {
			c = utf8.RuneError
		}
		return c, size
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	}
	return rune(raw[1]), 2
}

func hexCharacter(raw []byte) (rune, int) {
	size := min(len(raw), len(`\u0000`))
	c, err := strconv.ParseUint(string(raw[2:size]), 16, 16)
	if err != nil {
		return utf8.RuneError, size
	}
	return rune(c), size
}
