package functions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookgate/hookgate/test/freeport"
)

const examples = "../../examples/functions/"

// framework starts Google's functions framework with the function hook in the
// main file of dir.
func framework(t testing.TB, dir string, env ...string) *process {
	t.Helper()
	if err := os.Symlink(program.modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	loopback, err := filepath.Abs("testdata/loopback.cjs")
	if err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	return start(t, &process{
		dir: dir, address: address, env: env,
		argv: []string{program.node, "--require", loopback, program.framework, "--target=hook", "--port=" + port(address)},
	})
}

// deno runs a script that calls Deno.serve.
func deno(t testing.TB, script string, env ...string) *process {
	t.Helper()
	address := freeport.Address(t)
	return start(t, &process{
		dir: filepath.Dir(script), address: address,
		env: append(env, "DENO_SERVE_ADDRESS=tcp:"+address, "DENO_NO_UPDATE_CHECK=1"),
		argv: []string{
			program.deno, "run", "--no-config", "--no-lock", "--no-remote", "--no-npm", "--no-prompt",
			"--allow-net=" + address, "--allow-env", filepath.Base(script),
		},
	})
}

// workerd serves the worker worker.mjs in dir, with the secret HOOK_SECRETS.
func workerd(t testing.TB, dir, secrets string) *process {
	t.Helper()
	address := freeport.Address(t)
	config := filepath.Join(dir, "config.capnp")
	write(t, config, `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [
      (name = "worker.mjs", esModule = embed "worker.mjs"),
      (name = "hook.mjs", esModule = embed "hook.mjs"),
    ],
    compatibilityDate = "2026-04-01",
    bindings = [(name = "HOOK_SECRETS", text = %q)],
  ))],
  sockets = [(name = "http", address = %q, http = (), service = "main")],
);
`, secrets, address)
	return start(t, &process{dir: dir, address: address, argv: []string{program.workerd, "serve", config}})
}

// container starts the server of the example for Cloud Run and Knative.
func container(t testing.TB, env ...string) *process {
	t.Helper()
	address := freeport.Address(t)
	return start(t, &process{
		address: address, env: append(env, "HOST=127.0.0.1", "PORT="+port(address)),
		argv: []string{program.container},
	})
}

// customHandler starts the same program in the way the Azure Functions host
// does.
func customHandler(t testing.TB, env ...string) *process {
	t.Helper()
	address := freeport.Address(t)
	return start(t, &process{
		address: address, env: append(env, "HOST=127.0.0.1", "FUNCTIONS_CUSTOMHANDLER_PORT="+port(address)),
		argv: []string{program.container},
	})
}

// invocations is the path of the Invoke API in AWS's emulator.
const invocations = "/2015-03-31/functions/function/invocations"

// lambda starts AWS's runtime interface emulator around a bootstrap. It handles
// one call at a time.
func lambda(t testing.TB, dir string, bootstrap []string, env ...string) *process {
	t.Helper()
	address := freeport.Address(t)
	return start(t, &process{
		dir: dir, address: address, env: env,
		argv: append([]string{
			program.rie, "--runtime-interface-emulator-address", address, "--runtime-api-address", freeport.Address(t), "--log-level", "warn",
		}, bootstrap...),
	})
}

// nodeBootstrap returns the command that runs the handler of index.mjs in its
// working directory.
func nodeBootstrap(t testing.TB) []string {
	t.Helper()
	file, err := filepath.Abs("testdata/bootstrap.mjs")
	if err != nil {
		t.Fatal(err)
	}
	return []string{program.node, file}
}
