package metrics

import (
	"slices"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// otherTool labels the tools that configuration does not name.
const otherTool = "other"

// tools are the values of the label tool in one chain (M1). The exact names in
// the entries of its participants stand for themselves, a tool that only globs
// there match stands under the first of them, and any other under otherTool.
type tools struct {
	labels    []toolLabel // exact names, then globs, then otherTool
	exact     map[string]int
	globs     []glob
	firstGlob int // in labels
}

// newTools collects what the participants name, in their order.
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

// addGlob adds a glob, unless an earlier one matches whatever it matches.
func (t *tools) addGlob(text string) {
	if !containedInAny(t.globs, text) {
		t.globs = append(t.globs, newGlob(text))
	}
}

// find returns the index of the label that stands for a tool, by the first of
// its names that configuration has, exactly or in a glob.
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
	return len(t.labels) - 1 // otherTool: where that is missing, a glob matches everything
}

// toolLabel is one value of the label tool.
type toolLabel struct {
	text    string
	other   bool   // stands for every tool without a label of its own
	earlier []glob // have their tools under their own labels
}

// reach is how many of the tools under one label a participant is asked about.
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

// glob is a pattern of tool names with a star, split so that matching one star,
// as nearly every glob has, allocates nothing.
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

// match is [chain.MatchTool].
func (g glob) match(name string) bool {
	if len(name) < len(g.prefix)+len(g.suffix) || !strings.HasPrefix(name, g.prefix) || !strings.HasSuffix(name, g.suffix) {
		return false
	}
	return g.stars == 1 || chain.MatchTool(g.text, name)
}

// contains reports whether the first pattern matches every name that the
// second matches. The stars of the second stand in its text for themselves, and
// only a star of the first can take them.
func contains(first, second string) bool { return chain.MatchTool(first, second) }

func containedInAny(globs []glob, text string) bool {
	return slices.ContainsFunc(globs, func(g glob) bool { return contains(g.text, text) })
}

// meet reports whether some name is matched by both globs. What stands between
// the first star of one and its last fits into a star of the other, so only the
// ends can be at odds. An exact name meets no glob: it has its own label.
func meet(a, b glob) bool {
	return a.stars > 0 && b.stars > 0 &&
		(strings.HasPrefix(a.prefix, b.prefix) || strings.HasPrefix(b.prefix, a.prefix)) &&
		(strings.HasSuffix(a.suffix, b.suffix) || strings.HasSuffix(b.suffix, a.suffix))
}
