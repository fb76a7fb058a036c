package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"unicode/utf8"
)

const (
	// maxFile is the largest accepted file, in bytes.
	maxFile = 4 << 20
	// maxDepth is the maximum nesting of lists and mappings.
	maxDepth = 64
	// maxAliased is the maximum number of values that the aliases of one file
	// may expand to in total, so that a small file cannot become a huge one.
	maxAliased = 10_000
)

// flaw is a syntax error, as opposed to a mistake in the content.
type flaw struct {
	at      place
	message string
}

// parse parses a file to a tree. The root is nil if the file is empty, or if
// nothing could be parsed, which the flaws then explain.
func parse(file string, data []byte) (*node, []flaw) {
	root, flaws := parseAny(file, data)
	if root != nil && root.kind == null {
		return nil, flaws
	}
	return root, flaws
}

func parseAny(file string, data []byte) (*node, []flaw) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := invalidUTF8(data); at >= 0 {
		return nil, []flaw{{placeOf(data, at), "the text is not UTF-8"}}
	}
	blank := bytes.TrimLeft(data, " \t\r\n")
	if len(blank) == 0 {
		return nil, nil
	}
	if blank[0] == '{' || filepath.Ext(file) == ".json" {
		return parseJSON(data)
	}
	return parseYAML(data)
}

// invalidUTF8 returns the offset of the first invalid byte, -1 if there is
// none.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// placeOf returns the line and column of an offset.
func placeOf(data []byte, offset int) place {
	before := data[:min(offset, len(data))]
	line := bytes.Count(before, []byte{'\n'})
	start := bytes.LastIndexByte(before, '\n') + 1
	return place{line: line + 1, column: utf8.RuneCount(before[start:]) + 1}
}

func tooDeep() string { return fmt.Sprintf("is nested more than %d levels deep", maxDepth) }
