package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// removes objects to an rm that deletes everything in a valuable place, but
// never to deleting a directory inside the workspace.
func removes(c shellCall) string {
	if c.Name != "rm" {
		return ""
	}
	args := argumentsOf(c.Args)
	if args.long("no-preserve-root") {
		return "rm --no-preserve-root is for deleting the root directory alone"
	}
	recursive := args.short("rR") || args.long("recursive")
	for _, w := range args.operands {
		if !recursive && !strings.ContainsAny(w.Text, "*?[") {
			continue // without -r, rm does not delete directories
		}
		if what := c.ruin(w); what != "" {
			return fmt.Sprintf("rm %s deletes %s%s", w.Text, what, whereUnset(w))
		}
	}
	return ""
}

// whereUnset is the suffix of an objection that holds only if a variable is
// unset.
func whereUnset(w shell.Word) string {
	if w.Unset == "" {
		return ""
	}
	return fmt.Sprintf(" where $%s is not set: write ${%s:?}", w.Unset, w.Unset)
}

// changesPermissions objects to chmod and the like on all of a place that the
// machine or a person depends on. The agent may change the workspace itself.
func changesPermissions(c shellCall) string {
	if c.Name != "chmod" && c.Name != "chown" && c.Name != "chgrp" {
		return ""
	}
	args := argumentsOf(c.Args)
	if !args.short("R") && !args.long("recursive") {
		return ""
	}
	for _, w := range args.operands[min(1, len(args.operands)):] {
		if what := c.ruin(w); what != "" && what != workspacePlace {
			return fmt.Sprintf("%s -R %s changes everything in %s%s", c.Name, w.Text, what, whereUnset(w))
		}
	}
	return ""
}

// findDeletes objects to a find that deletes everything below a place. With a
// test that narrows the result it is ordinary cleanup.
func findDeletes(c shellCall) string {
	finds, deletes := c.Command, false
	switch from, to := c.Adds(); {
	case c.Name == "find":
	case from < to && (c.Name == "rm" || c.Name == "unlink" || c.Name == "shred"): // through xargs
		if finds, deletes = c.script.Commands[to-1], true; finds.Name != "find" {
			return ""
		}
	default:
		return ""
	}
	roots, expression := findParts(finds.Args)
	all := deletesAll(expression)
	if !all.deletes && !deletes || all.narrowed {
		return ""
	}
	if len(roots) == 0 {
		roots = []shell.Word{{Text: "."}}
	}
	c.Command = finds // the places are find's own arguments
	for _, w := range roots {
		if what := c.ruin(w); what != "" && (what != workspacePlace || !all.looseFiles) {
			return fmt.Sprintf("find %s deletes everything in %s%s", w.Text, what, whereUnset(w))
		}
	}
	return ""
}

// findParts splits the arguments of find into its starting points and its
// expression.
func findParts(args []shell.Word) (roots, expression []shell.Word) {
	for i, w := range args {
		switch w.Text {
		case "-H", "-L", "-P":
			continue
		}
		if strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" {
			return roots, args[i:]
		}
		roots = append(roots, w)
	}
	return roots, nil
}

// expressionOfFind summarizes an expression of find.
type expressionOfFind struct {
	deletes bool
	// narrowed is set if a test narrows the result.
	narrowed bool
	// looseFiles is set if it finds only files and does not descend into
	// directories.
	looseFiles bool
}

func deletesAll(expression []shell.Word) expressionOfFind {
	broad := []string{
		"-type", "-xtype", "-maxdepth", "-mindepth", "-depth", "-d", "-mount", "-xdev", "-x", "-noleaf", "-follow", "-true",
		"-print", "-print0", "-ls", "-o", "-or", "-a", "-and", "-not", "-ignore_readdir_race", "-warn", "-nowarn",
	}
	var e expressionOfFind
	var files, flat bool
	for i := 0; i < len(expression); i++ {
		value := ""
		if i+1 < len(expression) {
			value = expression[i+1].Text
		}
		switch text := expression[i].Text; {
		case text == "-delete":
			e.deletes = true
		case text == "-type":
			files = value == "f"
		case text == "-maxdepth":
			flat = value == "0" || value == "1"
		case text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir":
			for i++; i < len(expression) && expression[i].Text != ";" && expression[i].Text != "+"; i++ {
				switch expression[i].Text {
				case "rm", "/bin/rm", "/usr/bin/rm", "unlink", "shred":
					e.deletes = true
				}
			}
		case strings.HasPrefix(text, "-") && !slices.Contains(broad, text):
			e.narrowed = true
		}
	}
	e.looseFiles = files && flat
	return e
}
