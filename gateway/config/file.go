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

// File is one file: the operator's, or a chain's.
type File struct {
	// Path is the file as it was configured.
	Path string
	// Budget is the longest a decision may take; 0 where the file does not
	// say. [Set.Chain] fills it in.
	Budget time.Duration
	// OnUncovered is the answer where no hook applies; nil where the file does
	// not say. [Set.Chain] fills it in.
	OnUncovered *chain.Coverage
	// Audit is what the operator's file says of the audit trail.
	Audit Audit
	// Hooks are the entries in their order.
	Hooks []*Hook

	// budgetAt is where the file says its budget, its first line where it
	// does not.
	budgetAt place
	auditAt  place
}

// AuditMistake is an error about what the file says of the audit trail, for what
// only the gateway knows.
func (f *File) AuditMistake(message string) Error {
	return Error{Position{File: f.Path, Line: f.auditAt.line, Column: f.auditAt.column, Path: "audit"}, message}
}

// parseFile reads a whole file. What is wrong with it is in the reading's
// errors.
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

// root reads a whole file as a tree. It is nil where there is none, which has
// then been said: as nothing where the file is empty.
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

// schema makes sure that the file is written in the one form that is known.
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

// homeOf is where the commands of a file start: in its directory. A workspace
// keeps its hooks in .basis/hooks.json and means itself.
func homeOf(file string) string {
	dir := filepath.Dir(file)
	if isBasis(file) && filepath.Base(dir) == ".basis" {
		return filepath.Dir(dir)
	}
	return dir
}

// isBasis reports whether a file has the name under which basis keeps its hooks.
// What may be left out there may be left out here: hooks altogether, and with
// null what an entry need not say. JSON that was cut short is no JSON, so
// nothing is lost by it.
func isBasis(file string) bool { return filepath.Base(file) == "hooks.json" }
