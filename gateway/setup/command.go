package setup

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// askLine returns the command line of a client's hook. gateway ask itself denies
// whatever goes wrong, but only if it runs at all: most clients treat every exit
// code other than 2 as an allow, including that of a missing (127) or killed
// (137) program. The line contains no variables, because some clients expand
// those in their settings.
func askLine(a asked, event string) string {
	token := ""
	if a.tokenFile != "" {
		token = " --token-file " + quoted(a.tokenFile)
	}
	return fmt.Sprintf("%s ask --client %s --event %s --url %s --timeout %v%s || { [ $? -eq 2 ] || echo 'hookgate: gateway ask failed, so this is denied' >&2; exit 2; }",
		quoted(a.program), a.client, event, quoted(a.url), a.patience, token)
}

// closesEveryExit reports whether a line maps every failure of gateway ask to
// the exit code that blocks.
func closesEveryExit(line string) bool { return strings.Contains(line, "exit 2; }") }

// quoted quotes a word for a POSIX shell.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// words splits a line that was built with quoted into words, up to the first
// operator.
func words(line string) []string {
	var all []string
	var word strings.Builder
	inside, any := false, false
	flush := func() {
		if any {
			all = append(all, word.String())
		}
		word.Reset()
		any = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			inside, any = !inside, true
		case inside:
			word.WriteByte(c)
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			any = true
		case c == ' ' || c == '\t' || c == '\n':
			flush()
		case strings.IndexByte("|&;<>", c) >= 0:
			flush()
			return all
		default:
			word.WriteByte(c)
			any = true
		}
	}
	flush()
	return all
}

// asked holds the parameters of a line from askLine.
type asked struct {
	program, client, url, tokenFile string
	patience                        time.Duration
}

// readAskLine finds an invocation of gateway ask in a line, whether ours or one
// that the user wrote.
func readAskLine(line string) (a asked, ok bool) {
	w := words(line)
	for i := range w {
		switch {
		case w[i] == "ask" && i > 0:
			a.program = w[i-1]
		case filepath.Base(w[i]) == "gateway-ask":
			a.program = w[i]
		default:
			continue
		}
		a.patience = defaultPatience
		for j := i + 1; j < len(w); j++ {
			name, value, joined := strings.Cut(w[j], "=")
			if !joined && j+1 < len(w) {
				value = w[j+1]
			}
			switch "-" + strings.TrimLeft(name, "-") {
			case "-client":
				a.client = value
			case "-url":
				a.url = value
			case "-token-file":
				a.tokenFile = value
			case "-timeout":
				if d, err := time.ParseDuration(value); err == nil {
					a.patience = d
				}
			}
		}
		if a.client != "" {
			return a, true
		}
	}
	return asked{}, false
}
