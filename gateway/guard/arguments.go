package guard

import (
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// arguments are the words of a command, split by the conventions of most
// programs.
type arguments struct {
	// flags are the options, without values that are the next word.
	flags []shell.Word
	// operands are all other words.
	operands []shell.Word
}

// argumentsOf separates options from operands. takes lists the options, with
// their dashes, whose value is the next word.
func argumentsOf(words []shell.Word, takes ...string) arguments {
	var a arguments
	for i := 0; i < len(words); i++ {
		switch text := words[i].Text; {
		case text == "--":
			a.operands = append(a.operands, words[i+1:]...)
			return a
		case len(text) > 1 && text[0] == '-':
			a.flags = append(a.flags, words[i])
			if slices.Contains(takes, text) {
				i++
			}
		default:
			a.operands = append(a.operands, words[i])
		}
	}
	return a
}

// valuesOf returns the values of an option with a short and a long form,
// whether the value is the next word or the rest of the same word. takes lists
// all short options with a value, because one of them ends a cluster of short
// options.
func valuesOf(words []shell.Word, letter byte, name, takes string) []shell.Word {
	var values []shell.Word
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case text == "--":
			return values
		case strings.HasPrefix(text, "--"):
			given, value, attached := strings.Cut(text[len("--"):], "=")
			if given != name {
				continue
			}
			if attached {
				values = append(values, shell.Word{Text: value, Unset: words[i].Unset})
			} else if i++; i < len(words) {
				values = append(values, words[i])
			}
		case strings.HasPrefix(text, "-"):
			at := strings.IndexAny(text[1:], takes) + 1
			if at == 0 {
				continue
			}
			value := shell.Word{Text: text[at+1:], Unset: words[i].Unset}
			if value.Text == "" {
				if i++; i == len(words) {
					return values
				}
				value = words[i]
			}
			if text[at] == letter {
				values = append(values, value)
			}
		}
	}
	return values
}

// short reports whether one of the letters is in a cluster of short options, as
// r is in -rf.
func (a arguments) short(letters string) bool {
	for _, f := range a.flags {
		if !strings.HasPrefix(f.Text, "--") && strings.ContainsAny(f.Text, letters) {
			return true
		}
	}
	return false
}

// long reports whether the option name is given, possibly abbreviated: many
// programs accept a prefix of an option.
func (a arguments) long(name string) bool {
	for _, f := range a.flags {
		given, _, _ := strings.Cut(f.Text, "=")
		if len(given) > len("--") && strings.HasPrefix("--"+name, given) {
			return true
		}
	}
	return false
}

// exactly reports whether one of the options is given, without abbreviation.
func (a arguments) exactly(flags ...string) bool {
	for _, f := range a.flags {
		if slices.Contains(flags, f.Text) {
			return true
		}
	}
	return false
}

// first returns the text of the first operand, "" if there is none.
func (a arguments) first() string {
	if len(a.operands) == 0 {
		return ""
	}
	return a.operands[0].Text
}

// names reports whether one of the operands is one of words, ignoring case.
func (a arguments) names(words ...string) bool {
	for _, o := range a.operands {
		if slices.Contains(words, strings.ToLower(o.Text)) {
			return true
		}
	}
	return false
}
