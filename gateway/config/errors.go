package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file.
type Position struct {
	// File is the path as configured.
	File string
	// Line and Column count from 1. They are 0 if the whole file is meant.
	Line, Column int
	// Path is the path of the value: `hooks[1] "dlp": breaker.open_ms`. It is
	// empty if the whole file is meant.
	Path string
}

// String returns the position in the form with which errors begin.
func (p Position) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, p.Line)
	}
	if p.Path != "" {
		where += ": " + p.Path
	}
	return where
}

// Error is one mistake in a file.
type Error struct {
	Position
	// Message says what is wrong and how to fix it. It contains no value that
	// was resolved from a variable or a file.
	Message string
}

// Error returns the mistake with its position, on one line.
func (e Error) Error() string { return fmt.Sprintf("%s: %s", e.Position, e.Message) }

// Errors are all mistakes of one load: the operator's file first, then the
// chains' by name, within a file by line. The errors of [Load] and [Set.Next]
// contain it; use [errors.As].
type Errors []Error

// Error returns the mistakes, one on each line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Warning is something in a file that is valid but probably not intended.
type Warning struct {
	Position
	Message string
}

// String returns the warning with its position, on one line.
func (w Warning) String() string { return fmt.Sprintf("%s: %s", w.Position, w.Message) }

// byPlace orders findings within one file. The path breaks ties: an alias can
// put several findings at one position.
func byPlace(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
}

func sortErrors(found Errors) {
	slices.SortStableFunc(found, func(a, b Error) int {
		return cmp.Or(byPlace(a.Position, b.Position), cmp.Compare(a.Message, b.Message))
	})
}

func sortWarnings(found []Warning) {
	slices.SortStableFunc(found, func(a, b Warning) int {
		return cmp.Or(byPlace(a.Position, b.Position), cmp.Compare(a.Message, b.Message))
	})
}
