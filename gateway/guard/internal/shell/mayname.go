package shell

import "strings"

// MayName reports whether any reading of text could contain one of words, which
// are in lower case. It costs a fraction of [Read] and errs on the side of yes:
// quotes and escapes may stand inside a word, and where there are expansions
// or printf anything may be spelled.
func MayName(text string, words ...string) bool {
	if strings.ContainsAny(text, "${`") || hasCode(text) {
		return true
	}
	plain := strings.ToLower(unquoted(text))
	if strings.Contains(plain, "printf") {
		return true
	}
	for _, w := range words {
		if strings.Contains(plain, w) {
			return true
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
	const taken = "\"'\\\x00"
	if !strings.ContainsAny(text, taken) {
		return text
	}
	text = strings.ReplaceAll(text, "\\\n", "")
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(taken, r) {
			return -1
		}
		return r
	}, text)
}
