package metrics

import (
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// otherTool is the label value for tools that the configuration does not name.
const otherTool = "other"

// tools are the values of the label tool in one chain (M1). A tool that the
// participants' entries name exactly has its own value. A tool that only globs
// match has the first such glob as its value, and any other tool has otherTool.
type tools struct {
	labels    []toolLabel // exact names, then globs, then otherTool
	exact     map[string]int
	globs     []glob
	firstGlob int // index in labels
}

// newTools collects the tools that the participants name, in their order.
func newTools(participants []*Participant) *tools {
	t := &tools{exact: map[string]int{}}
	for _, p := range participants {
		for _, text := range p.Tools {
			if strings.Contains(text, "*") {
				t.addGlob(text)
			} else if _, known := t.exact[text]; !known {
				t.exact[text] = len(t.labels)
				t.labels = append(t.labels, toolLabel{text: text})
			}
		}
	}
	t.firstGlob = len(t.labels)
	matchesAll := false
	for i, g := range t.globs {
		t.labels = append(t.labels, toolLabel{text: g.text, earlier: t.globs[:i]})
		matchesAll = matchesAll || strings.Trim(g.text, "*") == ""
	}
	if !matchesAll {
		t.labels = append(t.labels, toolLabel{text: otherTool, other: true})
	}
	return t
}

// addGlob adds a glob, unless an earlier one matches everything that it
// matches.
func (t *tools) addGlob(text string) {
	if !containedInAny(t.globs, text) {
		t.globs = append(t.globs, newGlob(text))
	}
}

// find returns the index of the label of a tool with these names: that of the
// first name that the configuration has exactly, or else of the first name that
// a glob matches.
func (t *tools) find(names ...string) int {
	for _, name := range names {
		if i, ok := t.exact[name]; ok {
			return i
		}
	}
	for _, name := range names {
		for i, g := range t.globs {
			if g.match(name) {
				return t.firstGlob + i
			}
		}
	}
	return len(t.labels) - 1 // otherTool; if that is missing, a glob matches everything
}

// toolLabel is one value of the label tool.
type toolLabel struct {
	text    string
	other   bool   // stands for every tool without its own label
	earlier []glob // globs whose tools have their labels before this one
}

// reach says how many of the tools under one label a participant is asked
// about.
type reach uint8

const (
	reachesNone reach = iota
	reachesSome
	reachesAll
)

// reachedBy returns how many of the tools under the label the patterns of a
// participant match.
func (l toolLabel) reachedBy(patterns []string) reach {
	if len(patterns) == 0 {
		return reachesAll
	}
	if l.other {
		return reachesNone
	}
	r := reachesNone
	for _, p := range patterns {
		if contains(p, l.text) {
			return reachesAll
		}
		if meet(newGlob(p), newGlob(l.text)) && !containedInAny(l.earlier, p) {
			r = reachesSome
		}
	}
	return r
}

// glob is a pattern with at least one star. It is split so that matching a
// pattern with one star, the usual case, does not allocate.
type glob struct {
	text           string
	prefix, suffix string // before the first star and after the last
	stars          int
}

func newGlob(text string) glob {
	prefix, _, _ := strings.Cut(text, "*")
	return glob{
		text:   text,
		prefix: prefix,
		suffix: text[strings.LastIndex(text, "*")+1:],
		stars:  strings.Count(text, "*"),
	}
}

// match is equivalent to [chain.MatchTool].
func (g glob) match(name string) bool {
	if len(name) < len(g.prefix)+len(g.suffix) || !strings.HasPrefix(name, g.prefix) || !strings.HasSuffix(name, g.suffix) {
		return false
	}
	return g.stars == 1 || chain.MatchTool(g.text, name)
}

// contains reports whether the pattern first matches every name that second
// matches. Taken as a name, second's stars are ordinary characters that only a
// star of first can match.
func contains(first, second string) bool { return chain.MatchTool(first, second) }

func containedInAny(globs []glob, text string) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return contains(g.text, text) })
}

// meet reports whether some name matches both globs. A star of one glob can
// match everything between the first and last star of the other, so only their
// prefixes and suffixes can conflict. An exact name never meets a glob, because
// it has its own label.
func meet(a, b glob) bool {
	return a.stars > 0 && b.stars > 0 &&
		(strings.HasPrefix(a.prefix, b.prefix) || strings.HasPrefix(b.prefix, a.prefix)) &&
		(strings.HasSuffix(a.suffix, b.suffix) || strings.HasSuffix(b.suffix, a.suffix))
}
