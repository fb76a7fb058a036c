package chain

import "strings"

// pattern is a tool name in which * stands for any run of characters, also an
// empty one. It holds the literal parts between the stars.
type pattern []string

func patterns(texts []string) []pattern {
	all := make([]pattern, len(texts))
	for i, text := range texts {
		all[i] = strings.Split(text, "*")
	}
	return all
}

// MatchTool reports whether text, a pattern as in [Participant].Tools, matches
// a tool's name.
func MatchTool(text, name string) bool {
	return pattern(strings.Split(text, "*")).match(name)
}

// matchAny reports whether any of the patterns matches. An empty list matches
// every name.
func matchAny(all []pattern, name string) bool {
	for _, p := range all {
		if p.match(name) {
			return true
		}
	}
	return len(all) == 0
}

// match places each part as far left as possible. That finds a match if there
// is one.
func (p pattern) match(name string) bool {
	first, last := p[0], p[len(p)-1]
	if len(p) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range p[1 : len(p)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return true
}
