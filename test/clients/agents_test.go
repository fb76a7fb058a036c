package clients_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// agent is a real client and how to run it.
type agent struct {
	// name is its name in gateway init.
	name   string
	speaks dialect
	// settings maps files in the home directory to their content, with a
	// placeholder for the model's address.
	settings map[string]string
	// argv runs it with one prompt; a relative program is in node_modules.
	argv []string
	env  []string
	// runs is set if its hook is a program, modifies if a hook can change the
	// input of a call, and replaces if a hook can change the result that the
	// model sees.
	runs, modifies, replaces bool
}

func agents() []agent {
	return []agent{
		{
			name: "claude-code", speaks: anthropicMessages(), modifies: true, replaces: true,
			argv: []string{"@anthropic-ai/claude-code-linux-x64/claude", "--print", "--allowedTools", "Bash", "--", "do it"},
			env: []string{
				"ANTHROPIC_BASE_URL=$MODEL", "ANTHROPIC_API_KEY=dummy", "ANTHROPIC_MODEL=claude-sonnet-4-5",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
			},
		},
		{
			name: "copilot", speaks: openAIChat("bash"), runs: true, modifies: true, replaces: true,
			argv: []string{"@github/copilot-linux-x64/copilot", "--prompt", "do it", "--allow-all-tools", "--no-auto-update"},
			env:  []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=$MODEL/v1", "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=stub-model"},
		},
		{
			name: "codex", speaks: openAIResponses(), runs: true, modifies: true, replaces: true,
			settings: map[string]string{".codex/config.toml": `
model = "stub-model"
model_provider = "stub"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "$MODEL/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0
`},
			argv: []string{
				".bin/codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "do it",
			},
			env: []string{"STUB_KEY=dummy"},
		},
		{
			name: "gemini-cli", speaks: geminiAPI(), runs: true, modifies: true, replaces: true,
			settings: map[string]string{".gemini/settings.json": `{
  // No telemetry, no updates.
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}
}
`},
			argv: []string{".bin/gemini", "--yolo", "-m", "gemini-2.5-flash", "-p", "do it"},
			env:  []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=$MODEL"},
		},
		{
			name: "qwen-code", speaks: openAIChat("run_shell_command"), runs: true,
			settings: map[string]string{".qwen/settings.json": `{
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "general": {"disableAutoUpdate": true},
  "security": {"auth": {"selectedType": "openai"}}
}
`},
			argv: []string{".bin/qwen", "--yolo", "-p", "do it"},
			env:  []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=$MODEL/v1", "OPENAI_MODEL=stub-model"},
		},
		{
			name: "opencode", speaks: openAIChat("bash"), modifies: true, replaces: true,
			settings: map[string]string{
				// Before it starts, opencode installs the types for plugins,
				// waiting for a network that does not exist here, unless they
				// seem to be installed.
				".config/opencode/package.json":       `{"dependencies": {"@opencode-ai/plugin": "1.18.33"}}`,
				".config/opencode/package-lock.json":  `{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}}`,
				".config/opencode/node_modules/.keep": "",
				".config/opencode/opencode.json": `{
  "autoupdate": false, "share": "disabled", "model": "stub/stub-model", "small_model": "stub/stub-model", "permission": {"bash": "allow"},
  "provider": {"stub": {
    "npm": "@ai-sdk/openai-compatible", "name": "stub", "options": {"baseURL": "$MODEL/v1", "apiKey": "dummy"},
    "models": {"stub-model": {"name": "stub", "tool_call": true, "limit": {"context": 100000, "output": 4000}}}
  }}
}
`,
			},
			argv: []string{"opencode-linux-x64/bin/opencode", "run", "do it"},
			env:  []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
		},
	}
}

// placed writes an agent's settings to a new home directory.
func (a *agent) placed(t *testing.T, home string, m *model) {
	t.Helper()
	for name, text := range a.settings {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(m.expand(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// expand inserts the model's address into a text.
func (m *model) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if name == "MODEL" {
			return m.address
		}
		panic(fmt.Sprintf("the settings of an agent name $%s", name))
	})
}
