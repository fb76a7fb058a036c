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

// Found is the result of redacting a JSON value.
type Found struct {
	// JSON is the redacted value, nil if no credential was found.
	JSON []byte
	// Kinds are the kinds that were found, without duplicates, in order.
	Kinds []string
	// Count is the number of credentials that were found.
	Count int
	// InName reports a credential in the name of a member, which is still
	// there.
	InName bool
}

// Redact replaces each credential in a JSON value by "[redacted: KIND]".
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
	at     int // everything before it is done
	looked int // where the context was last checked
	found  Found

	out    []byte // the new value so far
	copied int

	text   []byte // the current string, decoded
	name   []byte // the name of the next value's member
	named  []byte // the value of a member "name", for a sibling "value"
	opened bool   // a private key continues in the next string
}

var errNotJSON = errors.New("the value is not JSON: a string has no end")

// next processes the next string and reports whether there was one.
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
		name = nil // the value is inside an array or an object of that name
	}
	hits, err := r.lookAtValue(ctx, name, text)
	if err != nil {
		return false, err
	}
	return true, r.replace(ctx, begin, raw, text, hits)
}

// stringEnds returns the end of the string whose first character is at i.
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

// lookAtValue finds the credentials in a string, considering its name.
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

// goesOn reports whether a string is another line of a private key.
func (f *Finder) goesOn(text []byte) bool {
	line := bytes.Trim(text, " \t\r\n,")
	return bytes.Contains(line, []byte(keyEnds)) || len(line) > 0 && f.run(line, 0, base64) == len(line)
}

// under checks a whole string that is the value of a member.
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

// replace copies the value up to the end of the hits, redacting them. raw is
// the encoded string that contains them and begins at begin, text its decoded
// form.
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

// places maps positions in a decoded string to its encoded form. Queries must
// be in ascending order.
type places struct {
	raw      []byte
	plain    bool // without escapes
	text, at int
	looked   int // where the context was last checked
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

// unescape appends the decoded form of a string.
func unescape(ctx context.Context, dst, raw []byte) ([]byte, error) {
	look := len(raw) - atLeast // number of remaining bytes at the next check of the context
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

// character decodes the escape sequence at the start of raw and returns its
// length. A lone surrogate decodes to U+FFFD.
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
