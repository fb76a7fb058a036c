package guard

import (
	"fmt"
	"path"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// homePlace is the name of a home directory in reasons.
const homePlace = "a home directory"

// place is where a word of a command points, as far as that is known.
type place struct {
	path string // as shell.Join returns it
	unto string // the variable that must be unset for the word to point there
}

// placeOf returns the place that a word of a command names.
func placeOf(c shell.Command, w shell.Word) place {
	return place{path: shell.Join(c.Dir, w.Text), unto: w.Unset}
}

// known reports whether the whole path is known.
func (p place) known() bool { return !strings.Contains(p.path, shell.Opaque) }

// ruin describes what is lost if everything at the place is destroyed: the root
// directory, a home directory, a system directory, the workspace, or a directory
// that contains it. It returns "" if it is none of these.
func (p place) ruin(workspace string) string {
	if p.path == "" || !p.known() {
		return ""
	}
	target := p.path
	inside := bareGlob(path.Base(target)) // the content of the directory rather than the directory itself
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

// workspacePlace is the name of the workspace in reasons.
const workspacePlace = "the workspace itself"

// systemDir returns the system directory that a path may denote, "" if none.
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

// systemDirs are the directories on which the system depends.
func systemDirs() []string {
	return []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/run", "/sbin", "/srv", "/sys",
		"/usr", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/local", "/usr/sbin", "/usr/share",
		"/var", "/var/lib", "/nix", "/nix/store", "/snap",
		"/Applications", "/Library", "/System", "/Volumes", "/private", "/private/etc", "/private/var",
	}
}

// matches reports whether a path that may contain wildcards can be dir, in
// which "*" is any name.
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

// bareGlob reports whether a name consists of wildcards and dots alone, so that it
// leaves out next to nothing in a directory.
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
