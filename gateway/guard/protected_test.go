package guard

import (
	"strings"
	"testing"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

func TestProtectedPaths_DeniesChangesToWhatIsProtected(t *testing.T) {
	g := newGuard(t, ProtectedPaths, nil)
	for path, by := range map[string]string{
		"/etc/hosts": "/etc", "/etc": "/etc", "/ETC/passwd": "/etc", "/tmp/../etc/x": "/etc", "//etc//x": "/etc", "/usr/bin/x": "/usr/bin", "../../../etc/x": "/etc",
		"../../../../../../etc/x": "/etc", "file:///etc/hosts": "/etc", "file:///%65tc/hosts": "/etc", `\etc\hosts`: "/etc",
		"~/.ssh/authorized_keys": "~/.ssh", "/home/dev/.ssh/config": "~/.ssh", "/root/.ssh": "~/.ssh", "/Users/dev/.ssh/x": "~/.ssh", "$HOME/.ssh/x": "~/.ssh",
		"${HOME}/.SSH/x": "~/.ssh", "~dev/.ssh/x": "~/.ssh", "../.ssh/x": "~/.ssh", "~/x/../.bashrc": "~/.bashrc", `C:\Users\dev\.ssh\config`: "~/.ssh",
		`%USERPROFILE%\.gitconfig`: "~/.gitconfig", "~/.zshrc": "~/.zshrc", "~/.config/fish/config.fish": "~/.config/fish",
		"~/../dev/.profile":     "~/.profile",
		".git/hooks/pre-commit": ".git/hooks", "./sub/.git/config": ".git/config", "/home/dev/ws/.git/hooks": ".git/hooks", "x/../.git/hooks/../hooks/x": ".git/hooks",
		"vendor/lib/.git/hooks/x": ".git/hooks",
		".claude/settings.json":   ".claude/settings.json", "~/.claude/settings.local.json": ".claude/settings.local.json", "sub/.codex/config.toml": ".codex/config.toml",
		".github/hooks/x.json": ".github/hooks", ".basis/hooks.json": ".basis/hooks.json",
	} {
		input := `{"file_path":` + quoted(path) + `,"content":"x"}`
		if got, want := said(t, g, call(t, "Write", input)), path+" may not be changed: "+by+" is protected"; got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}

// quoted returns a text as a JSON string.
func quoted(text string) string {
	input := shellInput(text)
	return input[len(`{"command":`) : len(input)-1]
}

func TestProtectedPaths_LetsOtherFilesPass(t *testing.T) {
	g := newGuard(t, ProtectedPaths, nil)
	for _, path := range []string{
		"main.go", "./a/b", "/home/dev/ws/x", "/tmp/x", "etc/x", "src/etc/hosts", "/home/dev/ws/.bashrc", ".bashrc", ".ssh/x", "dotfiles/.zshrc", ".gitignore", ".git/info/exclude",
		".github/workflows/ci.yml", ".claude/commands/x.md", ".claude/settings.json.md", ".git/hooksx", "x.git/hooks", "/usr/local/bin/x", "/var/log/x", "/home/x", "/srv/etc",
		"../other/x", "", "~", "/", "~/x", "/etcetera", ".codex/prompts/x", "git/hooks/x", "file://%zz", "C:/x", "a:b", "/home", "~/.config/nvim/init.lua",
	} {
		if got := said(t, g, call(t, "Write", `{"file_path":`+quoted(path)+`}`)); got != "" {
			t.Errorf("%s is denied: %s", path, got)
		}
	}
}

func TestProtectedPaths_FindsPathsWhereverTheyStand(t *testing.T) {
	g := newGuard(t, ProtectedPaths, map[string]string{"paths": `["hooks.yaml","/opt/gw/*.yaml","~/keys/"]`})
	for _, input := range []string{
		`{"path":"/etc/x"}`, `{"filePath":"/etc/x"}`, `{"FILEPATH":"/etc/x"}`, `{"file":"/etc/x"}`, `{"paths":["x","/etc/x"]}`, `{"notebook_path":"/etc/x"}`,
		`{"absolute_path":"/etc/x"}`, `{"target_file":"/etc/x"}`, `{"uri":"file:///etc/x"}`, `{"source":"x","destination":"/etc/x"}`, `{"source":"/etc/x","destination":"y"}`,
		`{"edits":[{"file_path":"a"},{"file_path":"/etc/x"}]}`, `{"old_path":"x","new_path":"/etc/x"}`, `{"command":"create","path":"/etc/x"}`,
		`{"path":"x/hooks.yaml"}`, `{"path":"/opt/gw/a.yaml"}`, `{"path":"~/keys/x"}`, `{"path":"/home/dev/keys"}`, `{"path":"HOOKS.yaml/x"}`,
		// patches
		`{"patch":"*** Begin Patch\n*** Update File: /etc/x\n@@\n-a\n+b\n*** End Patch"}`, `{"input":"*** Begin Patch\n*** Add File: hooks.yaml\n+x\n*** End Patch"}`,
		`{"command":["apply_patch","*** Begin Patch\n*** Delete File: .git/hooks/x\n*** End Patch"]}`, `"*** Begin Patch\n*** Update File: a\n*** Move to: /etc/x\n*** End Patch"`,
		`{"diff":"--- a/x\n+++ b/hooks.yaml\n@@ -1 +1 @@\n-a\n+b\n"}`, `{"diff":"+++ /etc/x\t2026-01-01\n"}`, `{"patch":"diff --git a/x b/y\nrename from x\nrename to hooks.yaml\n--- a/x\n+++ b/y\n"}`,
		`{"command":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: /etc/x\n*** End Patch\nEOF"}`, `{"cmd":"git apply > l <<'EOF'\n--- a/x\n+++ b/.git/config\nEOF"}`,
	} {
		if got := said(t, g, call(t, "Edit", input)); !strings.Contains(got, " may not be changed: ") {
			t.Errorf("%s: %q", input, got)
		}
	}
	for _, input := range []string{
		`{"command":"view","path":"/etc/x"}`, `{"content":"/etc/x"}`, `{"path":"x","old_string":"/etc/x"}`, `{"path":["x",{"a":"b"}]}`, `{"path":null}`, `{"path":{}}`, `{}`, `null`,
		`{"patch":"*** Begin Patch\n*** Update File: a\n+*** Add File: /etc/x\n*** End Patch"}`, `"*** Begin Patch\n*** Update File: a\n*** End Patch"`, `{"diff":"/etc/x"}`,
		`{"path":"/opt/gw/sub/a.yaml"}`, `{"path":"/opt/gw"}`, `{"input":"/etc/x"}`, `{"patch":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n"}`,
	} {
		if got := said(t, g, call(t, "Edit", input)); got != "" {
			t.Errorf("%s is denied: %s", input, got)
		}
	}
}

func TestProtectedPaths_SeesWhatCommandsChange(t *testing.T) {
	g := newGuard(t, ProtectedPaths, nil)
	for _, command := range []string{
		`echo x > /etc/hosts`, `echo x >> ~/.bashrc`, `cat k >> $HOME/.ssh/authorized_keys`, `echo x | sudo tee -a /etc/hosts`, `: > .claude/settings.json`, `cd ~ && echo x >> .zshrc`,
		`cd .git && echo x > hooks/pre-commit`, `cp x .git/hooks/pre-commit`, `cp pre-commit .git/hooks`, `cp -t ~/.ssh x`, `cp settings.json .claude/`, `mv x /etc/x`, `mv .claude x`,
		`mv -t /tmp .claude/settings.json`, `ln -sf /tmp/x .git/hooks/post-merge`, `install -m 755 x /usr/bin/x`, `rsync x ~/.gnupg/`, `rm .git/hooks/x`, `rm -rf .git`, `rm -rf .claude`,
		`rm -rf .claude/settings.json`, `rm -rf /usr`, `touch ~/.profile`, `truncate -s 0 .codex/config.toml`, `chmod 000 .claude/settings.json`, `chown x /etc/x`, `sed -i s/a/b/ /etc/hosts`,
		`sed --in-place=.bak -e s/a/b/ .claude/settings.json`, `perl -pi -e s/a/b/ ~/.bashrc`, `dd if=x of=/etc/x`, `curl -o /etc/x http://a`, `curl -fsSLo ~/.bashrc http://a`, `curl -o/etc/x http://a`, `curl --output=/etc/x http://a`,
		`curl -sSo a http://a -o ~/.zshrc http://b`, `curl --output-dir /etc -O http://a/x`, `cd ~/.ssh && curl -O http://a/authorized_keys?x=/y`, `wget -qO ~/.bashrc http://a`, `wget -qO/etc/x http://a`,
		`wget -P /etc http://a/x`, `wget -qP/etc http://a/x`, `wget --directory-prefix=/etc http://a/x`, `cd ~ && wget http://a/.profile`, `cp --target-directory=/etc x`, `cp -vt/etc x`,
		`mv --target-directory .git/hooks pre-commit`, `install -Dt /usr/bin x`, `cp x $OTHER/usr/bin/x`, `chmod 777 ~/.ssh/id`, `chmod 600 /etc/passwd`, `chmod 600 ~/.ssh ~/.bashrc`, `wget -O ~/.ssh/x http://a`, `unlink .git/config`,
		`shred ~/.ssh/id`, `echo > ~/.ss*/x`, `rm ~/.[s]sh/x`, `bash -c 'echo x > /etc/x'`, `echo x > "$(pwd)"/../../../etc/x; echo > /etc/y`, `{ echo x; } > /etc/x`,
		`> /etc/x`, `rm -rf .git/*`, `rm -rf ~/.*`, `rm -rf /et?/x`, `rm .git/hook*/*`, `tee {a,/etc/x} < b`,
		"cd .git && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: hooks/x\n*** End Patch\nEOF", `sudo sh -c 'cat > /etc/x'`,
	} {
		if got := said(t, g, call(t, "Bash", shellInput(command))); !strings.Contains(got, " may not be changed: ") {
			t.Errorf("%s: %q", command, got)
		}
	}
	for _, command := range []string{
		`cat /etc/hosts`, `cat ~/.bashrc > x`, `cp /etc/hosts x`, `cp ~/.ssh/config .`, `grep x < /etc/passwd`, `ls -la ~/.ssh 2>/dev/null`, `sed s/a/b/ /etc/hosts`, `echo /etc/hosts > x`,
		`ln -s /etc/hosts x`, `rm x`, `rm -rf node_modules`, `mv a b`, `cp`, `cp x`, `mv`, `cp -t`, `cp "" x`, `tee`, `touch a`, `dd if=/etc/x of=y`, `curl -o x http://a/etc/x`, `curl http://a`, `curl -fsSLo x http://a`, `wget -q http://a/x`, `wget -qO- http://a/etc/hosts`, `curl -O http://a/b/.x`, `curl -H 'Host: /etc/x' http://a`,
		`cp x $DESTDIR/usr/bin/x`, `install -m 755 x "${DESTDIR}"/usr/lib/x`, `echo x > $RPM_BUILD_ROOT/etc/x`, `chmod 600 ~/.ssh/id_ed25519`, `chmod -R go-rwx ~/.gnupg`, `chmod 700 /root/.ssh`,
		`rsync -t a b`, `cp -t build x`,
		`rsync -e ssh a h:b`, `chmod +x a`, `perl -e 1 /etc/x`, `echo x > "$F"`, `rm "$X"`, `git commit -m 'x > /etc/y'`, `rm -rf .github/workflows`, `install -d x`, ``,
		`rm -rf /tmp/*`, `rm -rf build/*`, `rm -rf ./*.log`, `rm -rf *`, `rm -rf "${B:-build}"/*`, `mv * x`, `mv dist/* .`,
		`go test ./... 2>&1 | tail`, `a >/dev/null 2>&1`, `a > /dev/null; echo 'it`,
	} {
		if got := said(t, g, call(t, "Bash", shellInput(command))); got != "" {
			t.Errorf("%s is denied: %s", command, got)
		}
	}
}

func TestProtectedPaths_WithoutAWorkspaceARelativePathIsTakenForItself(t *testing.T) {
	g := newGuard(t, ProtectedPaths, nil)
	for path, denied := range map[string]bool{
		".git/hooks/x": true, "../../etc/x": true, "..": false, "../x": false, "~/.ssh/x": true, "home/dev/.ssh/x": false, "x": false, "": false, ".": false,
	} {
		if got := said(t, g, callIn(t, "w1", "Write", `{"path":`+quoted(path)+`}`)); (got != "") != denied {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestProtectedPaths_AnExceptedPathPasses(t *testing.T) {
	g := newGuard(t, ProtectedPaths, map[string]string{"except": `["/etc"]`})
	for path, denied := range map[string]bool{"/etc/hosts": false, "/boot/x": true} {
		if got := said(t, g, call(t, "Write", `{"path":`+quoted(path)+`}`)); (got != "") != denied {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestPathPattern_EveryBuiltInOneProtectsItself(t *testing.T) {
	for _, text := range defaultPaths() {
		p, err := parsePathPattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var only pathPatterns
		only.add(p)
		s := search{paths: &only, meter: work.Unbounded(t.Context())}
		protects := func(place string) bool { return s.path("it", place, exactly) != "" }
		if place := fromTool("/w", text); !protects(place) || !protects(place+"/x") || protects(place+"x") {
			t.Errorf("%s does not protect exactly itself and what is below", text)
		}
	}
}
