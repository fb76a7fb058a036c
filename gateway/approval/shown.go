package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Shown is a JSON value as people read it: indented, and with every sign
// escaped that would act on a screen or turn the order of what is read. It is
// JSON still, of the same meaning.
func Shown(value []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		return ShownText(string(value))
	}
	return shown(b.String(), true)
}

// ShownText is a text of one line as people read it, under the same rules.
func ShownText(text string) string { return shown(text, false) }

func shown(text string, lines bool) string {
	acts := func(r rune) bool { return !unicode.IsPrint(r) && (r != '\n' || !lines) }
	if strings.IndexFunc(text, acts) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !acts(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
