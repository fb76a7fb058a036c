package config

import (
	"path/filepath"
	"strconv"
	"time"

	"github.com/hookgate/hookgate/chain"
)

const (
	schema          = 1
	defaultBudget   = 20 * time.Second
	maxBudgetMs     = 60 * 60 * 1000
	noConfiguration = "the file is empty: for a chain without hooks, write schema: 1 and hooks: []"
)

// File is one hooks file: the operator's or a chain's.
type File struct {
	// Path is the path as configured.
	Path string
	// Budget is the maximum duration of a decision; 0 if the file does not set
	// it, in which case [Set.Chain] supplies the value.
	Budget time.Duration
	// OnUncovered is the answer if no hook applies; nil if the file does not set
	// it, in which case [Set.Chain] supplies the value.
	OnUncovered *chain.Coverage
	// Audit is the audit section, which only the operator's file can have.
	Audit Audit
	// Hooks are the entries, in order.
	Hooks []*Hook

	// budgetAt is the place of the budget, or of the first line if the file sets
	// none.
	budgetAt place
	auditAt  place
}

// AuditMistake returns an error at the audit section, for mistakes that only the
// gateway can detect.
func (f *File) AuditMistake(message string) Error {
	return Error{Position{File: f.Path, Line: f.auditAt.line, Column: f.auditAt.column, Path: "audit"}, message}
}

// parseFile parses a whole file. Mistakes are added to the reading's errors.
func (r *reading) parseFile(data []byte) *File {
	f := &File{Path: r.file, budgetAt: place{line: 1, column: 1}}
	root := r.root(data, noConfiguration)
	if root == nil || r.isOther(value{node: root}, forHooks) {
		return f
	}
	known := []string{"schema", "budget_ms", "on_uncovered", "hooks"}
	if r.operators {
		known = append(known, "audit")
	}
	o, ok := r.object(value{node: root}, known...)
	if !ok {
		return f
	}
	r.schema(value{node: root}, o)
	if v, ok := o["budget_ms"]; ok {
		f.budgetAt = v.keyAt
		if ms, ok := r.whole(v, maxBudgetMs); ok {
			f.Budget = time.Duration(ms) * time.Millisecond
		}
	}
	if v, ok := o["on_uncovered"]; ok {
		f.OnUncovered = r.coverage(v)
	}
	if v, ok := o["audit"]; ok {
		f.Audit = r.audit(v)
		f.auditAt = v.at
	}
	f.Hooks = r.hooks(value{node: root}, o)
	return f
}

// root parses a file to a tree. It returns nil if there is none, after reporting
// why; for an empty file the message is nothing.
func (r *reading) root(data []byte, nothing string) *node {
	root, flaws := parse(r.file, data)
	for _, flaw := range flaws {
		r.failAt(flaw.at, way{}, "%s", flaw.message)
	}
	if root == nil && len(flaws) == 0 {
		r.failAt(place{line: 1, column: 1}, way{}, "%s", nothing)
	}
	return root
}

// schema checks that the file declares the known schema version.
func (r *reading) schema(root value, o object) {
	v, ok := o["schema"]
	switch {
	case !ok:
		r.fail(root, "schema is missing: write schema: %d", schema)
	case v.kind != number:
		r.want(v, "the number "+strconv.Itoa(schema))
	case v.text != strconv.Itoa(schema):
		r.fail(v, "%.40s is not supported: this gateway reads schema %d", v.text, schema)
	}
}

func (r *reading) coverage(v value) *chain.Coverage {
	word, ok := r.word(v, chain.AllowUncovered.String(), chain.DenyUncovered.String())
	if !ok {
		return nil
	}
	c := chain.DenyUncovered
	if word == chain.AllowUncovered.String() {
		c = chain.AllowUncovered
	}
	return &c
}

func (r *reading) hooks(root value, o object) []*Hook {
	v, ok := o["hooks"]
	if !ok && isBasis(r.file) {
		return nil
	}
	if !ok {
		r.fail(root, "hooks is missing: for a chain without hooks, write hooks: []")
		return nil
	}
	items, ok := r.list(v, "a list of hooks")
	if !ok {
		return nil
	}
	var hooks []*Hook
	for _, item := range items {
		if h := r.hook(item); h != nil {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// homeOf returns the directory to which a file's commands are relative: its own.
// For .basis/hooks.json of a workspace it is the workspace.
func homeOf(file string) string {
	dir := filepath.Dir(file)
	if isBasis(file) && filepath.Base(dir) == ".basis" {
		return filepath.Dir(dir)
	}
	return dir
}

// isBasis reports whether a file has the name of a basis hooks file. There, as
// in basis, hooks may be omitted, and optional values may be null. This cannot
// hide a truncated file, because truncated JSON does not parse.
func isBasis(file string) bool { return filepath.Base(file) == "hooks.json" }
