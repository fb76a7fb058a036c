package chain

import "strings"

// pattern is a tool name in which * stands for any run of characters, none
// included. Everything else stands for itself.
type pattern []string

func patterns(texts []string) []pattern {
	all := make([]pattern, len(texts))
	for i, text := range texts {
		all[i] = strings.Split(text, "*")
	}
	return all
}

// MatchTool reports whether a pattern of [Participant].Tools matches a tool's
// name.
func MatchTool(text, name string) bool {
	return pattern(strings.Split(text, "*")).match(name)
}

// matchAny reports whether one of the patterns matches; no patterns match
// everything.
func matchAny(all []pattern, name string) bool {
	for _, p := range all {
		if p.match(name) {
			return true
		}
	}
	return len(all) == 0
}

// match takes the leftmost place for each part, which finds a match wherever
// there is one.
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
