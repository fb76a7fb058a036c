package shell

import "strings"

// Words are words to look for in many texts.
type Words struct {
	starting [256][]string // by their first byte
}

// NewWords prepares words, which are in lower case and not empty.
func NewWords(words ...string) *Words {
	ws := &Words{}
	// What printf is given may spell anything.
	for _, w := range append(words, "printf") {
		ws.starting[w[0]] = append(ws.starting[w[0]], w)
	}
	return ws
}

// MayBeIn reports whether any reading of text could contain one of the words.
// It costs a fraction of [Read] and errs on the side of yes: quotes and escapes
// may stand inside a word, and where there are expansions anything may be
// spelled.
func (ws *Words) MayBeIn(text string) bool {
	if strings.ContainsAny(text, "${`") || hasCode(text) {
		return true
	}
	plain := strings.ToLower(unquoted(text))
	for i := range len(plain) {
		for _, w := range ws.starting[plain[i]] {
			if strings.HasPrefix(plain[i:], w) {
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

// unquoted is text without what a shell takes away when it reads words.
func unquoted(text string) string {
	if !strings.ContainsAny(text, "\"'\\\x00") {
		return text
	}
	text = strings.ReplaceAll(text, "\\\n", "")
	var plain strings.Builder
	plain.Grow(len(text))
	for i := range len(text) {
		switch text[i] {
		case '"', '\'', '\\', 0:
		default:
			plain.WriteByte(text[i])
		}
	}
	return plain.String()
}
