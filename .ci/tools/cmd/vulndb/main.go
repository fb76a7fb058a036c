// Command vulndb creates a vulnerability database that govulncheck can read
// from a file URL.
//
// The reports come from the module golang.org/x/vulndb, which every module
// proxy serves, so that code can be checked where vuln.go.dev is unreachable.
// The format is that of https://go.dev/doc/security/vuln/database.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// module contains the reports.
const module = "golang.org/x/vulndb@latest"

// enough is the minimum number of reports. An incomplete database would find
// nothing, which must not look like a good result.
const enough = 4000

func main() {
	to := flag.String("to", "", "directory to lay the database out in; it must not exist")
	flag.Parse()
	if err := run(context.Background(), *to); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, to string) error {
	from, asOf, err := fetch(ctx)
	if err != nil {
		return err
	}
	n, err := layOut(from, to, asOf, enough)
	if err != nil {
		return err
	}
	fmt.Printf("%d reports as of %s\n", n, asOf.Format(time.DateOnly))
	return nil
}

// fetch downloads the module with the go command, and returns the directory of
// the reports and the time of the module's version.
func fetch(ctx context.Context) (dir string, asOf time.Time, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var got struct{ Dir, Info, Error string }
	if jsonErr := json.Unmarshal(out, &got); err == nil {
		err = jsonErr
	}
	if got.Error != "" {
		err = errors.New(got.Error)
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("downloading %s: %w", module, err)
	}
	text, err := os.ReadFile(got.Info)
	if err != nil {
		return "", time.Time{}, err
	}
	var version struct{ Time time.Time }
	if err := json.Unmarshal(text, &version); err != nil {
		return "", time.Time{}, fmt.Errorf("%s: %w", got.Info, err)
	}
	return filepath.Join(got.Dir, "data", "osv"), version.Time, nil
}

// report holds the fields of a report that the indexes need.
type report struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
	} `json:"affected"`
}

// moduleEntry is a module in index/modules.json. The optional version of the
// latest fix is omitted; the reader then reads the report itself.
type moduleEntry struct {
	Path  string       `json:"path"`
	Vulns []moduleVuln `json:"vulns"`
}

type moduleVuln struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
}

// vulnEntry is a report in index/vulns.json.
type vulnEntry struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
}

// layOut writes the database and returns the number of its reports.
func layOut(from, to string, asOf time.Time, atLeast int) (int, error) {
	files, err := filepath.Glob(filepath.Join(from, "GO-*.json"))
	if err != nil {
		return 0, err
	}
	if len(files) < atLeast {
		return 0, fmt.Errorf("%s holds %d reports, which is fewer than %d", from, len(files), atLeast)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s exists already", to)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return 0, err
	}
	db, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	for _, dir := range []string{"ID", "index"} {
		if err := db.Mkdir(dir, 0o755); err != nil {
			return 0, err
		}
	}
	modules := map[string]*moduleEntry{}
	vulns := make([]vulnEntry, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if r.ID+".json" != filepath.Base(file) {
			return 0, fmt.Errorf("%s: its id is %q", file, r.ID)
		}
		if err := db.WriteFile("ID/"+r.ID+".json", text, 0o644); err != nil {
			return 0, err
		}
		vulns = append(vulns, vulnEntry{ID: r.ID, Modified: r.Modified, Aliases: r.Aliases})
		index(modules, r)
	}
	for file, content := range map[string]any{
		"db.json":      map[string]time.Time{"modified": asOf},
		"modules.json": byPath(modules),
		"vulns.json":   vulns,
	} {
		text, err := json.Marshal(content)
		if err != nil {
			return 0, err
		}
		if err := db.WriteFile("index/"+file, text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(files), nil
}

// index adds r once to each module that it affects.
func index(modules map[string]*moduleEntry, r report) {
	for _, a := range r.Affected {
		path := a.Package.Name
		m := modules[path]
		if m == nil {
			m = &moduleEntry{Path: path}
			modules[path] = m
		}
		if n := len(m.Vulns); n == 0 || m.Vulns[n-1].ID != r.ID {
			m.Vulns = append(m.Vulns, moduleVuln{ID: r.ID, Modified: r.Modified})
		}
	}
}

func byPath(modules map[string]*moduleEntry) []*moduleEntry {
	sorted := make([]*moduleEntry, 0, len(modules))
	for _, m := range modules {
		sorted = append(sorted, m)
	}
	slices.SortFunc(sorted, func(a, b *moduleEntry) int { return strings.Compare(a.Path, b.Path) })
	return sorted
}
