package guard

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// pathPattern is a protected path. It covers itself and everything below it.
type pathPattern struct {
	text     string
	elements []element
	home     bool // relative to a home directory
	rooted   bool // relative to the root directory; otherwise it matches anywhere
}

// reach is the extent of a change to a place.
type reach uint8

const (
	// exactly: the place or something in it is changed.
	exactly reach = iota
	// whole: the place is removed or moved with everything in it.
	whole
)

func parsePathPattern(text string) (pathPattern, error) {
	p := pathPattern{text: text}
	rest := strings.TrimSuffix(text, "/")
	if rest == "" || rest == "~" {
		return p, errors.New("covers everything: name paths within it")
	}
	if rest, p.home = strings.CutPrefix(rest, "~/"); !p.home {
		rest, p.rooted = strings.CutPrefix(rest, "/")
	}
	for name := range strings.SplitSeq(strings.ToLower(rest), "/") {
		if name == "" || name == "." || name == ".." {
			return p, fmt.Errorf("has an element %q", name)
		}
		if _, err := path.Match(name, ""); err != nil {
			return p, errors.New("has an unclosed bracket")
		}
		p.elements = append(p.elements, elementOf(name))
	}
	return p, nil
}

// element is one name in a path, in lower case.
type element struct {
	name string
	wild bool // it contains wildcards
	bare bool // it consists of wildcards and dots alone
}

func elementOf(name string) element {
	wild := strings.ContainsAny(name, `*?[\`)
	return element{name: name, wild: wild, bare: wild && bareGlob(name)}
}

// target is a place that would be changed, split once for all patterns.
type target struct {
	elements []element
	rooted   bool
}

func (t *target) set(place string) {
	t.rooted = path.IsAbs(place)
	t.elements = t.elements[:0]
	for name := range strings.SplitSeq(strings.Trim(strings.ToLower(place), "/"), "/") {
		t.elements = append(t.elements, elementOf(name))
	}
}

// fromRoot returns the elements from the root directory on. Enough ".."
// elements lead from an unknown place to the root directory as well.
func (t *target) fromRoot() ([]element, bool) {
	if t.rooted || t.elements[0].name != ".." {
		return t.elements, t.rooted
	}
	for i, e := range t.elements {
		if e.name != ".." {
			return t.elements[i:], true
		}
	}
	return nil, true
}

// pathPatterns are all protected paths, in order.
type pathPatterns struct {
	all []pathPattern
	// anywhere indexes the patterns that match anywhere by their first name;
	// wild are those whose first name has wildcards.
	anywhere map[string][]int
	wild     []int
}

func (ps *pathPatterns) add(p pathPattern) {
	n := len(ps.all)
	ps.all = append(ps.all, p)
	switch {
	case p.home || p.rooted || len(p.elements) == 0:
	case p.elements[0].wild:
		ps.wild = append(ps.wild, n)
	default:
		if ps.anywhere == nil {
			ps.anywhere = map[string][]int{}
		}
		ps.anywhere[p.elements[0].name] = append(ps.anywhere[p.elements[0].name], n)
	}
}

// first returns the first pattern that a change to a place affects, nil if
// none. Its work grows with the number of elements: only an element with
// wildcards is compared with every pattern.
func (ps *pathPatterns) first(t *target, how reach, m *work.Meter) *pathPattern {
	least := len(ps.all)
	fromRoot, rooted := t.fromRoot()
	fromHome, below := belowHome(t)
	for i := range ps.all {
		p := &ps.all[i]
		if p.rooted && rooted && p.begins(fromRoot, how) || p.home && below && p.begins(fromHome, how) {
			least = i
			break
		}
	}
	for at, e := range t.elements {
		if e.bare {
			continue
		}
		candidates := ps.anywhere[e.name]
		cost := 1 + len(ps.wild)
		if e.wild {
			cost += 4 * len(ps.all) // matching costs more than a lookup
		}
		if !m.Spend(cost) {
			return nil
		}
		least = ps.least(least, candidates, t.elements[at:], how)
		least = ps.least(least, ps.wild, t.elements[at:], how)
		if e.wild {
			for _, others := range ps.anywhere {
				least = ps.least(least, others, t.elements[at:], how)
			}
		}
	}
	if least == len(ps.all) {
		return nil
	}
	return &ps.all[least]
}

// least returns the smallest candidate that matches at the start of elements,
// if it is less than found; otherwise found.
func (ps *pathPatterns) least(found int, candidates []int, elements []element, how reach) int {
	for _, i := range candidates {
		if i < found && ps.all[i].begins(elements, how) {
			return i
		}
	}
	return found
}

// begins reports whether elements lead to the pattern or below it or, if a
// whole place is changed, whether the pattern is below elements.
func (p pathPattern) begins(elements []element, how reach) bool {
	n := min(len(elements), len(p.elements))
	if n == 0 || n < len(p.elements) && how != whole {
		return false
	}
	for i := range n {
		if !nameMatches(p.elements[i], elements[i]) {
			return false
		}
	}
	return true
}

// nameMatches compares two names, either of which may contain wildcards. A
// shell's wildcards do not match a leading dot.
func nameMatches(pattern, name element) bool {
	if !pattern.wild && !name.wild {
		return pattern.name == name.name
	}
	if ok, err := path.Match(pattern.name, name.name); ok && err == nil {
		return true
	}
	if strings.HasPrefix(pattern.name, ".") && strings.IndexAny(name.name, "*?") == 0 {
		return false
	}
	ok, err := path.Match(name.name, pattern.name)
	return ok && err == nil
}

// belowHome returns the part of a place that is below a home directory.
func belowHome(t *target) ([]element, bool) {
	switch first := t.elements[0].name; {
	case !t.rooted:
	case first == "root":
		return t.elements[1:], true
	case len(t.elements) > 1 && (first == "home" || first == "users"):
		return t.elements[2:], true
	}
	return nil, false
}
