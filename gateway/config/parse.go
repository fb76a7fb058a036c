package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"unicode/utf8"
)

const (
	// maxFile is the largest file that is read, in bytes.
	maxFile = 4 << 20
	// maxDepth is how deep lists and mappings may stand in each other.
	maxDepth = 64
	// maxAliased is how many values the aliases of one file may stand for
	// together, so that a small file cannot become a large one.
	maxAliased = 10_000
)

// flaw is a mistake in the language of a file rather than in what it says.
type flaw struct {
	at      place
	message string
}

// parse reads a file as a tree. The root is nil where the file holds nothing,
// or nothing that could be read, which the flaws then say.
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

// invalidUTF8 returns where data stops being UTF-8, -1 where it does not.
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

// placeOf is the line and column of a byte.
func placeOf(data []byte, offset int) place {
	before := data[:min(offset, len(data))]
	line := bytes.Count(before, []byte{'\n'})
	start := bytes.LastIndexByte(before, '\n') + 1
	return place{line: line + 1, column: utf8.RuneCount(before[start:]) + 1}
}

func tooDeep() string { return fmt.Sprintf("is nested more than %d levels deep", maxDepth) }
