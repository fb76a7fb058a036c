// Command dashboards writes the Grafana dashboards to a directory.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hookgate/hookgate/deploy/dashboards"
)

func main() {
	to := flag.String("to", "grafana", "the directory to write to")
	flag.Parse()
	if err := write(*to); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	files, err := dashboards.Files()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
