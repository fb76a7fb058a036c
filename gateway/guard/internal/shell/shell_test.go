package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

// scriptOf parses a command line as if it were the whole call.
func scriptOf(text, dir string) (Script, error) {
	return Read(work.For(context.Background(), len(text)), text, dir)
}

// read returns the result of Read, one line per command: its directory if any,
// its name and words, the files that it is redirected to, and the commands
// whose output it runs.
func read(tb testing.TB, text string) string {
	tb.Helper()
	script, err := scriptOf(text, "")
	if err != nil {
		return "error: " + err.Error()
	}
	var out strings.Builder
	if script.Bomb {
		out.WriteString("bomb\n")
	}
	for _, c := range script.Commands {
		if c.Dir != "" {
			out.WriteString(c.Dir + ": ")
		}
		words := []string{c.Name}
		for _, a := range c.Args {
			word := a.Text
			if a.Unset != "" {
				word += "(" + a.Unset + ")"
			}
			words = append(words, word)
		}
		for _, w := range c.Writes {
			words = append(words, ">"+w.Text)
		}
		for _, name := range sourcesOf(script, c) {
			words = append(words, "runs:"+name)
		}
		out.WriteString(strings.Join(words, "|") + "\n")
	}
	return strings.TrimSuffix(strings.ReplaceAll(out.String(), Opaque, "?"), "\n")
}

// sourcesOf returns the programs whose output a command runs.
func sourcesOf(script Script, c Command) []string {
	var sources []string
	for at, to := c.Runs(); at < to; at++ {
		if name := script.Commands[at].Name; name != "" {
			sources = append(sources, name)
		}
	}
	return sources
}

// check parses each text and compares the result.
func check(t *testing.T, cases map[string]string) {
	t.Helper()
	for text, want := range cases {
		if diff := cmp.Diff(want, read(t, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestS1_WhatCannotBeReadWholeIsAnError(t *testing.T) {
	check(t, map[string]string{
		`echo 'open`:        "error: the shell parser says: 1:6: reached EOF without closing quote `'`",
		`rm x; if y`:        "error: the shell parser says: 1:7: `if <cond>` must be followed by `then`",
		`sh -c 'if x'`:      "error: in a script inside it: the shell parser says: 1:1: `if <cond>` must be followed by `then`",
		`echo ) ; rm x`:     "error: the shell parser says: 1:6: a command can only contain words and redirects; encountered `)`",
		"cat <<EOF\nx":      "error: the shell parser says: 1:5: unclosed here-document `EOF`",
		`eval 'eval "x ("'`: "error: in a script inside it: in a script inside it: the shell parser says: 1:1: `foo(` must be followed by `)`",
		`echo 'x (' | sh`:   "error: in a script inside it: the shell parser says: 1:1: `foo(` must be followed by `)`",
		`alias x='('`:       "error: in a script inside it: the shell parser says: 1:1: `(` must be followed by a statement list",
	})
}

func TestS1_AnErrorAnywhereIsTheErrorOfTheWhole(t *testing.T) {
	bad := strings.Repeat("{", maxOpen+1)
	for _, text := range []string{
		`%`, `a; %`, `a && %`, `a | %`, `(%)`, `{ %; }`, `if %; then a; fi`, `if a; then %; fi`, `if a; then b; else %; fi`, `while %; do a; done`,
		`for x in %; do a; done`, `for x in a; do %; done`, `for ((i=$(%);;)); do a; done`, `case % in a) b;; esac`, `case a in %) b;; esac`,
		`case a in b) %;; esac`, `f() { %; }`, `declare x=%`, `x=%`, `x=% a`, `x=($(%))`, `x=([1]=$(%) 2)`, `time %`, `coproc %`, `a > %`, `% > a`, `[[ $(%) ]]`,
		`[[ <(%) && a ]]`, `a $(%)`, `a <(%)`, `a "$(%)"`, `a $((1 + $(%) + $(b)))`, `a ${x:-%}`, `a ${x/$(%)/b}`, `a ${#x[$(%)]}`, "cat <<EOF\n$(%)\nEOF",
		`cat <<< %`, `sudo a; find . -exec sh -c '%' \;`, `eval '%'`, `echo '%' | sh`, `a {b,$(%)}`, `a {b,{c,$(%)}}d`, `a{b,c}$(%)`,
	} {
		_, err := scriptOf(strings.ReplaceAll(text, "%", bad), "")
		if err == nil || !strings.HasSuffix(err.Error(), errOpen.Error()) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func TestS2_ProgramsAreFoundWhereverTheyStand(t *testing.T) {
	check(t, map[string]string{
		`a b`:                "a|b",
		`/usr/bin/A.exe b`:   "a|b",
		`a; b && c || d & e`: "a\nb\nc\nd\ne",
		`a | b |& c`:         "a\nb\nc",
		`! a`:                "a",
		`(a; { b; }; (c))`:   "a\nb\nc",
		`if a; then b; elif c; then d; else e; fi`: "a\nb\nc\nd\ne",
		`while a; do b; done; until c; do d; done`: "a\nb\nc\nd",
		`for x in $(a) b; do c $x; done`:           "a\nc|?",
		`for ((i=$(a); i<2; i++)); do b; done`:     "a\nb",
		`select x in a; do b; done`:                "b",
		`case $(a) in $(b)) c;; *) d;; esac`:       "a\nb\nc\nd",
		`f() { a; }; f`:                            "a\nf",
		`time a; coproc b; time`:                   "a\nb",
		`echo $(a) "$(b)" <(c) >(d) $((1+$(e)))`:   "a\nb\nc\nd\ne\necho|?|?|?|?|?",
		"`a`":                                      "a\n|runs:a",
		`x=$(a) c; y=(1 $(b))`:                     "a\nc\nb",
		`[[ -f $(a) ]]; (( $(b) )); let "x=$(c)"`:  "a\nb\nc",
		`declare x=$(a); export y="$(b)"`:          "a\nb",
		`echo ${x:-$(a)} ${x:+$(b)} ${x/$(c)/d} ${x:$(e)} ${#x} ${!x} ${x[$(f)]}`: "a\nb\nc\ne\nf\necho|?|(x)|(x)|(x)|?|?|(x)",
		`cat <<EOF` + "\n$(a)\nEOF": "a\ncat",
		`cat <<< "$(a)"`:            "a\ncat",
		`a > $(b)`:                  "b\na|>?",
		// programs that run others
		`sudo -u x -g y --user z A=b -- a c`:                  "sudo|-u|x|-g|y|--user|z|A=b|--|a|c\na|c",
		`doas -u x a`:                                         "doas|-u|x|a\na",
		`env -u X -C /tmp A=b a`:                              "env|-u|X|-C|/tmp|A=b|a\na",
		`env -S 'a b'`:                                        "env|-S|a b\na|b",
		`env --split-string='a b'`:                            "env|--split-string=a b\na|b",
		`nohup nice -n 5 ionice -c 2 setsid a`:                "nohup|nice|-n|5|ionice|-c|2|setsid|a\nnice|-n|5|ionice|-c|2|setsid|a\nionice|-c|2|setsid|a\nsetsid|a\na",
		`timeout --signal KILL 5 a`:                           "timeout|--signal|KILL|5|a\na",
		`stdbuf -oL a; command a; builtin a`:                  "stdbuf|-oL|a\na\ncommand|a\na\nbuiltin|a\na",
		`exec -a x a; busybox a; chroot /x a`:                 "exec|-a|x|a\na\nbusybox|a\na\nchroot|/x|a\na",
		`strace -o f a; runuser -u x a`:                       "strace|-o|f|a\na\nrunuser|-u|x|a\na",
		`\time -f x a; taskset 1 a; caffeinate -t 5 a`:        "time|-f|x|a\na\ntaskset|1|a\na\ncaffeinate|-t|5|a\na",
		`xargs -0 -n 1 a`:                                     "xargs|-0|-n|1|a\na",
		`echo b c | xargs a`:                                  "echo|b|c\nxargs|a\na|b|c",
		`find . -name x -exec a {} \; -execdir b x{} + -ok c`: "find|.|-name|x|-exec|a|{}|;|-execdir|b|x{}|+|-ok|c\na|?\nb|x?\nc",
		`flock /x a; flock /x -c 'b c'`:                       "flock|/x|a\na\nflock|/x|-c|b c\nb|c",
		`ssh -p 1 h a b; ssh h; ssh h 'a; b'`:                 "ssh|-p|1|h|a|b\n/home/~: a|b\nssh|h\nssh|h|a; b\n/home/~: a\n/home/~: b",
		`watch -n 1 'a | b'`:                                  "watch|-n|1|a | b\na\nb",
		`trap 'a' EXIT; trap`:                                 "trap|a|EXIT\na\ntrap",
		`alias x='a b' y`:                                     "alias|x=a b|y\na|b",
		`su - x -c 'a'; script -c a; su`:                      "su|-|x|-c|a\na\nscript|-c|a\na\nsu",
		// shells
		`sh -c a; bash -xec 'a b' c`:              "sh|-c|a\na\nbash|-xec|a b|c\na|b",
		`bash --norc -o pipefail +o x -c 'a' --`:  "bash|--norc|-o|pipefail|+o|x|-c|a|--\na",
		`bash --rcfile x -c a; sh - b; sudo -u x`: "bash|--rcfile|x|-c|a\na\nsh|-|b\nsudo|-u|x",
		`bash -c -- a`:                      "bash|-c|--|a\na",
		`sh x.sh; sh -x; sh -s a; sh -c`:    "sh|x.sh\nsh|-x\nsh|-s|a\nsh|-c",
		`eval a "b c"`:                      "eval|a|b c\na|b|c",
		`echo -n a b | sh`:                  "echo|-n|a|b\nsh\na|b",
		`printf '%s %s\n' a b | sh`:         "printf|%s %s\\n|a|b\nsh\na|b",
		`printf 'a %d' 1 | sh; printf | sh`: "printf|a %d|1\nsh|runs:printf\nprintf\nsh|runs:printf",
		`echo a | cat - | sh; cat x | sh`:   "echo|a\ncat|-\nsh\na\ncat|x\nsh|runs:cat",
		"sh <<'EOF'\na $b\nEOF":             "sh\na|(b)",
		"sh <<-EOF\n\ta\n\tEOF":             "sh\na",
		"sh <<EOF\nEOF":                     "sh",
		`sh <<< 'a b'; sh < f; sh <&3`:      "sh\na|b\nsh\nsh",
		`{ sh; } <<< a; (sh) <<< b`:         "sh\na\nsh\nb",
		// where a script comes from
		`a | b | sh`:          "a\nb\nsh|runs:a|runs:b",
		`a | (b; sh)`:         "a\nb\nsh|runs:a",
		`sh <(a)`:             "a\nsh|?|runs:a",
		`sh < <(a)`:           "a\nsh|runs:a",
		`. <(a); source x; .`: "a\n.|?|runs:a\nsource|x\n.",
		`eval "$(a)" x`:       "a\neval|?|x|runs:a\n|x",
		`sh -c "x $(a) $(b)"`: "a\nb\nsh|-c|x ? ?\nx|?|?",
		`a | python3; a | python3 -; a | python3 x; python3 <(a); node -e "$(a)"`: "a\npython3|runs:a\na\npython3|-|runs:a\na\npython3|x\na\npython3|?|runs:a\na\nnode|-e|?|runs:a",
		`$(a) b`: "a\n|b|runs:a",
	})
}

func TestS2_WordsAreWhatTheShellWouldMakeOfThem(t *testing.T) {
	check(t, map[string]string{
		`a 'b c' "d e" f\ g`:                                   "a|b c|d e|f g",
		`a b'c'"d"\e`:                                          "a|bcde",
		`a "\$b \"c\" \d" '\'`:                                 `a|$b "c" \d|\`,
		"a b\\\nc \"d\\\ne\"":                                  "a|bc|de",
		`a $'\x41\101\u0042\U00000043\n\'\\\z\e'`:              "a|AABC\n'\\\\z\x1b",
		`a $'\x' $'\u' $'\U7fffffff' $'\'`:                     "error: the shell parser says: 1:29: reached EOF without closing quote `'`",
		`a $'\x' $'\xg' $'\U7fffffff' x$'y'`:                   "a|?|?g|?|xy",
		`a $"b"`:                                               "a|b",
		`a "" ''`:                                              "a||",
		`a ~ ~/b ~c '~' "~/b" \~`:                              "a|~|~/b|~c|./~|./~/b|./~",
		`a {b,c}d {e,{f,g}} {h} {i,} {1..3} x{`:                "a|bd|cd|e|f|g|{h}|i|?|x{",
		`a @(b|c) *.d [e]?`:                                    "a|*|*.d|[e]?",
		`a $HOME "${HOME}/b" $PWD $?`:                          "a|~|~/b|.|?",
		`X=b; a $X "$X c" ${X}d '$X'`:                          "a|b|b c|bd|$X",
		`X="b c"; a $X "$X" x${X}y; X=' b '; a x${X}y $X`:      "a|b|c|b c|xb|cy\na|x|b|y|b",
		`X=b a $X`:                                             "a|(X)",
		`X=b; X+=c; a $X; Y=(1 2); a ${Y[0]} $Y; Z[1]=2; a $Z`: "a|?\na|?|1\na|?",
		`export X=b; declare Y=c; a $X $Y; export X; a $X`:     "a|b|c\na|b",
		`read X Y; mapfile Z; a $X $Y $Z`:                      "read|X|Y\nmapfile|Z\na|?|?|?",
		`(X=b); a $X; X=c; (X=d; a $X); a $X`:                  "a|(X)\na|d\na|c",
		`a${IFS}b$IFS'c'`:                                      "a|b|c",
		`a $X $X/b "$X" x$Y$X`:                                 "a|(X)|/b(X)|(X)|x(Y)",
		`a ${X:-b} ${X-c} ${X:=d} $X ${Y=e}$Y`:                 "a|b|c|d|d|ee",
		`a ${X:?} ${X?no}; X=b; a ${X:?} ${X:-c} ${X:+d} ${X#e} ${X:1} ${X/f/g}`: "a|?|?\na|b|b|?|?|?|?",
		`a ${X%/} ${X:1} ${X/b/c} ${X^}`:                                         "a|(X)|(X)|(X)|(X)",
		`a $(echo b) "$(printf 'c d')" $(echo e f)`:                              "echo|b\nprintf|c d\necho|e|f\na|b|c d|e|f",
		`a "$(b; echo c)"`:      "b\necho|c\na|?",
		`echo -e 'a \x62' | sh`: "echo|-e|a \\x62\nsh\na|b",
		`$X a; $X $Y a`:         "a\na",
		`$X`:                    "",
		`sh -c "a $X '$Y'"`:     "sh|-c|a  ''(X)\na|(X)|${Y}",
	})
}

func TestS2_TheDirectoryIsFollowed(t *testing.T) {
	check(t, map[string]string{
		`cd /x; a; cd y; b; cd ..; c; cd /; d`: "cd|/x\n/x: a\n/x: cd|y\n/x/y: b\n/x/y: cd|..\n/x: c\n/x: cd|/\n/: d",
		`cd; a; cd ~/x/../..; b; cd ~u; c`:     "cd\n/home/~: a\n/home/~: cd|~/x/../..\n/home: b\n/home: cd|~u\n/home/~u: c",
		`cd x; a; cd ../..; b`:                 "cd|x\nx: a\nx: cd|../..\n..: b",
		`cd -; a; cd ..; b; cd y; c; cd /; d`:  "cd|-\n?: a\n?: cd|..\n..: b\n..: cd|y\n../y: c\n../y: cd|/\n/: d",
		`cd -; cd y; a; cd $X; b; popd; c`:     "cd|-\n?: cd|y\n?/y: a\n?/y: cd|(X)\n?: b\n?: popd\n?: c",
		`cd -P -- /x; a; pushd +1; b`:          "cd|-P|--|/x\n/x: a\n/x: pushd|+1\n/home/~: b",
		`(cd /x; a); b; cd /y | c; d`:          "cd|/x\n/x: a\nb\ncd|/y\nc\nd",
		`sh -c 'cd /x; a'; b`:                  "sh|-c|cd /x; a\ncd|/x\n/x: a\nb",
		`eval 'cd /x'; a; > f; { b; } > g`:     "eval|cd /x\ncd|/x\n/x: a\n/x: |>f\n/x: |>g\n/x: b",
		`cd $(a); b $PWD`:                      "a\ncd|?\n?: b|?",
	})
}

func TestS2_RedirectionsThatWriteAreKept(t *testing.T) {
	check(t, map[string]string{
		`a >b >>c >|d &>e &>>f <>g >&h 2>i 3>&1 2>&- <j`: "a|>b|>c|>d|>e|>f|>g|>h|>i",
		`> a; x=1 > b; (c) > d; while e; do f; done > g`: "|>a\n|>b\n|>d\nc\n|>g\ne\nf",
		`sudo a > b`: "sudo|a|>b\na|>b",
	})
}

func TestS2_AFunctionThatStartsItselfWithoutEndIsABomb(t *testing.T) {
	for text, want := range map[string]bool{
		`:(){ :|:& };:`: true, `f() { f & f; }`: true, `f() { f & f & }`: true, `f() ( g; f | f )`: true, `if x; then f() { f | f; }; fi`: true,
		`f() { f; f; }`: false, `f() { f & }`: false, `f() { f $1 | f $2; }`: false, `f() { g | g; }`: false, `g() { f | f; }`: false, `() f`: false,
	} {
		script, err := scriptOf(text, "")
		if err != nil || script.Bomb != want {
			t.Errorf("%s: bomb %v, %v", text, script.Bomb, err)
		}
	}
}

func TestS3_UnknownIsToldApartFromEmpty(t *testing.T) {
	check(t, map[string]string{
		`rm "$A"/x`:                    "rm|/x(A)",
		`A=$(b); rm "$A"/x`:            "b\nrm|?/x",
		`for A in *; do rm $A/x; done`: "rm|?/x",
		`A=; rm "$A"/x`:                "rm|/x",
		`rm "$@"/x "$1"/x "$#"/x`:      "rm|/x(@)|/x(1)|?/x",
	})
}

func TestS4_WhatIsTooMuchIsAnError(t *testing.T) {
	nested := func(open, end string, n int) string { return strings.Repeat(open, n) + "x" + strings.Repeat(end, n) }
	inScripts := "x"
	for range maxScripts {
		inScripts = "eval " + quote(inScripts)
	}
	const tooMuch = "parsing it takes more work than its length allows"
	doubling := "A=xxxxxxxxxx;"
	for range 30 {
		doubling += "A=$A$A;"
	}
	for name, c := range map[string]struct{ text, want string }{
		"long":             {strings.Repeat("x", MaxText+1), "it is longer than 131072 bytes"},
		"parentheses":      {nested("(", ")", 30_000), "it is nested too deep"},
		"substitutions":    {nested("$(", ")", 30_000), "it is nested too deep"},
		"quotes in quotes": {nested(`"$(`, `)"`, 20_000), "it is nested too deep"},
		"ifs":              {strings.Repeat("if ", 30_000), "it is nested too deep"},
		"arithmetic":       {"$((" + strings.Repeat("!", 100_000), "it is nested too deep"},
		"parameters":       {nested("${x:-", "}", 20_000), "it is nested too deep"},
		"commands":         {strings.Repeat("x;", maxCommands+1), "it has more than 4096 commands"},
		"pipes":            {"x" + strings.Repeat("|x", maxCommands+1), "it has more than 4096 commands"},
		"wrappers":         {strings.Repeat("sudo ", maxCommands+1), tooMuch},
		"finds in finds":   {strings.Repeat("find -exec ", 4000), tooMuch},
		"long directories": {"cd " + strings.Repeat("a/", 2000) + ";" + strings.Repeat("cd x/y/z;", 20), "the name of a directory that it runs in is longer than 4096 bytes"},
		"blanks":           {"A='" + strings.Repeat(" ", 50_000) + "';" + strings.Repeat("$A", 20_000), tooMuch},
		"redirections":     {strings.Repeat(">x;", maxCommands+1), "it has more than 4096 commands"},
		"braces":           {strings.Repeat("{a,b}", 9), "its braces make more than 256 words of one"},
		"braces and words": {strings.Repeat("{a,b}", 8) + strings.Repeat("'x'", 30_000), tooMuch},
		"many braces":      {strings.Repeat("{a,b}", 8) + strings.Repeat("x{c}'y'", 10_000), "a word of it opens more than 32 braces"},
		"heads and tails":  {strings.Repeat("'x'", 20_000) + "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}", tooMuch},
		"inner braces":     {"{a," + strings.Repeat("{b,c}", 9) + "}", "its braces make more than 256 words of one"},
		"braces in braces": {strings.Repeat("{a,", 33) + strings.Repeat("}", 33), "a word of it opens more than 32 braces"},
		"open braces":      {strings.Repeat("{", 100_000), "a word of it opens more than 32 braces"},
		"variables":        {doubling, tooMuch},
		"scripts":          {inScripts, "it is nested too deep"},
		"scripts of size":  {"A=" + strings.Repeat("x", 57_000) + strings.Repeat(";sh -c $A", 20), tooMuch},
		"xargs":            {"echo " + strings.Repeat("x ", 60_000) + "| " + strings.Repeat("xargs ", 20), tooMuch},
		"here-documents":   {strings.Repeat("sh <<E\n$A\nE\n", 10) + "A=" + strings.Repeat("x", 120_000) + "\n" + strings.Repeat("b <<E\n$A\nE\n", 20), tooMuch},
		"functions":        {strings.Repeat("f() { ", 20) + "x '" + strings.Repeat("y", 100_000) + "'" + strings.Repeat("; }", 20), tooMuch},
	} {
		_, err := scriptOf(c.text, "")
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that ends in %q", name, err, c.want)
		}
	}
}

func TestS4_ADirectoryWithTooLongANameIsAnError(t *testing.T) {
	const want = "the name of a directory that it runs in is longer than 4096 bytes"
	if _, err := scriptOf("a", strings.Repeat("x", MaxDir+1)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := scriptOf("a", strings.Repeat("x", MaxDir)); err != nil {
		t.Errorf("one of the longest: %v", err)
	}
}

func TestS4_ReadingStopsWhereTheContextHasEnded(t *testing.T) {
	why := errors.New("hung up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, text := range []string{"a", strings.Repeat("a ", 60_000), "x=$((1" + strings.Repeat("+1", 50_000) + "))"} {
		if _, err := Read(work.For(ctx, len(text)), text, ""); !errors.Is(err, why) {
			t.Errorf("%.20q…: error %v, want %v", text, err, why)
		}
	}
}

func TestPrintfFillsInWhatItsFormatSays(t *testing.T) {
	check(t, map[string]string{
		`printf '%s %s' a b | sh`:   "printf|%s %s|a|b\nsh\na|b",
		`printf '%s' 'a %s' b | sh`: "printf|%s|a %s|b\nsh\na|%s",
		`printf '%d %s' 1 a | sh`:   "printf|%d %s|1|a\nsh|runs:printf",
		`printf '%s %d' a 1 | sh`:   "printf|%s %d|a|1\nsh|runs:printf",
	})
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Quadratic work would not end in time, and quadratic stack would end the
// process.
func TestS4_LongTextThatIsNotDeepIsRead(t *testing.T) {
	for _, piece := range []string{
		"a ", "'a'", "$a", "\"$a\"", "a=b ", "x=1;", "a\\\n", "a[1]=b ", "${a}", "$'a'", "{a..b} ", "~", "$((1))", "<a ", "2>&1 ", "\\a",
	} {
		text := strings.Repeat(piece, 100_000/len(piece))
		if _, err := scriptOf(text, ""); err != nil {
			t.Errorf("%q: %v", piece, err)
		}
	}
	for _, text := range []string{
		strings.Repeat("# x\n", 20) + "a", strings.Repeat("# x\na\n", 2000),
		"if a; then b; " + strings.Repeat("elif a; then b; ", 1000) + "fi", "a" + strings.Repeat(" && a", 4000), "a" + strings.Repeat(" | sh", 4000),
		"echo " + strings.Repeat("x", 1000) + strings.Repeat(" | cat", 4000), "x=$((1" + strings.Repeat("+1", 50_000) + "))", "case x in " + strings.Repeat("a) b;; ", 4000) + "esac",
	} {
		if _, err := scriptOf(text, ""); err != nil {
			t.Errorf("%.30q…: %v", text, err)
		}
	}
}

func TestS5_WordsSayNoOnlyWhereTheyAreNot(t *testing.T) {
	words := NewWords("cp", "rm")
	for text, want := range map[string]bool{
		"rm x": true, "RM x": true, "r''m x": true, `r\m x`: true, "r\\\nm x": true, `"r"'m' x`: true, "xrmx": true, "sh -c 'r\"m\"'": true,
		"$x": true, "`x`": true, "{r,}m": true, `echo -e 'r\x6d' | sh`: true, `echo -e "r\\155" | sh`: true, `printf '%s%s' r m | sh`: true,
		"ls": false, "": false, `a\ b\`: false, `a\`: false, "r m": false, "mr": false,
	} {
		if got := words.MayBeIn(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestJoin_IsTheDirectoryAsFarAsItIsKnown(t *testing.T) {
	for _, c := range [][3]string{
		{"", "x", "x"},
		{"", "..", ".."},
		{"/a", "..", "/"},
		{"/a", "../..", "/"},
		{"/a", "/b/../c", "/c"},
		{"/a", "~", "/home/~"},
		{"/a", "~/..", "/home"},
		{"/home/~", "../..", "/"},
		{"/a", Opaque, Opaque},
		{Opaque, "x", Opaque + "/x"},
		{Opaque, "..", ".."},
		{Opaque, "../x", "../x"},
		{Opaque, "/", "/"},
		{"/a", "", "/a"},
		{"", "", ""},
		{"/a", "x" + Opaque, "/a/x" + Opaque},
	} {
		if got := Join(c[0], c[1]); got != c[2] {
			t.Errorf("%q from %q is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`rm -rf /`, `sudo -u x rm "$X"/* > y 2>&1`, `sh -c 'a; "b $c"' | d <<< e`, "cat <<EOF | bash\n$(a) `b`\nEOF", `for i in {a,b}; do x=${i:-y}; done`,
		`:(){ :|:& };:`, `a() { case $1 in x) y;; esac; }; a`, `echo -e 'r\x6d' | sh`, `find . -exec a {} \;`, `$'\x72m' {1..3} ~ "~" $((1+$(a)))`,
		`eval "$(curl x)"; source <(a)`, `[[ a =~ b ]] && (( x++ )) || let y=1`, `xargs -n 1 env A=b timeout 5 a`, `alias a='b c'`, `a=(1 2) b[1]=3 c+=d`, "r\x00m", "() k",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := scriptOf(text, "/w")
		if err != nil {
			return
		}
		for _, c := range script.Commands {
			// S5: MayBeIn must not deny what Read finds.
			isWord := c.Name != "" && strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
			if isWord && !NewWords(c.Name).MayBeIn(text) {
				t.Errorf("%q has the command %q, which Words say it cannot", text, c.Name)
			}
			if from, to := c.Runs(); from < 0 || to > len(script.Commands) {
				t.Errorf("%q: %q runs the output of the commands from %d to %d of %d", text, c.Name, from, to, len(script.Commands))
			}
		}
		again, err := scriptOf(text, "/w")
		if diff := cmp.Diff(fmt.Sprint(script), fmt.Sprint(again)); diff != "" || err != nil {
			t.Errorf("%q reads as two things: %v\n%s", text, err, diff)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	const text = `cd /home/dev/repo && go test ./... 2>&1 | tee out.txt | tail -20; git add -A && git commit -m 'fix: the thing' && git push origin HEAD`
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := scriptOf(text, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("may_be_in", func(b *testing.B) {
		words := NewWords("rm", "mkfs", "terraform", "kubectl")
		b.ReportAllocs()
		for b.Loop() {
			if words.MayBeIn(text) {
				b.Fatal("it is named")
			}
		}
	})
}
