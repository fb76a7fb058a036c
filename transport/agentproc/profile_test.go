package agentproc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// usable is a valid profile.
func usable() Profile {
	p := DefaultProfile()
	p.Name, p.Dir, p.Command = "coder", "/agents", "./run"
	return p
}

func TestAProfileThatSetsNothingMoreIsUsable(t *testing.T) {
	p := usable()
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	want := Profile{Timeout: 30 * time.Minute, KillGrace: 5 * time.Second, Streaming: true, PermissionAskTimeout: 5 * time.Minute}
	if diff := cmp.Diff(want, DefaultProfile()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestEveryMistakeOfAProfileIsNamedWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Profile)
		want  string
	}{
		"nothing at all": {
			func(p *Profile) { *p = Profile{} },
			"the agent has no name\nthe profile's directory \"\" is not an absolute path\ncommand: is missing\n" +
				"timeout_secs: 0s is not between 0 s and 24h0m0s",
		},
		"relative directory": {func(p *Profile) { p.Dir = "agents" }, `the profile's directory "agents" is not an absolute path`},
		"negative times": {
			func(p *Profile) { p.Timeout, p.KillGrace = -1, -1 },
			"timeout_secs: -1ns is not between 0 s and 24h0m0s\nkill_grace_secs: -1ns is not between 0 s and 10m0s",
		},
		"times without end": {
			func(p *Profile) {
				p.Timeout, p.KillGrace, p.PermissionDefault, p.PermissionAskTimeout = 1<<62, 1<<62, AskByDefault, 1<<62
			},
			"timeout_secs: 1281023h53m38.427387904s is not between 0 s and 24h0m0s\n" +
				"kill_grace_secs: 1281023h53m38.427387904s is not between 0 s and 10m0s\n" +
				"permission_ask_timeout_secs: 1281023h53m38.427387904s is not between 0 s and 24h0m0s",
		},
		"ask without a time": {
			func(p *Profile) { p.PermissionDefault, p.PermissionAskTimeout = AskByDefault, 0 },
			"permission_ask_timeout_secs: 0s is not between 0 s and 24h0m0s",
		},
		"an unknown default": {func(p *Profile) { p.PermissionDefault = 9 }, "permission_default: 9 is not a valid value"},
		"the message in argv": {
			func(p *Profile) { p.Args = []string{"-p", "{{MESSAGE}}"} },
			"args[1]: {{MESSAGE}} is not a placeholder: the message reaches the agent on its standard input only",
		},
		"unknown placeholders": {
			func(p *Profile) {
				p.Command, p.Cwd, p.Env = "{{SCRIPT}}", "{{CWD}}", map[string]string{"A": "{{SESSIONID}}"}
			},
			"command: {{SCRIPT}} is not one of {{SESSION_ID}}, {{SESSION_NAME}}, {{PROFILE_DIR}}\n" +
				"cwd: {{CWD}} is not one of {{SESSION_ID}}, {{SESSION_NAME}}, {{PROFILE_DIR}}\n" +
				"env.A: {{SESSIONID}} is not one of {{SESSION_ID}}, {{SESSION_NAME}}, {{PROFILE_DIR}}",
		},
		"NUL": {
			func(p *Profile) { p.Command, p.Args = "a\x00", []string{"b\x00"} },
			"command: has a NUL character\nargs[0]: has a NUL character",
		},
		"names of variables": {
			func(p *Profile) {
				p.Env, p.EnvAllowlist = map[string]string{"A B": "", "": "x"}, []string{"OK", "ANTHROPIC_*"}
			},
			"env: \"\" is not a valid variable name\nenv: \"A B\" is not a valid variable name\n" +
				`env_allowlist[1]: "ANTHROPIC_*" is not a valid variable name`,
		},
		"broken references": {
			func(p *Profile) { p.Env = map[string]string{"A": "${", "B": "${}", "C": "${X:-y}", "D": "ok ${X"} },
			"env.A: \"${\" is not a reference of the form ${NAME}\nenv.B: \"${}\" is not a reference of the form ${NAME}\n" +
				"env.C: \"${X:-y}\" is not a reference of the form ${NAME}\nenv.D: \"${X\" is not a reference of the form ${NAME}",
		},
		"references that are not allowed or not set": {
			func(p *Profile) {
				p.Environ, p.EnvAllowlist = []string{"SECRET=s", "TOKEN=t"}, []string{"TOKEN", "UNSET"}
				p.Env = map[string]string{"A": "${SECRET}", "B": "${TOKEN}", "C": "x${UNSET}"}
			},
			"env.A: ${SECRET} is not in env_allowlist\nenv.C: ${UNSET} is not set in the gateway's environment",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := usable()
			c.spoil(&p)
			err := p.Check()
			if err == nil {
				t.Fatal("the profile was taken")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestA10_AnAgentGetsAFewNamesAndWhatItsProfileDeclares(t *testing.T) {
	p := usable()
	p.Environ = []string{
		"PATH=/bin", "HOME=/home/u", "USER=u", "LANG=C", "LC_ALL=C.UTF-8", "LC_TIME=de", "TZ=UTC", "TMPDIR=/t",
		"AWS_SECRET_ACCESS_KEY=s3cret", "TOKEN=a=${SECRET}{{SESSION_ID}}", "SHELL=/bin/sh", "LD_PRELOAD=x", "novalue", "LCX=1",
	}
	p.EnvAllowlist = []string{"TOKEN"}
	p.Env = map[string]string{
		"API": "Bearer ${TOKEN}", "TZ": "CET", "WHERE": "{{PROFILE_DIR}}/{{SESSION_NAME}}", "SESSION": "{{SESSION_ID}}", "PLAIN": "$TOKEN $(x) {{ go }}",
	}
	l, err := p.launch(Turn{SessionID: "${TOKEN}", SessionName: "{{PROFILE_DIR}}"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"API=Bearer a=${SECRET}{{SESSION_ID}}", "HOME=/home/u", "LANG=C", "LC_ALL=C.UTF-8", "LC_TIME=de", "PATH=/bin", "PLAIN=$TOKEN $(x) {{ go }}",
		"SESSION=${TOKEN}", "TMPDIR=/t", "TZ=CET", "USER=u", "WHERE=/agents/{{PROFILE_DIR}}",
	}
	if diff := cmp.Diff(want, l.env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestACommandLineIsFilledWordByWord(t *testing.T) {
	p := usable()
	p.Command = "{{PROFILE_DIR}}/my agent"
	p.Args = []string{"{{PROFILE_DIR}}/bridge.py", "--resume={{SESSION_ID}}", "{{SESSION_ID}}", "a b; rm -rf ${HOME}", "", "{{SESSION_NAME}}!"}
	l, err := p.launch(Turn{SessionID: "-x y"[1:], SessionName: "it's; me"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/agents/my agent", "/agents/bridge.py", "--resume=x y", "x y", "a b; rm -rf ${HOME}", "", "it's; me!"}
	if diff := cmp.Diff(want, l.argv); diff != "" || l.path != want[0] {
		t.Errorf("path %q, argv (-want +got):\n%s", l.path, diff)
	}
}

func TestA9_ACallerChoosesNoOptionProgramOrDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*Profile)
		turn Turn
		want string
	}{
		"an option by id": {
			func(p *Profile) { p.Args = []string{"--resume", "{{SESSION_ID}}"} },
			Turn{SessionID: "--dangerously-skip-permissions"},
			`args[1]: invalid turn: it would become the option "--dangerously-skip-permissions"`,
		},
		"an option by two": {
			func(p *Profile) { p.Args = []string{"{{SESSION_ID}}{{SESSION_NAME}}"} },
			Turn{SessionName: "-rf"},
			`args[0]: invalid turn: it would become the option "-rf"`,
		},
		"a directory above": {
			func(p *Profile) { p.Cwd = "work/{{SESSION_ID}}" },
			Turn{SessionID: ".."},
			`cwd: invalid turn: ".." is not the name of one file or directory`,
		},
		"a directory above by two": {
			func(p *Profile) { p.Cwd = "work/{{SESSION_ID}}{{SESSION_NAME}}" },
			Turn{SessionID: ".", SessionName: "."},
			`cwd: invalid turn: ".." is not the name of one file or directory`,
		},
		"a directory elsewhere": {
			func(p *Profile) { p.Cwd = "work/{{SESSION_NAME}}" },
			Turn{SessionName: "a/../../.."},
			`cwd: invalid turn: "a/../../.." is not the name of one file or directory`,
		},
		"the home directory": {
			func(p *Profile) { p.Cwd = "{{SESSION_ID}}" },
			Turn{SessionID: "~"},
			`cwd: invalid turn: "~" is not the name of one file or directory`,
		},
		"a program elsewhere": {
			func(p *Profile) { p.Command = "/opt/{{SESSION_NAME}}" },
			Turn{SessionName: "../bin/sh"},
			`command: invalid turn: "../bin/sh" is not the name of one file or directory`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := usable()
			c.set(&p)
			_, err := p.launch(c.turn)
			if err == nil || err.Error() != c.want || !errors.Is(err, ErrTurn) {
				t.Errorf("launch = %v, want %q", err, c.want)
			}
		})
	}
}

func TestTheDirectoryIsRelativeToTheProfiles(t *testing.T) {
	for cwd, want := range map[string]string{
		"":                                   "/agents",
		".":                                  "/agents",
		"work/x":                             "/agents/work/x",
		"../other":                           "/other",
		"/srv/x/../y":                        "/srv/y",
		"~":                                  "/home/u",
		"~/src":                              "/home/u/src",
		"~user":                              "/agents/~user",
		"{{PROFILE_DIR}}/a":                  "/agents/a",
		"s/{{SESSION_NAME}}.d":               "/agents/s/default.d",
		"s/{{SESSION_ID}}":                   "/agents/s",
		"{{SESSION_ID}}/s":                   "/agents/s",
		"/{{SESSION_ID}}":                    "/",
		"{{SESSION_ID}}{{SESSION_NAME}}/etc": "/agents/default/etc",
	} {
		p := usable()
		p.Cwd, p.Environ = cwd, []string{"HOME=/home/u"}
		l, err := p.launch(Turn{})
		if err != nil || l.dir != want {
			t.Errorf("cwd %q is %q, %v, want %q", cwd, l.dir, err, want)
		}
	}
	p := usable()
	p.Cwd = "~/src"
	if _, err := p.launch(Turn{}); err == nil || err.Error() != "cwd: ~ means the home directory, but HOME is not set" {
		t.Errorf("without HOME: %v", err)
	}
}

func TestABareNameIsLookedForInThePathOfTheAgent(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(first, "plain"): 0o600, filepath.Join(first, "dir/x"): 0o700,
		filepath.Join(second, "plain"): 0o700, filepath.Join(second, "dir"): 0o700, filepath.Join(second, "both"): 0o700, filepath.Join(first, "both"): 0o700,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(second) // where a relative directory of PATH would lead
	for command, want := range map[string]string{
		"both":      filepath.Join(first, "both"),
		"plain":     filepath.Join(second, "plain"), // the first is not executable
		"dir":       filepath.Join(second, "dir"),   // the first is a directory
		"nowhere":   "",
		"./both":    "/agents/both",
		"bin/x":     "/agents/bin/x",
		"/bin/true": "/bin/true",
	} {
		p := usable()
		p.Command, p.Environ = command, []string{"PATH=.::" + first + ":" + second}
		l, err := p.launch(Turn{})
		if err != nil || l.path != want || l.argv[0] != command {
			t.Errorf("command %q is %q %q, %v, want %q", command, l.path, l.argv, err, want)
		}
	}
	p := usable()
	p.Command, p.Environ = "plain", []string{"PATH=."}
	if l, err := p.launch(Turn{}); err != nil || l.path != "" {
		t.Errorf("a relative place in PATH led to %q, %v", l.path, err)
	}
}

func TestAMistakeOfTheProfileIsNotTheTurns(t *testing.T) {
	for name, spoil := range map[string]func(*Profile){
		"env":  func(p *Profile) { p.Env = map[string]string{"A": "${B}"} },
		"args": func(p *Profile) { p.Args = []string{"{{X}}"} },
		"cwd":  func(p *Profile) { p.Cwd = "{{X}}" },
	} {
		p := usable()
		spoil(&p)
		_, err := p.launch(Turn{})
		if err == nil || errors.Is(err, ErrTurn) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
