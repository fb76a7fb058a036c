package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// removes objects to rm where everything in a place goes that is worth more
// than a call: never to a directory inside of the workspace.
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
			continue // rm leaves directories alone
		}
		if what := c.ruin(w); what != "" {
			return fmt.Sprintf("rm %s deletes %s%s", w.Text, what, whereUnset(w))
		}
	}
	return ""
}

// whereUnset ends an objection that holds only where a variable is not set.
func whereUnset(w shell.Word) string {
	if w.Unset == "" {
		return ""
	}
	return fmt.Sprintf(" where $%s is not set: write ${%s:?}", w.Unset, w.Unset)
}

// changesPermissions objects to chmod and its like on all of a place that the
// machine or a person depends on. The workspace itself is the agent's to
// change.
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

// findDeletes objects to find where it deletes everything below a place: a test
// that narrows what it finds makes it ordinary tidying.
func findDeletes(c shellCall) string {
	if c.Name != "find" {
		return ""
	}
	roots, expression := findParts(c.Args)
	if !deletesAll(expression) {
		return ""
	}
	if len(roots) == 0 {
		roots = []shell.Word{{Text: "."}}
	}
	for _, w := range roots {
		if what := c.ruin(w); what != "" {
			return fmt.Sprintf("find %s deletes everything in %s%s", w.Text, what, whereUnset(w))
		}
	}
	return ""
}

// findParts splits the words of find into where it looks and what it does.
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

// deletesAll reports whether an expression of find deletes and has no test that
// narrows what.
func deletesAll(expression []shell.Word) bool {
	broad := []string{
		"-type", "-xtype", "-maxdepth", "-mindepth", "-depth", "-d", "-mount", "-xdev", "-x", "-noleaf", "-follow", "-true",
		"-print", "-print0", "-ls", "-o", "-or", "-a", "-and", "-not", "-ignore_readdir_race", "-warn", "-nowarn",
	}
	deletes := false
	for i := 0; i < len(expression); i++ {
		switch text := expression[i].Text; {
		case text == "-delete":
			deletes = true
		case text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir":
			for i++; i < len(expression) && expression[i].Text != ";" && expression[i].Text != "+"; i++ {
				switch expression[i].Text {
				case "rm", "/bin/rm", "/usr/bin/rm", "unlink", "shred":
					deletes = true
				}
			}
		case strings.HasPrefix(text, "-") && !slices.Contains(broad, text):
			return false
		}
	}
	return deletes
}
