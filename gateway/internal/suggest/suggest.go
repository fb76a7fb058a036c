// Package suggest finds the known word for which a misspelled word was probably
// meant.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known word that was probably meant, or "" if none is close.
func Nearest(word string, known []string) string {
	const longest = 64 // no known word is nearly that long
	if len(word) > longest {
		return ""
	}
	best, distance := "", 1+len(word)/3
	for _, k := range known {
		d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(k))
		if isSwapped(strings.ToLower(word), k) || len(word) >= 3 && strings.HasPrefix(k, word) {
			d = min(d, 1) // one typo (evnet for event), or an abbreviation (timeout for timeout_ms)
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// isSwapped reports whether two words differ only by two swapped neighboring
// letters. This is the most common typo, but counts as two edits.
func isSwapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	at := 0
	for at < len(a) && a[at] == b[at] {
		at++
	}
	return at+1 < len(a) && a[at] == b[at+1] && a[at+1] == b[at] && a[at+2:] == b[at+2:]
}
