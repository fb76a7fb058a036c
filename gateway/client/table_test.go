package client

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/chain"
)

func TestEveryClientHasFixturesAndItsRowsInTheDocumentation(t *testing.T) {
	docs, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range All() {
		if known[c.Name()] {
			t.Errorf("two clients are called %s", c.Name())
		}
		known[c.Name()] = true
		if rows := strings.Count(string(docs), "\n| `"+c.Name()+"` |"); rows != 2 {
			t.Errorf("%s has %d rows in docs/clients.md, want one in each of two tables", c.Name(), rows)
		}
		if files, err := filepath.Glob(filepath.Join("testdata", c.Name(), "*.json")); err != nil || len(files) == 0 {
			t.Errorf("%s has no fixtures (%v)", c.Name(), err)
		}
		found, ok := Find(c.Name())
		if !ok || found.Name() != c.Name() || c.Title() == "" {
			t.Errorf("%s is not found by its name, or has no title", c.Name())
		}
	}
	folders, err := filepath.Glob("testdata/*/")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !known[filepath.Base(folder)] {
			t.Errorf("%s is of no client", folder)
		}
	}
	if _, ok := Find("nobody"); ok {
		t.Error("a client that nobody knows was found")
	}
}

func TestEveryFixtureHasAGoldenFileAndEveryGoldenFileAFixture(t *testing.T) {
	for _, pair := range [][2]string{{".json", ".golden"}, {".golden", ".json"}} {
		files, err := filepath.Glob("testdata/*/*" + pair[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if _, err := os.Stat(strings.TrimSuffix(file, pair[0]) + pair[1]); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestEveryEventThatIsAboutACallHasAFixture(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range fixtures(t) {
		call, err := f.client.Read(f.event, f.body)
		if err != nil {
			t.Fatalf("%s: %v", f.file, err)
		}
		seen[f.client.Name()+" "+call.event.name] = true
	}
	for _, c := range All() {
		for _, name := range c.Events() {
			if !seen[c.Name()+" "+name] {
				t.Errorf("%s has no fixture of %s", c.Name(), name)
			}
		}
	}
}

// answered returns a JSON value for each placeholder of a template.
func answered() values {
	return values{
		reason: "why", input: json.RawMessage(`{}`), output: json.RawMessage(`"result"`), echo: json.RawMessage(`{}`), id: json.RawMessage(`1`),
	}
}

func TestD1_EveryTableIsWhole(t *testing.T) {
	for _, c := range All() {
		templates := map[string]template{"refusal": c.refusal}
		names := map[string]bool{}
		for i := range c.events {
			e := &c.events[i]
			if names[e.name] {
				t.Errorf("%s has two events %s", c.Name(), e.name)
			}
			names[e.name] = true
			for what, tpl := range map[string]template{
				"allow": e.allow, "explicit allow": e.explicitAllow, "deny": e.deny, "modify": e.modify,
				"explicit modify": e.explicitModify, "replace": e.replace, "stop": e.stop,
			} {
				templates[e.name+": "+what] = tpl
			}
			switch {
			case e.allow == "" || e.at != 0 && (e.deny == "" || e.in == nil):
				t.Errorf("%s: event %s has no allow, no deny or no fields", c.Name(), e.name)
			case e.at == 0 && (e.deny != "" || e.modify != "" || e.replace != ""):
				t.Errorf("%s: event %s is about no call and says something of one", c.Name(), e.name)
			case e.at == chain.PreToolUse && (e.replace != "" || e.stop != "" || e.shows || e.failed):
				t.Errorf("%s: event %s is before the call and says something of a result", c.Name(), e.name)
			case e.at == chain.PostToolUse && (e.modify != "" || e.explicitModify != "" || e.merges || e.in.output == ""):
				t.Errorf("%s: event %s is after the call and says something of an input, or has no result", c.Name(), e.name)
			case e.shape != nil && strings.Contains(string(e.deny), "$output") && e.stop == "" && !alwaysShapes(e):
				t.Errorf("%s: event %s has no deny where a result cannot be shaped", c.Name(), e.name)
			}
			if e.at != 0 && (e.deny == e.allow || !strings.Contains(string(e.deny), "$reason") && !strings.Contains(string(e.deny), "$output")) {
				t.Errorf("%s: the deny of %s is an allow or says no reason: %s", c.Name(), e.name, e.deny)
			}
		}
		for what, tpl := range templates {
			if tpl == "" {
				continue
			}
			body := tpl.fill(answered())
			if _, err := readObject(body); err != nil || strings.Contains(string(body), "$") {
				t.Errorf("%s: %s is %s: %v", c.Name(), what, body, err)
			}
		}
	}
}

// alwaysShapes reports whether the event can convert any text to a result.
func alwaysShapes(e *event) bool {
	_, ok := e.shape(result{tool: "x", was: []byte(`{}`), now: []byte(`"text"`)})
	return ok
}

func TestEveryAliasIsOneOfTheShared(t *testing.T) {
	shared := map[string]bool{shell: true, readFile: true, writeFile: true, editFile: true, webFetch: true}
	for _, c := range All() {
		for name, alias := range c.tools {
			if !shared[alias] {
				t.Errorf("%s: %s has the alias %q", c.Name(), name, alias)
			}
		}
	}
	for name, tc := range map[string]struct{ client, tool, server, mcpTool, want string }{
		"a known tool":           {"claude-code", "Bash", "", "", "shell"},
		"the shared name itself": {"gemini-cli", "read_file", "", "", ""},
		"an unknown tool":        {"claude-code", "Task", "", "", ""},
		"the shared MCP name":    {"claude-code", "mcp__git__push", "", "", ""},
		"an MCP tool of Kiro":    {"kiro", "@git/push", "", "", "mcp__git__push"},
		"of AgentCore":           {"agentcore", "git___push", "", "", "mcp__git__push"},
		"of Gemini CLI":          {"gemini-cli", "mcp_git_push", "git", "push", "mcp__git__push"},
		"of Cursor":              {"cursor", "MCP:push", "", "", "mcp____push"},
		"of goose":               {"goose", "git__push", "", "", "mcp__git__push"},
		"a shell of goose":       {"goose", "developer__shell", "", "", "shell"},
		"an MCP tool so named":   {"cursor", "Shell", "git", "Shell", "mcp__git__Shell"},
	} {
		c, _ := Find(tc.client)
		if got := c.alias(tc.tool, tc.server, tc.mcpTool); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
