package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxIndent limits the whitespace that indenting adds to a value, in bytes. It
// grows with the depth of each line, so a small crafted value could exhaust the
// memory.
const maxIndent = MaxCall

// Shown formats a JSON value for people: indented unless that makes it too long,
// and with every character escaped that would act on a terminal or reorder the
// text. The result is JSON of the same meaning.
func Shown(value []byte) string {
	bare := bytes.Trim(value, " \t\r\n") // whitespace outside the value would be kept, and escaped outside a string
	var b bytes.Buffer
	var err error
	if indentation(bare) > maxIndent {
		err = json.Compact(&b, bare)
	} else {
		err = json.Indent(&b, bare, "", "  ")
	}
	if err != nil {
		return ShownText(string(value))
	}
	return shown(b.String(), true)
}

// indentation returns the number of bytes of whitespace that indenting a value
// adds.
func indentation(value []byte) int {
	blanks, depth, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++ // skip the escaped character
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			blanks += 2 * depth
		case c == '}', c == ']':
			depth--
			blanks += 2 * depth
		case c == ',':
			blanks += 2 * depth
		}
	}
	return blanks
}

// ShownText formats a text on one line by the same rules as [Shown].
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
