package guard

import (
	"strings"
	"testing"
)

const deletedReason = "deleting a remote branch is not allowed: pushed again, it is a force-push"

func TestNoForcePush_DeniesEveryWayToForce(t *testing.T) {
	g := newGuard(t, NoForcePush, nil)
	for _, command := range []string{
		`git push --force`, `git push -f`, `git push origin main --force`, `git push origin main -f`, `git push -fu origin x`, `git push -uf origin x`,
		`git push --force-with-lease`, `git push --force-with-lease=main:abc origin`, `git push --force-w`, `git push --mirror`, `git push --mirror=x`,
		`git push origin +main`, `git push origin "+HEAD:refs/heads/main"`, `git push origin main +x`, `git push -- origin +main`, `git push -o ci.skip -f`,
		`git push -q -4 -f`, `git push --no-verify --force`, `git push --forc`,
		`git -C dir push -f`, `git -c x=y push origin +main`, `git --git-dir x --work-tree=y --no-pager push --force`, `git -p push -f`, `git --exec-path=/x push -f`,
		`/usr/bin/git push -f`, `GIT push -f`, `'git' "push" -'f'`, `git pu\sh --fo"rce"`, `hub push -f`, `git-push --force`, `git send-pack --force x y`,
		`git -c alias.p='push -f' p`, `git -c alias.p=push p --force`, `git -c alias.p='!git push -f' p`, `git -c alias.a=b -c alias.b='push -f' b`,
		`git -c alias.a='-c alias.b="push -f" b' a`, `git -c alias.p='!f() { git push; }; git push' p --force`,
		`git -c remote.origin.push=+main push`, `git -c remote.origin.mirror=true push`, `git -c remote.origin.mirror push`,
		`git config alias.pf 'push --force'`, `git config --global alias.pf '!git push -f'`, `git config set remote.origin.push +refs/heads/*`,
		`git add -A && git commit -m x && git push -f`, `cd x; git push --force || true`, `sudo -u x git push -f`, `env A=b git push -f`, `GIT_SSH=x git push -f`,
		`bash -c 'git push -f'`, `echo "git push -f" | sh`, `xargs -I{} git push -f {}`, `find . -name .git -exec git push -f \;`, `$(which git) push; git push -f`,
		`git submodule foreach 'git push -f'`, `git submodule --quiet foreach --recursive git push -f`, `git rebase -x 'git push -f' main`, `git rebase -i --exec='git push -f' main`,
		`git bisect run git push -f`, `git -C x -c alias.y='!git push -f' y`, `F=(push --force); git "${F[@]}"`, `ssh host <<< 'git push -f'`, `(cd x; echo git push -f) | sh`,
		`parallel git push -f ::: a b`, `uv run git push -f`,
		`F=--force; git push $F`, `git push ${X:---force}`, `git push $'--force'`, `if x; then git push -f; fi`, `git push origin main & git push -f`,
	} {
		if got := said(t, g, call(t, "Bash", shellInput(command))); got != forcedReason {
			t.Errorf("%s: %q", command, got)
		}
	}
	for _, command := range []string{
		`git push origin --delete x`, `git push -d origin x`, `git push origin :x`, `git push origin x :refs/heads/y`, `git push --prune origin`, `git push --del origin x`,
	} {
		if got := said(t, g, call(t, "Bash", shellInput(command))); got != deletedReason {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestNoForcePush_LetsOrdinaryPushesPass(t *testing.T) {
	g := newGuard(t, NoForcePush, nil)
	for _, command := range []string{
		`git push`, `git push origin main`, `git push -u origin HEAD`, `git push --set-upstream origin x`, `git push origin HEAD:refs/for/main`, `git push --tags`,
		`git push --follow-tags`, `git push --all`, `git push --atomic origin a b`, `git push -o ci.force=1`, `git push -oforce`, `git push --push-option -f`, `git push --dry-run`,
		`git push --force-if-includes`, `git push --no-force-with-lease`, `git push --repo +x`, `git push origin :`, `git push origin`, `git push "$BRANCH"`, `git push origin $X`,
		`git fetch -f`, `git fetch origin +main:main`, `git pull --force`, `git checkout -f`, `git branch -f x`, `git tag -f x`, `git add -f x`, `git clean -f`, `git stash push -f x`,
		`git commit -m "git push --force"`, `echo git push --force`, `grep -rn 'push --force' .`, `docker push x`, `npm run push -- -f`, `gh pr create -f`, `git log --grep push`,
		`git config alias.p push`, `git config user.name x`, `git config remote.origin.push main`, `git -c alias.p=push p`, `git -c alias.p='!git push' p origin`,
		`git -c remote.origin.mirror=false push`, `git -c remote.origin.push=main push`, `git -c x.push=+y push`, `git`, `git -c`, `git push-x -f`, `git -C push -f x`, `git -C push`,
		`git config push.default`, `pushd x`, `git remote set-url --push origin x`, `git rev-parse @{push}`, `git -c alias.p= p push`, `ls`, ``,
	} {
		if got := said(t, g, call(t, "Bash", shellInput(command))); got != "" {
			t.Errorf("%s is denied: %s", command, got)
		}
	}
}

func TestNoForcePush_OptionsLetLeasesAndDeletesThrough(t *testing.T) {
	lease := newGuard(t, NoForcePush, map[string]string{"allow_lease": "true"})
	deletes := newGuard(t, NoForcePush, map[string]string{"allow_deletes": "true"})
	for _, c := range []struct {
		guard         Guard
		command, want string
	}{
		{lease, `git push --force-with-lease`, ""},
		{lease, `git push --force-with-lease --force`, forcedReason},
		{lease, `git push --force`, forcedReason},
		{lease, `git push origin :x`, deletedReason},
		{deletes, `git push origin :x`, ""},
		{deletes, `git push origin -d x`, ""},
		{deletes, `git push --prune`, ""},
		{deletes, `git push --force-with-lease`, forcedReason},
		{deletes, `git push -df origin x`, forcedReason},
	} {
		if got := said(t, c.guard, call(t, "Bash", shellInput(c.command))); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

func TestNoForcePush_SeesAToolThatPushesByItself(t *testing.T) {
	g := newGuard(t, NoForcePush, nil)
	lease := newGuard(t, NoForcePush, map[string]string{"allow_lease": "true"})
	for _, c := range []struct {
		guard             Guard
		tool, input, want string
	}{
		{g, "mcp__git__git_push", `{"remote":"origin","force":true}`, forcedReason},
		{g, "mcp__git__git_push", `{"options":{"Force":true}}`, forcedReason},
		{g, "GitPush", `{"forceWithLease":true}`, forcedReason},
		{lease, "GitPush", `{"force_with_lease":true}`, ""},
		{lease, "GitPush", `{"force":true}`, forcedReason},
		{g, "mcp__git__git_push", `{"force":false}`, ""},
		{g, "mcp__git__git_push", `{"force":null,"branch":"force"}`, ""},
		{g, "mcp__fs__delete", `{"force":true}`, ""},
	} {
		if got := said(t, c.guard, call(t, c.tool, c.input)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

func TestG1_AnAliasThatCannotBeReadDenies(t *testing.T) {
	g := newGuard(t, NoForcePush, nil)
	deep := "push -f"
	for range 6 {
		deep = "-c alias.a='" + strings.ReplaceAll(deep, "'", `'\''`) + "' a"
	}
	for command, want := range map[string]string{
		`git -c alias.p='!push (' p`:     "the command could not be read: in a script inside it: the shell parser says: 1:1: `foo(` must be followed by `)`",
		`git -c alias.p='p' -c x=push p`: "",
		"git " + deep:                    "the command could not be read: its aliases lead to more than 5 further aliases",
	} {
		if got := said(t, g, call(t, "Bash", shellInput(command))); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
