package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// expand returns the words to which the shell would expand w: several if braces
// or an unquoted variable split it.
func (r *reader) expand(s *scope, w *syntax.Word) ([]Word, error) {
	if w == nil {
		return nil, nil
	}
	if text := w.Lit(); text != "" && !strings.ContainsAny(text, `\{`) {
		return []Word{{Text: text, source: text}}, r.spend(len(text)) // most words
	}
	alternatives, err := r.braces(w)
	if err != nil {
		return nil, err
	}
	var words []Word
	for _, parts := range alternatives {
		b := builder{reader: r, scope: s}
		for _, part := range parts {
			if err := b.part(part); err != nil {
				return nil, err
			}
		}
		b.end()
		words = append(words, b.words...)
	}
	return words, nil
}

// braces expands the braces of a word.
func (r *reader) braces(w *syntax.Word) ([][]syntax.WordPart, error) {
	open := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
		}
	}
	if open > maxOpen {
		return nil, errOpen
	}
	syntax.SplitBraces(w)
	if !slices.ContainsFunc(w.Parts, isList) {
		return [][]syntax.WordPart{w.Parts}, nil
	}
	return r.product(w.Parts)
}

// isList reports whether a part is a brace list. Brace sequences are not
// expanded.
func isList(part syntax.WordPart) bool {
	brace, ok := part.(*syntax.BraceExp)
	return ok && !brace.Sequence
}

// product returns every combination of one word from each of the braces.
func (r *reader) product(parts []syntax.WordPart) ([][]syntax.WordPart, error) {
	done := [][]syntax.WordPart{nil}
	for _, part := range parts {
		if err := r.spend(len(done)); err != nil {
			return nil, err
		}
		brace, ok := part.(*syntax.BraceExp)
		if !ok || brace.Sequence {
			for i := range done {
				done[i] = append(done[i], part)
			}
			continue
		}
		var next [][]syntax.WordPart
		for _, element := range brace.Elems {
			inner, err := r.product(element.Parts)
			if err != nil {
				return nil, err
			}
			if len(done)*len(inner)+len(next) > maxBraces {
				return nil, errBraces
			}
			for _, head := range done {
				for _, tail := range inner {
					if err := r.spend(len(head) + len(tail)); err != nil {
						return nil, err
					}
					next = append(next, slices.Concat(head, tail))
				}
			}
		}
		done = next
	}
	return done, nil
}

// builder builds words from the parts of one.
type builder struct {
	reader *reader
	scope  *scope
	words  []Word

	text, source strings.Builder
	unset        string
	from         span
	holds        stream
	quoted       bool // an empty word counts if it is quoted
}

// end completes the current word, if there is one.
func (b *builder) end() {
	if b.text.Len() > 0 || b.source.Len() > 0 || b.quoted {
		b.words = append(b.words, Word{Text: b.text.String(), Unset: b.unset, source: b.source.String(), from: b.from, holds: b.holds})
	}
	b.text.Reset()
	b.source.Reset()
	b.unset, b.from, b.holds, b.quoted = "", span{}, stream{}, false
}

// known appends text that is known.
func (b *builder) known(text string) error {
	b.text.WriteString(text)
	b.source.WriteString(text)
	return b.reader.spend(len(text))
}

// literal appends text without special meaning to the shell: a "~" at the
// beginning is part of a name.
func (b *builder) literal(text string) error {
	if b.text.Len() == 0 && strings.HasPrefix(text, "~") {
		text = "./" + text
	}
	return b.known(text)
}

// opaque appends text that exists but is unknown.
func (b *builder) opaque(from span) error {
	b.comesFrom(from)
	return b.known(Opaque)
}

// comesFrom records that the word contains the output of commands.
func (b *builder) comesFrom(from span) { b.from = b.from.with(from) }

// value appends the value of a variable; outside quotes, whitespace splits it.
func (b *builder) value(v value, quoted bool) error {
	text := v.text
	b.comesFrom(v.from)
	if quoted {
		return b.known(text)
	}
	if err := b.reader.spend(len(text)); err != nil { // whitespace counts, too
		return err
	}
	for i, field := range strings.FieldsFunc(text, blank) {
		if i > 0 || blank(rune(text[0])) {
			b.end()
			b.comesFrom(v.from)
		}
		if err := b.known(field); err != nil {
			return err
		}
	}
	if text != "" && blank(rune(text[len(text)-1])) {
		b.end()
	}
	return nil
}

func blank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// part appends one part of an unquoted word.
func (b *builder) part(part syntax.WordPart) error {
	switch p := part.(type) {
	case *syntax.Lit:
		return b.unescaped(p.Value)
	case *syntax.SglQuoted:
		b.quoted = true
		if p.Dollar {
			return b.literal(ansiC(p.Value))
		}
		return b.literal(p.Value)
	case *syntax.DblQuoted:
		b.quoted = true
		return b.quotedParts(p.Parts)
	case *syntax.ExtGlob:
		return b.known("*") // what it may match is not asked
	case *syntax.BraceExp:
		return b.opaque(span{}) // a brace sequence
	default:
		return b.expansion(part, false)
	}
}

// quotedParts appends the parts of a double-quoted word or of a here-document.
func (b *builder) quotedParts(parts []syntax.WordPart) error {
	for _, part := range parts {
		var err error
		if lit, ok := part.(*syntax.Lit); ok {
			err = b.literal(unescape(lit.Value, "$`\"\\\n"))
		} else {
			err = b.expansion(part, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unescaped appends an unquoted literal.
func (b *builder) unescaped(text string) error {
	if strings.HasPrefix(text, `\~`) {
		return b.literal(unescape(text, ""))
	}
	return b.known(unescape(text, ""))
}

// unescape removes the backslashes before the given characters, or before any
// character if none are given. It removes a backslash before a line break
// together with the line break.
func unescape(text, before string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) || before != "" && strings.IndexByte(before, text[i+1]) < 0 {
			out.WriteByte(text[i])
			continue
		}
		if i++; text[i] != '\n' {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// expansion appends an expansion that begins with $ or a backquote.
func (b *builder) expansion(part syntax.WordPart, quoted bool) error {
	switch p := part.(type) {
	case *syntax.ParamExp:
		return b.param(p, quoted)
	case *syntax.CmdSubst:
		out, err := b.reader.substitution(b.scope, p.Stmts)
		if err != nil {
			return err
		}
		if out.known {
			return b.value(value{text: strings.TrimRight(out.text, "\n"), from: out.opaque()}, quoted)
		}
		return b.opaque(out.from)
	case *syntax.ProcSubst:
		out, err := b.reader.substitution(b.scope, p.Stmts)
		if err != nil {
			return err
		}
		b.holds = out
		return b.opaque(out.from)
	case *syntax.ArithmExp:
		if err := b.reader.inside(b.scope, p.X); err != nil {
			return err
		}
	}
	return b.opaque(span{})
}

// param appends the value of a parameter.
func (b *builder) param(p *syntax.ParamExp, quoted bool) error {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet {
		if err := b.reader.inside(b.scope, p); err != nil {
			return err
		}
		return b.opaque(span{})
	}
	v, set := b.scope.lookup(p.Param.Value)
	whole := p.Slice == nil && p.Repl == nil && len(p.Modifiers) == 0
	plain := whole && p.Index == nil
	if plain && p.Exp != nil {
		return b.alternative(p, v, set, quoted)
	}
	if whole && p.Exp == nil && v.list != nil && isAll(p.Index) {
		return b.elements(v, quoted)
	}
	if !plain {
		if err := b.reader.inside(b.scope, p); err != nil {
			return err
		}
		v = value{text: Opaque, from: v.from}
	}
	if set {
		return b.value(v, quoted)
	}
	return b.leaveOut(p.Param.Value)
}

// isAll reports whether an array index selects all elements.
func isAll(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// elements appends the elements of an array as separate words. Joining them for
// "${X[*]}" is not modeled: whoever reads that would have to split it again.
func (b *builder) elements(v value, quoted bool) error {
	for i, element := range v.list {
		if i > 0 {
			b.end()
		}
		b.quoted = b.quoted || quoted
		if err := b.value(value{text: element, from: v.from}, quoted); err != nil {
			return err
		}
	}
	return nil
}

// alternative appends a parameter with an operator, as in ${X:-word}.
func (b *builder) alternative(p *syntax.ParamExp, v value, set, quoted bool) error {
	words, err := b.reader.expand(b.scope, p.Exp.Word)
	if err != nil {
		return err
	}
	switch op := p.Exp.Op; {
	case op == syntax.ErrorUnset || op == syntax.ErrorUnsetOrNull:
		if !set {
			v = value{text: Opaque} // or the shell exits here
		}
		return b.value(v, quoted)
	case op == syntax.DefaultUnset, op == syntax.DefaultUnsetOrNull,
		op == syntax.AssignUnset, op == syntax.AssignUnsetOrNull:
		if !set {
			v = joined(words)
		}
		if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
			b.scope.set(p.Param.Value, v)
		}
		return b.value(v, quoted)
	case set: // a part of the value
		return b.opaque(v.from)
	}
	return b.leaveOut(p.Param.Value)
}

// leaveOut omits a variable that nothing sets. The text for another shell keeps
// it.
func (b *builder) leaveOut(name string) error {
	if b.unset == "" {
		b.unset = name
	}
	b.source.WriteString("${" + name + "}")
	return b.reader.spend(len(name))
}

// joined returns words as one value.
func joined(words []Word) value {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return value{text: strings.Join(texts, " "), from: origin(words)}
}

// origin returns the commands whose output is part of one of the words.
func origin(words []Word) span {
	var from span
	for _, w := range words {
		from = from.with(w.from)
	}
	return from
}

// sources returns words as text for another shell.
func sources(words []Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.source
	}
	return strings.Join(texts, " ")
}

// ansiC decodes the escape sequences of $'…', which echo -e and printf share.
func ansiC(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		const names, meanings = "abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
		c := text[i]
		switch at := strings.IndexByte(names, c); {
		case at >= 0:
			out.WriteByte(meanings[at])
		case c == 'x':
			i += number(&out, text[i+1:], 2, 16)
		case c == 'u':
			i += number(&out, text[i+1:], 4, 16)
		case c == 'U':
			i += number(&out, text[i+1:], 8, 16)
		case c >= '0' && c <= '7':
			i += number(&out, text[i:], 3, 8) - 1
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}

// number writes the character with the code that text begins with, and returns
// the number of digits. Bytes above 127 are written as a character: they occur
// in no name that is searched for.
func number(out *strings.Builder, text string, digits, base int) int {
	n := 0
	for n < min(digits, len(text)) {
		if _, err := strconv.ParseUint(text[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	value, err := strconv.ParseInt(text[:n], base, 32)
	if err != nil || value > utf8.MaxRune {
		value = utf8.RuneError
	}
	out.WriteRune(rune(value))
	return n
}
