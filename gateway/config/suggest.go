package config

import (
	"fmt"
	"strings"

	"github.com/hookgate/hookgate/gateway/internal/suggest"
)

// didYouMean suggests the known word that was probably meant, as the end of a
// message; it returns "" if none is similar.
func didYouMean(word string, known []string) string {
	best := suggest.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// listed joins words in prose.
func listed(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
