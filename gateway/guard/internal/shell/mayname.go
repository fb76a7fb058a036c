package shell

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Words are words to look for in many texts.
type Words struct {
	starting [256][]string // by their first byte
	// lower is each byte in lower case, 0 where a shell takes it away when it
	// reads words.
	lower [256]byte
}

// NewWords prepares words, which are in lower case and not empty.
func NewWords(words ...string) *Words {
	ws := &Words{}
	// What printf is given may spell anything.
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

// MayBeIn reports whether any reading of text could contain one of the words.
// It costs a fraction of [Read] and errs on the side of yes: quotes and escapes
// may stand inside a word, and where there are expansions anything may be
// spelled.
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

// hasCode reports whether text has a backslash before what may be the code of
// a character, as echo -e reads it.
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

// lowered is text in lower case, without what a shell takes away when it reads
// words.
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
	if !ascii { // a letter of ASCII may come of what is none
		return bytes.ToLower(plain)
	}
	return plain
}
