package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// parseYAML parses one document. It refuses what JSON cannot express, so that
// both load as the same: tags, merge keys and keys that are not strings.
// Anchors and aliases are resolved, within bounds.
func parseYAML(data []byte) (*node, []flaw) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, []flaw{yamlFlaw(data, err)}
	}
	var document yaml.Node
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, []flaw{yamlFlaw(data, err)}
	}
	y := yamlReader{following: map[*yaml.Node]bool{}}
	root := y.convert(document.Content[0], 0)
	var second yaml.Node
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		y.flaws = append(y.flaws, yamlFlaw(data, err))
	default:
		y.flag(&second, "a second document begins here: a file must contain exactly one")
	}
	return root, y.flaws
}

// yamlFlaw converts an error of the library to our wording and position.
func yamlFlaw(data []byte, err error) flaw {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return flaw{place{1, 1}, fmt.Sprintf("not YAML: %v", err)}
	}
	at := place{e.Mark.Line, e.Mark.Column}
	if at.line == 0 {
		at = placeOf(data, e.Mark.Index)
	}
	// The library ends every text with a line of its own.
	if last := placeOf(data, len(data)); at.line > last.line {
		at = last
	}
	message := "not YAML: " + e.Message
	if e.ContextMsg != "" {
		message += ", " + e.ContextMsg
		if e.ContextMark.Line > 0 {
			message += fmt.Sprintf(" that begins in line %d", e.ContextMark.Line)
		}
	}
	if lineHasTab(data, at.line) {
		message += "; YAML is indented with spaces, not with tabs"
	}
	return flaw{at, message}
}

// lineHasTab reports whether a line's indentation contains a tab.
func lineHasTab(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte{'\n'}, line+1)
	if len(lines) < line {
		return false
	}
	text := lines[line-1]
	indentation := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.IndexByte(indentation, '\t') >= 0
}

// yamlReader converts the library's tree to ours.
type yamlReader struct {
	flaws []flaw
	// following are the anchored values that are being expanded, to detect
	// cycles.
	following map[*yaml.Node]bool
	aliased   int
}

func (y *yamlReader) flag(n *yaml.Node, format string, args ...any) {
	y.flaws = append(y.flaws, flaw{place{n.Line, n.Column}, fmt.Sprintf(format, args...)})
}

func (y *yamlReader) convert(n *yaml.Node, depth int) *node {
	at := place{n.Line, n.Column}
	if depth > maxDepth {
		y.flag(n, "%s", tooDeep())
		return &node{at: at}
	}
	if len(y.following) > 0 {
		if y.aliased++; y.aliased > maxAliased {
			return &node{at: at} // reported at the alias
		}
	}
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
		y.flag(n, "the tag %.40q is not supported: leave it out, and quote strings", n.Tag)
		return &node{at: at}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return y.follow(n, depth)
	case yaml.SequenceNode:
		all := &node{kind: list, at: at}
		for _, item := range n.Content {
			all.items = append(all.items, y.convert(item, depth+1))
		}
		return all
	case yaml.MappingNode:
		return y.mapping(n, depth)
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.DocumentNode, yaml.StreamNode:
	}
	y.flag(n, "cannot be read")
	return &node{at: at}
}

// follow converts the value of an alias. It gets the place of the alias, so
// that a mistake is reported where it takes effect.
func (y *yamlReader) follow(n *yaml.Node, depth int) *node {
	if y.following[n.Alias] {
		y.flag(n, "the alias %.40q is part of the value that it refers to", n.Value)
		return &node{at: place{n.Line, n.Column}}
	}
	within := y.aliased <= maxAliased
	y.following[n.Alias] = true
	target := y.convert(n.Alias, depth)
	delete(y.following, n.Alias)
	if within && y.aliased > maxAliased && len(y.following) == 0 {
		y.flag(n, "the aliases up to this one expand to more than %d values", maxAliased)
	}
	target.at = place{n.Line, n.Column}
	return target
}

func (y *yamlReader) mapping(n *yaml.Node, depth int) *node {
	all := &node{kind: mapping, at: place{n.Line, n.Column}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			y.flag(n.Content[i], "the merge key << is not supported: write the keys out")
			continue
		}
		key, value := y.convert(n.Content[i], depth+1), y.convert(n.Content[i+1], depth+1)
		switch key.kind {
		case text:
			all.members = append(all.members, member{key.text, key.at, value})
		case broken:
		case null, boolean, number, list, mapping:
			y.flag(n.Content[i], "a key must be a string, not %s: quote it", describe(key))
		}
	}
	return all
}

// scalar reads a scalar by the rules of YAML 1.2: yes, no, on and off are
// strings, and so are dates. A number in JSON's grammar keeps its text.
func scalar(n *yaml.Node) *node {
	s := &node{kind: text, at: place{n.Line, n.Column}, text: n.Value}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return s
	}
	s.bare = true
	switch {
	case isNumber(n.Value):
		s.kind = number
	case n.Tag == "!!int" || n.Tag == "!!float":
		s.kind = number // a number in a notation that JSON lacks
	case n.Tag == "!!null":
		s.kind = null
	case n.Tag == "!!bool":
		s.kind, s.text = boolean, "false"
		if n.Value == "true" || n.Value == "True" || n.Value == "TRUE" {
			s.text = "true"
		}
	}
	return s
}
