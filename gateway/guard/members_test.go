package guard

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/guard/internal/work"
)

func wantedOfTest() []string { return []string{"command", "args", "Force"} }

// modelWalk computes the visits of a walk with the standard library's decoder.
type modelWalk struct {
	dec     *json.Decoder
	visited [][]member
}

// value reads the value of a name ("" if it is not wanted) and returns it as a
// member.
func (w *modelWalk) value(t *rapid.T, name string, inArray bool) member {
	token := w.token(t)
	switch v := token.(type) {
	case string:
		return member{name: name, text: v, kind: textMember}
	case json.Number:
		if inArray {
			return member{name: name, text: v.String(), kind: textMember}
		}
	case bool:
		if v {
			return member{name: name, kind: trueMember}
		}
	case json.Delim:
		if v == '[' {
			return w.array(t, name)
		}
		w.object(t)
	}
	return member{}
}

func (w *modelWalk) token(t *rapid.T) json.Token {
	token, err := w.dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (w *modelWalk) array(t *rapid.T, name string) member {
	var list []string
	for w.dec.More() {
		if m := w.value(t, name, true); m.kind == textMember && name != "" {
			list = append(list, m.text)
		}
	}
	w.token(t)
	if len(list) == 0 {
		return member{}
	}
	return member{name: name, list: list, kind: listMember}
}

func (w *modelWalk) object(t *rapid.T) {
	var members []member
	for w.dec.More() {
		name := ""
		said, _ := w.token(t).(string)
		for _, wanted := range wantedOfTest() {
			if strings.EqualFold(wanted, said) {
				name = wanted
			}
		}
		if m := w.value(t, name, false); m.kind != 0 && name != "" {
			members = append(members, m)
		}
	}
	w.token(t)
	if len(members) > 0 {
		w.visited = append(w.visited, members)
	}
}

// jsonText draws a JSON text with whitespace anywhere.
func jsonText(t *rapid.T, depth int) string {
	blank := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "blank") }
	kinds := []string{"text", "literal"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "object")
	}
	several := func(one func() string) string {
		all := make([]string, rapid.IntRange(0, 4).Draw(t, "size"))
		for i := range all {
			all[i] = blank() + one() + blank()
		}
		return strings.Join(all, ",")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "array":
		return "[" + blank() + several(func() string { return jsonText(t, depth-1) }) + "]"
	case "object":
		return "{" + blank() + several(func() string {
			name := rapid.SampledFrom([]string{"command", "COMMAND", `\u0063ommand`, "args", "force", "a", `a\"`, "", "ar\u0261s", "arg\u017f"}).Draw(t, "name")
			return `"` + name + `"` + blank() + ":" + blank() + jsonText(t, depth-1)
		}) + "}"
	case "literal":
		return rapid.SampledFrom([]string{"true", "false", "null", "0", "-1.5e+7", "9007199254740993"}).Draw(t, "literal")
	}
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"rm", " ", `\\`, `\"`, ":", ",", "[", "{", "]", "}", `\n`, "é", `\ud83d`, "\u2028"}), 0, 6).Draw(t, "text")
	return `"` + strings.Join(parts, "") + `"`
}

func TestG1_TheWalkSeesWhatADecoderSees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := jsonText(t, 4)
		model := modelWalk{dec: json.NewDecoder(strings.NewReader(text))}
		model.dec.UseNumber()
		model.value(t, "", false)
		var visited [][]member
		err := eachObject(work.Unbounded(t.Context()), json.RawMessage(text), wantedOfTest(), func(members []member) error {
			visited = append(visited, members)
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(model.visited, visited, cmp.AllowUnexported(member{})); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
	})
}

func TestG1_AWalkEndsWhateverItIsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{`"`, `\`, "{", "}", "[", "]", ":", ",", "true", "1", "a", " ", `"args"`})).Draw(t, "parts"), "")
		err := eachObject(work.Unbounded(t.Context()), json.RawMessage(text), wantedOfTest(), func([]member) error { return nil })
		if err != nil && chain.CheckValue([]byte(text)) == nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
