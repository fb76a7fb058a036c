package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/chain"
)

// A tree is the content of a file in either language: a string, a bool, nil, a
// json.Number, a []tree or a []pair.
type tree any

type pair struct {
	key   string
	value tree
}

func TestF9_JSONAndYAMLThatSayTheSameLoadAsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := drawFile(t)
		asJSON, asYAML := appendJSONTree(t, nil, said), appendBlock(t, nil, said, 0)
		one, other := parsed(asJSON), parsed(asYAML)
		if len(one.errors)+len(other.errors) > 0 {
			t.Fatalf("JSON:\n%s\n%v\nYAML:\n%s\n%v", asJSON, one.errors, asYAML, other.errors)
		}
		if diff := cmp.Diff(one.file, other.file, cmp.AllowUnexported(File{}), cmpopts.IgnoreFields(File{}, "budgetAt", "auditAt"),
			cmpopts.IgnoreFields(Position{}, "Line", "Column"), cmpopts.IgnoreFields(Hook{}, "When", "keys")); diff != "" {
			t.Fatalf("JSON:\n%s\nYAML:\n%s\n(-JSON +YAML):\n%s", asJSON, asYAML, diff)
		}
		for i, h := range one.file.Hooks {
			for _, req := range sampleRequests() {
				if asked(h, req) != asked(other.file.Hooks[i], req) {
					t.Fatalf("JSON:\n%s\nYAML:\n%s\nask differently about %s", asJSON, asYAML, req.JSON())
				}
			}
		}
	})
}

type outcome struct {
	file   *File
	errors Errors
}

// parsed parses a text as the only file in a directory.
func parsed(text []byte) outcome {
	r := reading{
		file: "hooks.yaml", dir: "/etc/hookgate", home: "/etc/hookgate", guards: []string{"shell", "paths"},
		fill: filler{
			lookup: lookup(map[string]string{"TEAM": "red"}),
			read: func(path string) ([]byte, error) {
				return []byte("content of " + filepath.Base(path) + "\n"), nil
			},
		},
	}
	f := r.parseFile(text)
	return outcome{f, r.errors}
}

func asked(h *Hook, req *chain.Request) bool { return h.When == nil || h.When(req, time.Time{}) }

func sampleRequests() []*chain.Request {
	var all []*chain.Request
	for _, input := range []string{`{}`, `{"command":"git push","n":1.0}`, `{"command":["a"],"n":null}`, `"raw"`, `{"command":"a","n":[1,{"b":2}]}`} {
		req, err := chain.ParseRequest([]byte(`{"hook_schema":1,"event":"pre_tool_use","workspace":"","agent_id":"","tool_call_id":"","tool_name":"x","input":` + input + `}`))
		if err != nil {
			panic(err)
		}
		all = append(all, req)
	}
	return all
}

func number10(t *rapid.T, most int, label string) tree {
	return json.Number(rapid.StringMatching(`[1-9][0-9]{0,4}`).Filter(func(s string) bool {
		return len(s) < 5 || most >= 99999
	}).Draw(t, label))
}

func drawFile(t *rapid.T) tree {
	file := []pair{{"schema", json.Number("1")}}
	if rapid.Bool().Draw(t, "budget") {
		file = append(file, pair{"budget_ms", number10(t, 99999, "budget_ms")})
	}
	if rapid.Bool().Draw(t, "coverage") {
		file = append(file, pair{"on_uncovered", rapid.SampledFrom([]tree{"allow", "deny"}).Draw(t, "on_uncovered")})
	}
	hooks := []tree{}
	for range rapid.IntRange(0, 3).Draw(t, "hooks") {
		hooks = append(hooks, drawHook(t))
	}
	return shuffled(t, append(file, pair{"hooks", hooks}))
}

func shuffled(t *rapid.T, pairs []pair) []pair { return rapid.Permutation(pairs).Draw(t, "order") }

func drawHook(t *rapid.T) tree {
	hook := []pair{{"name", rapid.StringMatching(`[a-zäß0-9:#\[\]{}*&!|>%@, -]{1,12}`).Draw(t, "name")}}
	maybe := func(key string, value func() tree) {
		if rapid.Bool().Draw(t, key) {
			hook = append(hook, pair{key, value()})
		}
	}
	sampled := func(all ...tree) func() tree {
		return func() tree { return rapid.SampledFrom(all).Draw(t, "one of") }
	}
	maybe("event", sampled("pre_tool_use"))
	maybe("mode", sampled("shadow", "enforce"))
	maybe("guard", sampled(true, false))
	maybe("on_failure", sampled("deny", "allow"))
	maybe("timeout_ms", func() tree { return number10(t, 99999, "timeout_ms") })
	maybe("tools", func() tree { return []tree{"shell", rapid.StringMatching(`[a-z*_]{1,8}`).Draw(t, "tool")} })
	maybe("when", func() tree {
		field := rapid.SampledFrom([]string{"/input/command", "/input/n", "/input", "/input/n/1/b"}).Draw(t, "field")
		ask := rapid.SampledFrom([]pair{{"equals", drawValue(t, 2)}, {"glob", drawText(t)}, {"exists", true}, {"matches", "^git"}}).Draw(t, "ask")
		return []tree{shuffled(t, []pair{{"field", field}, ask})}
	})
	limits := func() { maybe("max_in_flight", func() tree { return number10(t, 9999, "max_in_flight") }) }
	texts := func() tree {
		return []pair{{"A", drawText(t)}, {"B", "${TEAM} and ${file:token}"}, {"C", "$$x"}}
	}
	switch rapid.IntRange(0, 2).Draw(t, "binding") {
	case 0:
		hook = append(hook, pair{"command", []tree{"./x", drawText(t), drawText(t)}})
		maybe("env", texts)
		maybe("worker", func() tree { return []pair{{"processes", json.Number("3")}} })
		limits()
	case 1:
		hook = append(hook, pair{"url", "https://example.com/a?b=c"})
		maybe("headers", func() tree { return []pair{{"X-A", "${TEAM}"}, {"x-b", "a: b, #c"}} })
		maybe("breaker", func() tree {
			return []pair{{"open_ms", number10(t, 99999, "open_ms")}, {"failure_ratio", json.Number("0.25")}}
		})
		limits()
	default:
		hook = append(hook, pair{"use", "shell"})
		maybe("with", func() tree { return []pair{{"a", drawValue(t, 3)}, {"b c", drawValue(t, 3)}, {"true", drawText(t)}} })
	}
	return shuffled(t, hook)
}

// drawText draws a string that is hard to quote.
func drawText(t *rapid.T) string {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("abz09 .,:;-_#{}[]&*!|>%@`'\"\\/?~<=+()ä€日😀\n\t")), 0, 12, -1)
	words := rapid.SampledFrom([]string{"yes", "no", "true", "null", "~", "1", "1.0", "0x10", "1e3", "2026-11-30", "", " ", "-", "?", "<<", ".inf", "\n\n x"})
	return strings.ReplaceAll(rapid.OneOf(text, words).Draw(t, "text"), "${", "$ {")
}

func drawValue(t *rapid.T, depth int) tree {
	most := 5
	if depth == 0 {
		most = 3
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return drawText(t)
	case 1:
		return json.Number(rapid.SampledFrom([]string{"0", "-0", "1.0", "9007199254740993", "1e400", "-1.5E+3", "123456789012345678901234567890"}).Draw(t, "number"))
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		list := []tree{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	default:
		pairs := []pair{}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b c", "1", "no", "", "ä"}), 0, 3, rapid.ID).Draw(t, "keys") {
			pairs = append(pairs, pair{key, drawValue(t, depth-1)})
		}
		return pairs
	}
}

// blank draws whitespace between JSON tokens.
func blank(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n\t"}).Draw(t, "blank")
}

// appendJSONTree writes a tree as JSON, with whitespace and unnecessary
// escapes.
func appendJSONTree(t *rapid.T, dst []byte, v tree) []byte {
	dst = append(dst, blank(t)...)
	switch v := v.(type) {
	case []tree:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONTree(t, dst, item)
		}
		dst = append(append(dst, blank(t)...), ']')
	case []pair:
		dst = append(dst, '{')
		for i, p := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(appendJSONTree(t, dst, p.key), blank(t)...), ':')
			dst = appendJSONTree(t, dst, p.value)
		}
		dst = append(append(dst, blank(t)...), '}')
	default:
		dst = append(dst, scalarJSON(v)...)
	}
	return dst
}

func scalarJSON(v tree) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// appendBlock writes a tree as block YAML, and sometimes as flow YAML.
func appendBlock(t *rapid.T, dst []byte, v tree, indent int) []byte {
	margin := strings.Repeat(" ", indent)
	pairs, isMapping := v.([]pair)
	items, isList := v.([]tree)
	flow := indent > 0 && rapid.Bool().Draw(t, "flow")
	switch {
	case isMapping && len(pairs) > 0 && !flow:
		for _, p := range pairs {
			dst = append(dst, "\n"+margin+yamlScalar(t, p.key)+": "...)
			dst = appendBlock(t, dst, p.value, indent+2)
		}
		return dst
	case isList && len(items) > 0 && !flow:
		for _, item := range items {
			dst = append(dst, "\n"+margin+"- "...)
			dst = appendBlock(t, dst, item, indent+2)
		}
		return dst
	}
	return append(appendFlow(t, dst, v), rapid.SampledFrom([]string{"", " # a comment"}).Draw(t, "comment")...)
}

func appendFlow(t *rapid.T, dst []byte, v tree) []byte {
	switch v := v.(type) {
	case []tree:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendFlow(t, dst, item)
		}
		return append(dst, ']')
	case []pair:
		dst = append(dst, '{')
		for i, p := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(append(dst, yamlScalar(t, p.key)...), ": "...)
			dst = appendFlow(t, dst, p.value)
		}
		return append(dst, '}')
	}
	return append(dst, yamlScalar(t, v)...)
}

func yamlScalar(t *rapid.T, v tree) string {
	s, ok := v.(string)
	if !ok {
		return string(scalarJSON(v))
	}
	plain := regexp.MustCompile(`^[a-z./$][a-zA-Z./_$-]*$`).MatchString(s) && s != "true" && s != "false" && s != "null" && s[0] != '.'
	single := !strings.ContainsAny(s, "\n\t")
	switch style := rapid.IntRange(0, 2).Draw(t, "style"); {
	case plain && style == 0:
		return s
	case single && style == 1:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return string(bytes.ReplaceAll(scalarJSON(s), []byte(`/`), []byte(`\/`)))
}
