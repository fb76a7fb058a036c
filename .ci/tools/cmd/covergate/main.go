// Command covergate checks that the test coverage of packages reaches a
// minimum. It counts the statements in the coverage profile itself, because the
// percentage that the go command prints is rounded: 99.96 % reads as 100.0 %.
//
//	covergate cover.out example.com/module/a=100 example.com/module/b=90
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/cover"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: covergate PROFILE PACKAGE=PERCENT…")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, file string, gates []string) error {
	profiles, err := cover.ParseProfiles(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	counts := count(profiles)
	var errs []error
	for _, g := range gates {
		pkg, text, _ := strings.Cut(g, "=")
		percent, err := strconv.Atoi(text)
		if err != nil || percent < 0 || percent > 100 {
			return fmt.Errorf("%s: want PACKAGE=PERCENT", g)
		}
		errs = append(errs, hold(out, pkg, percent, counts[pkg]))
	}
	return errors.Join(errs...)
}

// tally is the coverage of one package.
type tally struct {
	statements, run int
	missed          []string // places of uncovered statements
}

func count(profiles []*cover.Profile) map[string]*tally {
	counts := map[string]*tally{}
	for _, p := range profiles {
		pkg := path.Dir(p.FileName)
		t := counts[pkg]
		if t == nil {
			t = &tally{}
			counts[pkg] = t
		}
		slices.SortFunc(p.Blocks, func(a, b cover.ProfileBlock) int { return cmp.Compare(a.StartLine, b.StartLine) })
		for _, b := range p.Blocks {
			t.statements += b.NumStmt
			switch {
			case b.Count > 0:
				t.run += b.NumStmt
			case b.NumStmt > 0:
				t.missed = append(t.missed, fmt.Sprintf("%s:%d", p.FileName, b.StartLine))
			}
		}
	}
	return counts
}

// hold compares numbers of statements, never rounded percentages.
func hold(out io.Writer, pkg string, percent int, t *tally) error {
	if t == nil || t.statements == 0 {
		return fmt.Errorf("%s: the profile knows no statement of it", pkg)
	}
	_, err := fmt.Fprintf(out, "%s: %d of %d statements run (%.2f %%), %d %% asked\n",
		pkg, t.run, t.statements, 100*float64(t.run)/float64(t.statements), percent)
	if err != nil {
		return err
	}
	if t.run*100 < percent*t.statements {
		return fmt.Errorf("%s: below %d %%; not run:\n  %s", pkg, percent, strings.Join(t.missed, "\n  "))
	}
	return nil
}
