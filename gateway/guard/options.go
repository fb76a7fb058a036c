package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/internal/suggest"
)

// options parses a guard's options and collects every mistake.
type options struct {
	given map[string]json.RawMessage
	errs  []error
}

// checkNames records every unknown option.
func (o *options) checkNames(known []OptionDescription) {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.Name
	}
	for _, name := range slices.Sorted(maps.Keys(o.given)) {
		if !slices.Contains(names, name) {
			o.wrong(name, "is unknown"+didYouMean(name, names)+"; known options: "+strings.Join(names, ", "))
		}
	}
}

func (o *options) wrong(name, why string) {
	o.errs = append(o.errs, fmt.Errorf("option %q %s", name, why))
}

// didYouMean suggests the known word that was probably meant; it returns "" if
// none is similar.
func didYouMean(word string, known []string) string {
	best := suggest.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// err returns all mistakes, on one line.
func (o *options) err() error {
	if len(o.errs) == 0 {
		return nil
	}
	texts := make([]string, len(o.errs))
	for i, err := range o.errs {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(texts, "; "))
}

// flag returns a boolean option, false by default.
func (o *options) flag(name string) bool {
	value, ok := o.given[name]
	if !ok {
		return false
	}
	yes, ok := chain.ReadBool(value)
	if !ok {
		o.wrong(name, fmt.Sprintf("is %.40s: want true or false", value))
	}
	return yes
}

// choice returns an option that is one of words, by default the first.
func (o *options) choice(name string, words ...string) string {
	value, ok := o.given[name]
	if !ok {
		return words[0]
	}
	word, ok := chain.ReadString(value)
	if !ok || !slices.Contains(words, word) {
		o.wrong(name, fmt.Sprintf("is %.40s%s: want one of %s", value, didYouMean(word, words), strings.Join(words, ", ")))
	}
	return word
}

// texts returns an option that is a list of non-empty strings.
func (o *options) texts(name string) []string {
	value, ok := o.given[name]
	if !ok {
		return nil
	}
	var list []*string // pointers tell null from an empty string
	if err := json.Unmarshal(value, &list); err != nil || list == nil {
		o.wrong(name, fmt.Sprintf("is %.40s: want a list of strings", value))
		return nil
	}
	texts := make([]string, 0, len(list))
	for i, text := range list {
		if text == nil || *text == "" {
			o.wrong(name, fmt.Sprintf("has an empty entry at position %d", i))
			continue
		}
		texts = append(texts, *text)
	}
	return texts
}

// words returns an option that is a list of words in known.
func (o *options) words(name string, known []string) []string {
	texts := o.texts(name)
	for _, text := range texts {
		if !slices.Contains(known, text) {
			o.wrong(name, fmt.Sprintf("has %.40q%s: want one of %s", text, didYouMean(text, known), strings.Join(known, ", ")))
		}
	}
	return texts
}
