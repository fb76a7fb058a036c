package guard

import (
	"fmt"
	"path"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// homePlace is what a home directory is called.
const homePlace = "a home directory"

// place is where the words of a command point, as far as that is known.
type place struct {
	path string // as shell.Join makes it
	unto string // the variable that leads there only where it is not set
}

// placeOf is the place that a word names for a command.
func placeOf(c shell.Command, w shell.Word) place {
	return place{path: shell.Join(c.Dir, w.Text), unto: w.Unset}
}

// known reports whether nothing of the place is left open.
func (p place) known() bool { return !strings.Contains(p.path, shell.Opaque) }

// ruin tells what is lost if everything at the place is: the root directory, a
// home directory, a directory of the system, or one that the workspace is in.
// It is empty where none of these is.
func (p place) ruin(workspace string) string {
	if p.path == "" || !p.known() {
		return ""
	}
	target := p.path
	inside := bareGlob(path.Base(target)) // everything in it, instead of it
	if inside {
		target = path.Dir(target)
	}
	if dir := systemDir(target); dir != "" {
		return fmt.Sprintf("%s, a directory of the system", dir)
	}
	switch {
	case target == "/":
		return "the root directory"
	case matches(target, "/root"), matches(target, "/home/*"), matches(target, "/Users/*"),
		matches(target, "/home"), matches(target, "/Users"):
		return homePlace
	case target == ".." || strings.HasSuffix(target, "/..") && strings.Trim(target, "./") == "":
		return "the directory that holds the workspace"
	case workspace != "" && strings.HasPrefix(workspace, target+"/"):
		return "a directory that holds the workspace"
	case (target == "." || target == workspace) && !inside && p.unto == "":
		return workspacePlace
	}
	return ""
}

// workspacePlace is what the workspace is called.
const workspacePlace = "the workspace itself"

// systemDir is the directory of the system that a path may be, empty where it
// is none.
func systemDir(target string) string {
	if strings.Count(target, "/") > 2 {
		return "" // deeper than any of them
	}
	for _, dir := range systemDirs() {
		if matches(target, dir) {
			return dir
		}
	}
	return ""
}

// systemDirs are the directories without which a machine is not what it was.
func systemDirs() []string {
	return []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/run", "/sbin", "/srv", "/sys",
		"/usr", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/local", "/usr/sbin", "/usr/share",
		"/var", "/var/lib", "/nix", "/nix/store", "/snap",
		"/Applications", "/Library", "/System", "/Volumes", "/private", "/private/etc", "/private/var",
	}
}

// matches reports whether a path that may hold wildcards can be dir, in which
// "*" is any name.
func matches(target, dir string) bool {
	for {
		t, restOfTarget, moreTarget := strings.Cut(target, "/")
		d, restOfDir, moreDir := strings.Cut(dir, "/")
		if !elementMatches(t, d) || moreTarget != moreDir {
			return false
		}
		if !moreDir {
			return true
		}
		target, dir = restOfTarget, restOfDir
	}
}

func elementMatches(element, dir string) bool {
	if dir == "*" {
		return element != ""
	}
	if !strings.ContainsAny(element, `*?[`) {
		return strings.EqualFold(element, dir)
	}
	ok, err := path.Match(strings.ToLower(element), strings.ToLower(dir))
	return ok && err == nil
}

// bareGlob reports whether a name with wildcards leaves nothing out: no
// character of it stands for itself but a leading dot.
func bareGlob(name string) bool {
	glob := false
	for name != "" {
		switch name[0] {
		case '*', '?':
			glob = true
		case '.':
		case '[':
			to := strings.IndexByte(name, ']')
			if to < 0 {
				return false
			}
			glob, name = true, name[to:]
		default:
			return false
		}
		name = name[1:]
	}
	return glob
}
