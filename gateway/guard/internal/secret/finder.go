package secret

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
)

// Finder finds credentials. It is immutable and safe for concurrent use.
type Finder struct {
	of      *[256]class
	byFirst [256][]rule
	names   names
	off     []string
	bodies  []class // the classes whose runs are cached
}

// Kinds returns the kinds of credentials that can be found.
func Kinds() []string {
	kinds := []string{kindPrivateKey, kindJWT, kindURL, kindAssigned}
	for _, r := range rules() {
		if !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// NewFinder returns a finder of all kinds except those in except.
func NewFinder(except []string) *Finder {
	f := &Finder{of: classes(), names: newNames(), off: slices.Clone(except), bodies: []class{url64, url64 | equals}}
	for _, r := range rules() {
		if !slices.Contains(f.bodies, r.body) {
			f.bodies = append(f.bodies, r.body)
		}
		if f.finds(r.kind) {
			f.byFirst[r.prefix[0]] = append(f.byFirst[r.prefix[0]], r)
		}
	}
	return f
}

// finds reports whether a kind is enabled.
func (f *Finder) finds(kind string) bool { return !slices.Contains(f.off, kind) }

// hit is a credential in a text.
type hit struct {
	from, to int
	kind     string
}

// atLeast is how much text is scanned between two checks of the context, in
// bytes.
const atLeast = 64 << 10

// find returns the credentials in a text, in order and without overlap, and
// whether a private key was incomplete at its end.
func (f *Finder) find(ctx context.Context, text []byte) (hits []hit, open bool, err error) {
	look := atLeast
	s := scan{finder: f, text: text}
	ahead := hit{} // found from the name before it
	for i := 0; i < len(text); {
		if i >= look {
			if ctx.Err() != nil {
				return nil, false, context.Cause(ctx)
			}
			look = i + atLeast
		}
		h := hit{}
		switch c := text[i]; {
		case ahead.to > 0 && i >= ahead.from:
			h, ahead = s.sharper(ahead), hit{}
		case f.of[c]&word != 0:
			if h = s.token(i); h.to == 0 {
				i = f.run(text, i, word)
				continue
			}
			ahead = hit{} // it may overlap the hit found ahead
		case c == '\\':
			i += escape(text[i:])
			continue
		case (c == ':' || c == '=') && ahead.to == 0:
			ahead = f.named(text, i)
		case c == '-':
			var unfinished bool
			h, unfinished = f.privateKey(text, i)
			open = open || unfinished // then only the rest of the key follows
			if h.to == 0 && ahead.to == 0 && f.finds(kindAssigned) {
				ahead = f.option(text, i)
			}
		}
		if h.to == 0 {
			i++
			continue
		}
		hits = append(hits, h)
		i = h.to
	}
	return hits, open, nil
}

// mostBodies is an upper bound of the number of cached classes.
const mostBodies = 24

// scan is the state of one search for tokens. It caches the latest run of each
// class: if a token can contain the start of another one, such as a dash, every
// start in a long text would otherwise scan all of the rest.
type scan struct {
	finder *Finder
	text   []byte
	runs   [mostBodies]struct{ from, to int }
}

// run returns the end of the run of characters in a class that begins at i.
func (s *scan) run(i int, of class) int {
	last := &s.runs[slices.Index(s.finder.bodies, of)]
	if i < last.from || i >= last.to {
		last.from, last.to = i, s.finder.run(s.text, i, of)
	}
	return last.to
}

// sharper returns the hit with the kind that its own prefix implies, if any.
func (s *scan) sharper(h hit) hit {
	if t := s.token(h.from); t.to > 0 {
		return hit{h.from, max(h.to, t.to), t.kind}
	}
	return h
}

// escape returns the length of an escape sequence that the text contains
// literally, as JSON or source code in it does. A word begins after it.
func escape(text []byte) int {
	switch {
	case len(text) < 2:
		return 1
	case text[1] == 'u' && isHex(text[2:min(len(text), 6)]):
		return 6
	case strings.IndexByte("nrtbf", text[1]) >= 0:
		return 2
	}
	return 1
}

// isHex reports whether a text is the four digits of an escape.
func isHex(text []byte) bool {
	_, err := strconv.ParseUint(string(text), 16, 16)
	return len(text) == 4 && err == nil
}

// named checks what follows a ":" or a "=".
func (f *Finder) named(text []byte, at int) hit {
	if bytes.HasPrefix(text[at:], []byte("://")) {
		return f.url(text, at)
	}
	return f.assigned(text, at)
}

// token tries the rules for a word that begins at i.
func (s *scan) token(i int) hit {
	f, text := s.finder, s.text
	candidates := f.byFirst[text[i]]
	for n := range candidates {
		r := &candidates[n]
		if len(text)-i < len(r.prefix) || text[i+1] != r.prefix[1] || string(text[i:i+len(r.prefix)]) != r.prefix {
			continue
		}
		from := i + len(r.prefix)
		to := s.run(from, r.body)
		size := to - from
		if size < r.least || r.most > 0 && size > r.most || to < len(text) && f.of[text[to]]&word != 0 || monotone(text[from:to]) {
			continue
		}
		return hit{i, to, r.kind}
	}
	if text[i] == 'e' && f.finds(kindJWT) {
		return s.jwt(i)
	}
	return hit{}
}

// run returns the end of the run of characters in a class that begins at i.
func (f *Finder) run(text []byte, i int, of class) int {
	for i < len(text) && f.of[text[i]]&of != 0 {
		i++
	}
	return i
}

// monotone reports whether a text has too few different characters to be
// random, such as a row of x as a placeholder.
func monotone(text []byte) bool {
	var seen [256]bool
	different := 0
	for _, c := range text[:min(len(text), 64)] {
		if !seen[c] {
			seen[c] = true
			different++
		}
	}
	return different < min(6, len(text))
}

// jwt checks for a signed JWT: three parts, of which the first two are objects.
func (s *scan) jwt(i int) hit {
	text := s.text
	const object = "eyJ"
	at := i
	for range 2 {
		if !bytes.HasPrefix(text[at:], []byte(object)) {
			return hit{}
		}
		at = s.run(at, url64)
		if at == len(text) || text[at] != '.' {
			return hit{}
		}
		at++
	}
	to := s.run(at, url64|equals)
	if to-at < 16 {
		return hit{}
	}
	return hit{i, to, kindJWT}
}

// url checks for a password in a URL whose "://" is at index at. The password
// ends at the last "@" that leaves a plausible one, because some passwords
// contain an unescaped "@".
func (f *Finder) url(text []byte, at int) hit {
	if !f.finds(kindURL) {
		return hit{}
	}
	from := at + len("://")
	rest := text[from:min(len(text), from+512)]
	if end := bytes.IndexAny(rest, "/?#\\\"'`<>()[]{}|, \t\r\n"); end >= 0 {
		rest = rest[:end]
	}
	colon := bytes.IndexByte(rest, ':')
	for range 3 {
		rest = rest[:max(0, bytes.LastIndexByte(rest, '@'))]
		if colon < 0 || colon+1 >= len(rest) {
			break
		}
		if p := rest[colon+1:]; !standsFor(p) && !common(p) {
			return hit{from + colon + 1, from + len(rest), kindURL}
		}
	}
	return hit{}
}
