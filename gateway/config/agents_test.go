package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookgate/hookgate/transport/agentproc"
)

// withAgents returns options for a directory with an operator's file, chains
// and agents.
func withAgents(dir string) Options {
	return Options{
		ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains"), AgentsDir: filepath.Join(dir, "agents"),
		AgentEnvironment: []string{"PATH=/bin", "HOME=/home/u"},
		LookupEnv:        lookup(map[string]string{"TOKEN": "secret", "OTHER": "not allowed", "PATH": "/elsewhere"}),
	}
}

const emptyChain = "schema: 1\nhooks: []\non_uncovered: deny\n"

func TestAgents_AFullProfileIsReadWithEveryValueAndAnEmptyOneHasTheDefaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"hooks.yaml": emptyChain, "chains/team.yaml": emptyChain,
		"agents/full.yaml": `
command: ./agent
args: [--session, "{{SESSION_ID}}"]
cwd: work
env: {TOKEN: "${TOKEN}", MODE: fast}
env_allowlist: [TOKEN, PATH]
timeout_secs: 60
kill_grace_secs: 0
streaming: false
permission: true
permission_default: deny_logged
permission_ask_timeout_secs: 7
chain: team
`,
		"agents/small.json":  `{"command": "agent"}`,
		"agents/agent":       "a program",
		"agents/.hidden.yml": "nonsense",
	})
	set := loaded(t, withAgents(dir))
	full := agentproc.Profile{
		Name: "full", Dir: filepath.Join(dir, "agents"), Command: "./agent", Args: []string{"--session", "{{SESSION_ID}}"}, Cwd: "work",
		Env: map[string]string{"TOKEN": "${TOKEN}", "MODE": "fast"}, EnvAllowlist: []string{"TOKEN", "PATH"},
		Environ: []string{"PATH=/bin", "HOME=/home/u", "TOKEN=secret"},
		Timeout: time.Minute, Permission: true, PermissionDefault: agentproc.DenyAndLogByDefault, PermissionAskTimeout: 7 * time.Second, Chain: "team",
	}
	small := agentproc.DefaultProfile()
	small.Name, small.Dir, small.Command, small.Chain = "small", filepath.Join(dir, "agents"), "agent", OperatorChain
	small.Environ = []string{"PATH=/bin", "HOME=/home/u"}
	same(t, "agents", map[string]*Agent{
		"full":  {Position{File: filepath.Join(dir, "agents/full.yaml")}, full},
		"small": {Position{File: filepath.Join(dir, "agents/small.json")}, small},
	}, set.Agents)
	same(t, "warnings about programs that lie beside", 0, len(set.Warnings))
}

func TestF1_EachMistakeOfAProfileNamesPlaceAndFix(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":        {"", []string{`:1: the file is empty: an agent's profile needs a command`}},
		"a list":         {"[]", []string{`:1: want a mapping, not a list`}},
		"no command":     {"args: []\n", []string{`:1: command: is missing`}},
		"not YAML":       {"command: [", []string{`:1: not YAML: did not find expected node content, while parsing a flow node that begins in line 2`}},
		"an unknown key": {"command: a\ntimeout: 5\n", []string{`:2: unknown key "timeout"; did you mean "timeout_secs"?`}},
		"every type": {"command: [a]\nargs: a b\ncwd: 1\nenv: [A]\nenv_allowlist: {A: 1}\ntimeout_secs: 1.5\nkill_grace_secs: -1\nstreaming: yes\npermission: 1\npermission_default: Allow\npermission_ask_timeout_secs: 0\nchain: 3\n", []string{
			`:1: command: want a string, not a list`,
			`:2: args: want a list like ["--strict"] (no shell splits it), not the string "a b"`,
			`:3: cwd: want a string, not the number 1: quote it, as "1"`,
			`:4: env: want a mapping of variable names to strings, not a list`,
			`:5: env_allowlist: want a list of variable names, not a mapping`,
			`:6: timeout_secs: want a whole number in plain digits, not 1.5`,
			`:7: kill_grace_secs: -1 is not between 0 and 600`,
			`:8: streaming: want true or false, not the string "yes": write true`,
			`:9: permission: want true or false, not the number 1`,
			`:10: permission_default: unknown value "Allow", want deny, allow, deny_logged or ask; did you mean "allow"?`,
			`:11: permission_ask_timeout_secs: 0 is not between 1 and 86400`,
			`:12: chain: want a string, not the number 3: quote it, as "3"`,
		}},
		"what the profile itself refuses": {"command: a\nargs: [x, \"{{MESSAGE}}\"]\nenv:\n  A: \"${OTHER}\"\n  B: \"${NEVER}\"\n  C: 5\nenv_allowlist: [NEVER, \"a b\"]\n", []string{
			`:2: args[1]: {{MESSAGE}} is not a placeholder: the message reaches the agent on its standard input only`,
			`:4: env.A: ${OTHER} is not in env_allowlist`,
			`:5: env.B: ${NEVER} is not set in the gateway's environment`,
			`:6: env.C: want a string, not the number 5: quote it, as "5"`,
			`:7: env_allowlist[1]: "a b" is not a valid variable name`,
		}},
		"an unknown chain": {"command: a\nchain: teams\n", []string{
			`:2: chain: there is no chain "teams": each file in the chains directory is a chain, and operator is the operator's; did you mean "team"?`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"hooks.yaml": emptyChain, "chains/team.yaml": emptyChain, "agents/a.yaml": test.text})
			set, err := Load(withAgents(dir))
			var want []string
			for _, w := range test.want {
				want = append(want, "agents/a.yaml"+w)
			}
			same(t, "mistakes", want, refused(t, dir, set, err))
		})
	}
}

func TestAgents_AnAgentIsNamedByItsFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"hooks.yaml": emptyChain, "chains/team.yaml": emptyChain,
		"agents/a.json": `{"command": "a"}`, "agents/a.yaml": "command: a", "agents/a b.yaml": "command: a",
	})
	set, err := Load(withAgents(dir))
	same(t, "mistakes", []string{
		"agents/a b.yaml: is not a valid name for an agent: use up to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
		`agents/a.yaml: defines the agent "a", which a.json already defines`,
	}, refused(t, dir, set, err))
}

func TestF6_AgentsThatVanishedAreAnErrorAndADirectoryThatIsNotThereIsOne(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": emptyChain, "chains/team.yaml": emptyChain})
	set, err := Load(withAgents(dir))
	same(t, "at the first load", []string{"agents: the directory of agents does not exist"}, refused(t, dir, set, err))

	write(t, dir, map[string]string{"agents/a.yaml": "command: a\nchain: team\n"})
	first := loaded(t, withAgents(dir))
	remove := func(name string) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	remove("agents/a.yaml")
	set, err = first.Next()
	same(t, "without an agent", []string{
		"agents: all 1 agents disappeared at once, as if the volume were empty, so nothing changes; to remove the last agent, restart the gateway",
	}, refused(t, dir, set, err))
	remove("agents")
	set, err = first.Next()
	same(t, "without the directory", []string{"agents: the directory of agents does not exist"}, refused(t, dir, set, err))
}

func TestNext_AChangedProfileIsAnotherSet(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"hooks.yaml": emptyChain, "chains/team.yaml": emptyChain, "agents/a.yaml": "command: a\n"})
	first := loaded(t, withAgents(dir))
	if same, err := first.Next(); err != nil || same != first {
		t.Errorf("without a change Next returns another set, %v", err)
	}
	write(t, dir, map[string]string{"agents/a.yaml": "command: b\n"})
	next, err := first.Next()
	if err != nil || next.Sum == first.Sum || next.Agents["a"].Profile.Command != "b" {
		t.Errorf("Next returns %+v, %v", next, err)
	}
}
