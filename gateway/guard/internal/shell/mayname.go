package shell

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Words are words to search for in many texts.
type Words struct {
	starting [256][]string // by their first byte
	// lower maps each byte to lower case, or to 0 if a shell removes it when it
	// parses words.
	lower [256]byte
}

// NewWords prepares words, which must be in lower case and not empty.
func NewWords(words ...string) *Words {
	ws := &Words{}
	// The arguments of printf can spell any word.
	for _, w := range append(words, "printf") {
		ws.starting[w[0]] = append(ws.starting[w[0]], w)
	}
	for i := range ws.lower {
		ws.lower[i] = byte(i)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		ws.lower[c] = c - 'A' + 'a'
	}
	for _, c := range []byte("\"'\\") {
		ws.lower[c] = 0
	}
	return ws
}

// MayBeIn reports whether any interpretation of text could contain one of the
// words. It costs a fraction of [Read] and errs on the side of true: quotes and
// escapes may be inside a word, and expansions may produce any word.
func (ws *Words) MayBeIn(text string) bool {
	for _, expands := range []byte("${`") {
		if strings.IndexByte(text, expands) >= 0 {
			return true
		}
	}
	if hasCode(text) {
		return true
	}
	plain := ws.lowered(text)
	for i, first := range plain {
		for _, w := range ws.starting[first] {
			if len(plain)-i >= len(w) && string(plain[i:i+len(w)]) == w {
				return true
			}
		}
	}
	return false
}

// hasCode reports whether text contains a backslash followed by what may be a
// character code, as in echo -e.
func hasCode(text string) bool {
	for at := strings.IndexByte(text, '\\'); at >= 0 && at+1 < len(text); {
		if strings.IndexByte("xuU01234567", text[at+1]) >= 0 {
			return true
		}
		next := strings.IndexByte(text[at+1:], '\\')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// lowered returns text in lower case, without the bytes that a shell removes
// when it parses words.
func (ws *Words) lowered(text string) []byte {
	plain, ascii := make([]byte, 0, len(text)), true
	for i := range len(text) {
		c := ws.lower[text[i]]
		if c == 0 || c == '\n' && i > 0 && text[i-1] == '\\' {
			continue
		}
		plain = append(plain, c)
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii { // lower-casing a non-ASCII character may yield an ASCII letter
		return bytes.ToLower(plain)
	}
	return plain
}
