package config

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestF1_MistakesAboutTheAuditTrailAreNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"hooks.yaml": `schema: 1
audit:
  required: yes
  include: [input, outputs]
  mask: [input, /output, "/input/~2", /workspace, 5]
  keep: 3
hooks: []
`, "chains/a.yaml": "schema: 1\nhooks: []\naudit: {}\n",
	})
	_, err := Load(Options{ConfigFile: filepath.Join(dir, "hooks.yaml"), ChainsDir: filepath.Join(dir, "chains")})
	var found Errors
	if !errors.As(err, &found) {
		t.Fatalf("it loads: %v", err)
	}
	var got []string
	for _, one := range found {
		one.File = filepath.Base(one.File)
		got = append(got, one.Error())
	}
	const pointer = ` is not a JSON pointer into the input or the output: it must begin with /input or /output, like "/input/headers/authorization"`
	want := []string{
		`hooks.yaml:3: audit.required: want true or false, not the string "yes": write true`,
		`hooks.yaml:4: audit.include[1]: unknown value "outputs", want input or output; did you mean "output"?`,
		`hooks.yaml:5: audit.mask[0]: "input"` + pointer,
		`hooks.yaml:5: audit.mask[1]: there is nothing to mask: records contain the output only if include lists it`,
		`hooks.yaml:5: audit.mask[2]: "/input/~2"` + pointer,
		`hooks.yaml:5: audit.mask[3]: "/workspace"` + pointer,
		`hooks.yaml:5: audit.mask[4]: want a string, not the number 5: quote it, as "5"`,
		`hooks.yaml:6: audit: unknown key "keep"; known: required, include and mask`,
		`a.yaml:3: unknown key "audit"; known: schema, budget_ms, on_uncovered and hooks`, // of the operator's alone
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestMasksKeepEveryByteThatTheyDoNotHide(t *testing.T) {
	for _, tc := range []struct{ mask, value, want string }{
		{"/input", `{"a":1}`, `"[masked]"`},
		{"/input/a", `{"a":{"b":9007199254740993},"c":1e400}`, `{"a":"[masked]","c":1e400}`},
		{"/input/a/b", `{"a":[1,2],"b":1.0,"<":"&"}`, `{"a":[1,2],"b":1.0,"<":"&"}`},
		{"/input/*/b", `[{"b":1},{"b":2,"c":3},4,[5]]`, `[{"b":"[masked]"},{"b":"[masked]","c":3},4,[5]]`},
		{"/input/1", `[1,[2],3]`, `[1,"[masked]",3]`},
		{"/input/a", `{"\u0061":1,"b":"\ud83d"}`, `{"\u0061":"[masked]","b":"\ud83d"}`},
		{"/input/a", `{}`, `{}`},
		{"/input/a", `[]`, `[]`},
		{"/input/a", `"text"`, `"text"`},
		{"/input/a", `{"a":`, `"[masked]"`},
	} {
		path, ok := splitPointer(tc.mask)
		if !ok {
			t.Fatal(tc.mask)
		}
		a := Audit{Mask: [][]string{path}}
		if got := string(a.MaskInput([]byte(tc.value))); got != tc.want {
			t.Errorf("%s of %s is %s, want %s", tc.mask, tc.value, got, tc.want)
		}
		if got := string(a.MaskOutput([]byte(tc.value))); got != tc.value {
			t.Errorf("a mask of inputs changes an output to %s", got)
		}
	}
}
