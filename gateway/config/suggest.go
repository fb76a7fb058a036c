package config

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// didYouMean names the known word that was probably meant, as the end of a
// message; it is empty where none is near.
func didYouMean(word string, known []string) string {
	const longest = 64 // nobody means one of our words by a longer one
	if len(word) > longest {
		return ""
	}
	best, distance := "", 1+len(word)/3
	for _, k := range known {
		d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(k))
		if len(word) >= 3 && strings.HasPrefix(k, word) {
			d = min(d, 1) // a word that was cut short, like timeout for timeout_ms
		}
		if d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// listed joins words as a sentence does.
func listed(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
