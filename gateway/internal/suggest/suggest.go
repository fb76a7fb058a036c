// Package suggest finds the known word that a misspelt one was meant to be.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known word that was probably meant, or "" if none is close.
func Nearest(word string, known []string) string {
	const longest = 64 // nobody means one of our words by a longer one
	if len(word) > longest {
		return ""
	}
	best, distance := "", 1+len(word)/3
	for _, k := range known {
		d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(k))
		if isSwapped(strings.ToLower(word), k) || len(word) >= 3 && strings.HasPrefix(k, word) {
			d = min(d, 1) // one slip, like evnet for event, or a word that was cut short, like timeout for timeout_ms
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// isSwapped reports whether two words differ by two neighbours that changed
// places, which is the commonest slip and two edits to those who count them.
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
