package shell

import (
	"slices"
	"strings"
)

// wrapper describes the arguments of a program that runs another one.
type wrapper struct {
	short    string   // short options whose value is the next word
	long     []string // other options whose value is the next word
	operands int      // words of its own before the program
	verb     string   // the first operand that makes it run another one
	assigns  bool     // NAME=value before the program
}

// wrapperNamed returns the description of a program that is known to run
// another one.
func wrapperNamed(name string) (wrapper, bool) {
	switch name {
	case "sudo":
		return wrapper{short: "CDghpRrTtUu", assigns: true, long: []string{
			"chdir", "chroot", "close-from", "command-timeout", "group", "host", "other-user", "prompt", "role", "type", "user",
		}}, true
	case "doas":
		return wrapper{short: "Cu"}, true
	case "env":
		return wrapper{short: "uC", long: []string{"unset", "chdir"}, assigns: true}, true
	case "xargs":
		return wrapper{short: "aEILnPsd", long: []string{
			"arg-file", "delimiter", "max-args", "max-chars", "max-procs", "process-slot-var",
		}}, true
	case "timeout":
		return wrapper{short: "ks", long: []string{"kill-after", "signal"}, operands: 1}, true
	case "nice":
		return wrapper{short: "n", long: []string{"adjustment"}}, true
	case "ionice":
		return wrapper{short: "cnpPu", long: []string{"class", "classdata"}}, true
	case "stdbuf":
		return wrapper{short: "ioe", long: []string{"input", "output", "error"}}, true
	case "time":
		return wrapper{short: "fo", long: []string{"format", "output"}}, true
	case "flock":
		return wrapper{short: "wE", long: []string{"timeout", "conflict-exit-code"}, operands: 1}, true
	case "chrt", "taskset", "chroot":
		return wrapper{operands: 1}, true
	case "strace":
		return wrapper{short: "aeEIoOpPsSuUX"}, true
	case "runuser":
		return wrapper{short: "ugG", long: []string{"user", "group", "supp-group"}}, true
	case "exec":
		return wrapper{short: "a"}, true
	case "pkexec":
		return wrapper{long: []string{"user"}}, true
	case "systemd-run":
		return wrapper{short: "HMpEu", long: []string{
			"host", "machine", "property", "setenv", "unit", "uid", "gid", "nice", "working-directory", "description", "slice",
			"on-active", "on-boot", "on-startup", "on-unit-active", "on-unit-inactive", "on-calendar", "timer-property",
			"path-property", "socket-property", "service-type",
		}}, true
	case "uv":
		return wrapper{verb: "run", short: "pP", long: []string{
			"with", "python", "project", "directory", "extra", "group", "package", "env-file", "with-editable", "with-requirements",
		}}, true
	case "poetry":
		return wrapper{verb: "run", short: "CP", long: []string{"directory", "project"}}, true
	case "pipenv", "pdm", "hatch", "rye", "pixi":
		return wrapper{verb: "run"}, true
	case "bundle", "mise":
		return wrapper{verb: "exec"}, true
	case "direnv":
		return wrapper{verb: "exec", operands: 1}, true
	case "setpriv":
		return wrapper{long: []string{"reuid", "regid", "groups", "inh-caps", "bounding-set", "ambient-caps", "securebits"}}, true
	case "caffeinate":
		return wrapper{short: "tw"}, true
	case "nohup", "setsid", "command", "builtin", "busybox", "toybox", "fakeroot", "unshare", "chronic", "unbuffer":
		return wrapper{}, true
	}
	return wrapper{}, false
}

// inner returns the arguments from the inner program on.
func (w wrapper) inner(args []Word) []Word {
	left, verb := w.operands, w.verb
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--":
		case strings.HasPrefix(text, "--"):
			if slices.Contains(w.long, text[2:]) {
				i++
			}
		case len(text) > 1 && text[0] == '-':
			if at := strings.IndexAny(text[1:], w.short); at >= 0 && at+2 == len(text) {
				i++
			}
		case w.assigns && strings.Contains(text, "="):
		case verb != "":
			if text != verb {
				return nil
			}
			verb = ""
		case left > 0:
			left--
		default:
			return args[i:]
		}
	}
	return nil
}

// codeOption returns the script that an option passes to a program that is not
// itself a shell.
func codeOption(c Command) (Word, bool) {
	switch c.Name {
	case "su", "flock", "runuser", "script":
		return optionValue(c.Args, "c", "command")
	case "env":
		return optionValue(c.Args, "S", "split-string")
	}
	return Word{}, false
}

// optionValue returns the first value of an option.
func optionValue(args []Word, short, long string) (Word, bool) {
	values := optionValues(args, short, long)
	if len(values) == 0 {
		return Word{}, false
	}
	return values[0], true
}

// optionValues returns the values of an option spelled -s or --long.
func optionValues(args []Word, short, long string) []Word {
	var values []Word
	for i, a := range args {
		cluster := len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' && strings.HasSuffix(a.Text, short)
		if (cluster || a.Text == "--"+long) && i+1 < len(args) {
			values = append(values, args[i+1])
		}
		if value, ok := strings.CutPrefix(a.source, "--"+long+"="); ok {
			values = append(values, Word{Text: value, source: value, from: a.from})
		}
	}
	return values
}
