package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxIndent is how many blanks a value may grow by when it is indented, in bytes.
// The sum grows with the depth of each line, so that a small value which is made
// for it would fill the memory.
const maxIndent = MaxCall

// Shown is a JSON value as people read it: indented, as long as that does not
// make it too long, and with every sign escaped that would act on a screen or
// turn the order of what is read. It is JSON still, of the same meaning.
func Shown(value []byte) string {
	bare := bytes.Trim(value, " \t\r\n") // what is behind a value would be kept, and escaped outside of a text
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

// indentation is how many blanks indent a value.
func indentation(value []byte) int {
	blanks, depth, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++ // what is escaped ends nothing
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
