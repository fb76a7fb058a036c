package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

// github returns a token, assembled here so that secret scanners do not report
// this file.
func github() string { return "ghp_" + bodyOf(alnum, 36) }

const hidden = "[redacted: github-token]"

// redact returns a redacted JSON value, which is unchanged if nothing is found.
func redact(tb testing.TB, value string) (string, Found) {
	tb.Helper()
	found, err := NewFinder(nil).Redact(context.Background(), []byte(value))
	if err != nil {
		tb.Fatal(err)
	}
	if found.JSON == nil {
		return value, found
	}
	return string(found.JSON), found
}

func TestR1_EverythingElseStaysAsItWas(t *testing.T) {
	g := github()
	for value, want := range map[string]string{
		`"` + g + `"`:               `"` + hidden + `"`,
		`"a ` + g + ` b"`:           `"a ` + hidden + ` b"`,
		` [ "` + g + `" ] `:         ` [ "` + hidden + `" ] `,
		`["` + g + `","` + g + `"]`: `["` + hidden + `","` + hidden + `"]`,
		`{"b":1.0,"a":[1e400,9007199254740993,true,null,"` + g + `"],"b2":"<>&"}`: `{"b":1.0,"a":[1e400,9007199254740993,true,null,"` + hidden + `"],"b2":"<>&"}`,
		"{\n\t\"x\" : \"\\u00e9\\/\\ud83d\\ude00 " + g + " \\ud83d\\n\"\r\n}":     "{\n\t\"x\" : \"\\u00e9\\/\\ud83d\\ude00 " + hidden + " \\ud83d\\n\"\r\n}",
		`"é` + g + `"`:     `"é` + hidden + `"`,
		`"\"` + g + `\""`:  `"\"` + hidden + `\""`,
		`"\\` + g + `\\"`:  `"\\` + hidden + `\\"`,
		`"\\\\n` + g + `"`: `"\\\\n` + hidden + `"`,
		strings.Repeat("[", 500) + `"` + g + `"` + strings.Repeat("]", 500): strings.Repeat("[", 500) + `"` + hidden + `"` + strings.Repeat("]", 500),
	} {
		got, found := redact(t, value)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
		if found.InName || found.Count == 0 {
			t.Errorf("%s: %+v", value, found)
		}
	}
}

func TestR1_AValueWithoutCredentialsIsNotCopied(t *testing.T) {
	for _, value := range []string{`null`, `1`, `""`, `{}`, `[]`, `{"a":{"b":["c",1]}}`, `"plain"`, `"\u0041\n"`, ``} {
		found, err := NewFinder(nil).Redact(context.Background(), []byte(value))
		if diff := cmp.Diff(Found{}, found); diff != "" || err != nil {
			t.Errorf("%s: %v %s", value, err, diff)
		}
	}
}

func TestR3_EscapesDoNotHideACredential(t *testing.T) {
	g := github()
	key := bodyOf(base64&^equals, 64)
	var escaped strings.Builder
	for _, c := range []byte(g) {
		escaped.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
	}
	for value, want := range map[string]string{
		`"` + escaped.String() + `"`:                                              `"` + hidden + `"`,
		`"x` + `\n` + escaped.String() + `\t` + `y"`:                              `"x\n` + hidden + `\ty"`,
		`"\u0067hp_` + g[4:] + `"`:                                                `"` + hidden + `"`,
		`"{\"k\":\"` + g + `\"}"`:                                                 `"{\"k\":\"` + hidden + `\"}"`,
		`"{\"k\":\"{\\\"k\\\":\\\"` + g + `\\\"}\"}"`:                             `"{\"k\":\"{\\\"k\\\":\\\"` + hidden + `\\\"}\"}"`,
		`"-----BEGIN PRIVATE KEY-----\n` + key + `\n-----END PRIVATE KEY-----\n"`: `"[redacted: private-key]\n"`,
		`"\r\b\f` + g + `\f\/"`:                                                   `"\r\b\f` + hidden + `\f\/"`,
		`"a://b:\u0068unter22@c"`:                                                 `"a://b:[redacted: url-password]@c"`,
		`"a://b:p\u00e4ss\ud83d\ude00word1@c"`:                                    `"a://b:[redacted: url-password]@c"`,
		`"PASSWORD=h\u00fcnter\"22"`:                                              `"PASSWORD=[redacted: assigned-secret]\"22"`,
	} {
		if got, _ := redact(t, value); got != want {
			t.Errorf("%s\n got %s\nwant %s", value, got, want)
		}
	}
}

func TestR3_TheNameOfAMemberTellsWhatItsValueIs(t *testing.T) {
	const x = "[redacted: assigned-secret]"
	for value, want := range map[string]string{
		`{"password":"hunter22"}`:                           `{"password":"` + x + `"}`,
		`{ "pass\u0077ord" : "hunter\u00322" }`:             `{ "pass\u0077ord" : "` + x + `" }`,
		`{"DB_PASS":"hunter"}`:                              `{"DB_PASS":"` + x + `"}`,
		`{"a":1,"apiKey":"` + random + `","b":2}`:           `{"a":1,"apiKey":"` + x + `","b":2}`,
		`{"Authorization":"Bearer ` + random + `"}`:         `{"Authorization":"Bearer ` + x + `"}`,
		`[{"name":"DB_PASSWORD","value":"hunter22"}]`:       `[{"name":"DB_PASSWORD","value":"` + x + `"}]`,
		`[{"Key":"db_password","Value":"hunter22"}]`:        `[{"Key":"db_password","Value":"` + x + `"}]`,
		`{"Env":["DB_PASSWORD=hunter22","A=b"]}`:            `{"Env":["DB_PASSWORD=` + x + `","A=b"]}`,
		`{"token":"` + github() + `"}`:                      `{"token":"` + hidden + `"}`,
		`{"password":"a \"quoted\" 1"}`:                     `{"password":"a \"quoted\" 1"}`,
		`{"password":"a\"quoted\"1"}`:                       `{"password":"` + x + `"}`,
		`{"password":{"value":"hunter22"}}`:                 `{"password":{"value":"hunter22"}}`,
		`{"password":["hunter22"]}`:                         `{"password":["hunter22"]}`,
		`{"password":12345678,"x":"hunter22"}`:              `{"password":12345678,"x":"hunter22"}`,
		`{"name":"x","value":"hunter22"}`:                   `{"name":"x","value":"hunter22"}`,
		`{"name":"DB_PASSWORD","a":"b","value":"hunter22"}`: `{"name":"DB_PASSWORD","a":"b","value":"hunter22"}`,
		`{"value":"hunter22"}`:                              `{"value":"hunter22"}`,
		`{"password":""}`:                                   `{"password":""}`,
		`{"password":"` + strings.Repeat("a1", 5000) + `"}`: `{"password":"` + strings.Repeat("a1", 5000) + `"}`,
		`{"":"hunter22"}`:                                   `{"":"hunter22"}`,
	} {
		if got, _ := redact(t, value); got != want {
			t.Errorf("%s\n got %s\nwant %s", value, got, want)
		}
	}
	f := NewFinder([]string{kindAssigned})
	if found, err := f.Redact(context.Background(), []byte(`{"password":"hunter22"}`)); found.Count != 0 || err != nil {
		t.Errorf("an excepted kind is found by name: %+v, %v", found, err)
	}
}

func TestR3_APrivateKeyInAListOfLinesIsFound(t *testing.T) {
	line := bodyOf(base64&^equals, 64)
	const x = `"[redacted: private-key]"`
	for value, want := range map[string]string{
		`["a","-----BEGIN PRIVATE KEY-----","` + line + `","abc=","-----END PRIVATE KEY-----","YWJj"]`: `["a","-----BEGIN PRIVATE KEY-----",` + x + `,` + x + `,` + x + `,"YWJj"]`,
		`["-----BEGIN PRIVATE KEY-----\n` + line + `\n","` + line + `\n","two words","` + line + `"]`:  `["[redacted: private-key]\n",` + x + `,"two words","` + line + `"]`,
		`{"k":"-----BEGIN PRIVATE KEY-----\n` + line + `","status":"ok"}`:                              `{"k":` + x + `,"status":"ok"}`,
		`["-----BEGIN PRIVATE KEY-----",""]`:                                                           `["-----BEGIN PRIVATE KEY-----",""]`,
	} {
		if got, _ := redact(t, value); got != want {
			t.Errorf("%s\n got %s\nwant %s", value, got, want)
		}
	}
}

func TestR5_APrivateKeyIsNotLongerThanKeysAre(t *testing.T) {
	line := bodyOf(base64&^equals, 64)
	long := strings.Repeat(line+`\n`, 2*longestKey/len(line))
	got, _ := redact(t, `"-----BEGIN PRIVATE KEY-----\n`+long+`"`)
	if !strings.HasPrefix(got, `"[redacted: private-key]\n`+line) || len(got) < longestKey/2 {
		t.Errorf("%.200s… of %d bytes", got, len(got))
	}
}

func TestR4_ACredentialInANameIsReportedAndLeft(t *testing.T) {
	value := `{"` + github() + `":1}`
	got, found := redact(t, value)
	want := Found{Kinds: []string{"github-token"}, Count: 1, InName: true}
	if diff := cmp.Diff(want, found); diff != "" || got != value {
		t.Errorf("%s became %s (-want +got):\n%s", value, got, diff)
	}
}

func TestFound_NamesEachKindOnceAndCountsAll(t *testing.T) {
	_, found := redact(t, `["`+github()+`","`+github()+`","PASSWORD=hunter22"]`)
	found.JSON = nil
	if diff := cmp.Diff(Found{Kinds: []string{kindAssigned, "github-token"}, Count: 3}, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestRedact_TextThatIsNotJSONIsAnErrorAndNotAPanic(t *testing.T) {
	f := NewFinder(nil)
	for value, fails := range map[string]bool{
		`"open`: true, `"open\"`: true, `["a","b`: true, `"\`: true,
		`"\u12"`: false, `"\u"`: false, `"\uzzzz"`: false, `"\ud83d\u"`: false, `"\u123\\"`: false, `"\ud83d\ud83d"`: false, "\"\xff\"": false, `"a":`: false, `:"a"`: false,
	} {
		if _, err := f.Redact(context.Background(), []byte(value)); (err != nil) != fails {
			t.Errorf("%q: error %v", value, err)
		}
	}
}

func TestRedact_IsSafeForConcurrentUse(t *testing.T) {
	f := NewFinder(nil)
	value := []byte(`{"a":"` + github() + `","password":"hunter22"}`)
	want, err := f.Redact(context.Background(), value)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := f.Redact(context.Background(), value)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	all.Wait()
}

// The sources of the package itself, which contain no credential, must have no
// findings.
func TestR6_TheSourcesOfThisPackageHoldNoCredential(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file.IsDir() || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got, found := redact(t, string(chain.AppendString(nil, string(source)))); found.Count != 0 {
			t.Errorf("%s: %v in %.200s", file.Name(), found.Kinds, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	key := bodyOf(base64&^equals, 64)
	for _, seed := range []string{
		`"` + github() + `"`, `{"a":"x ` + github() + `"}`, `["\u0067hp_` + github()[4:] + `"]`, `"PASSWORD=hunter22 API_KEY='` + random + `'"`,
		`{"password":"hunter22","n":1.0,"x":[1e400,null]}`, `"a://b:hunter22@c"`, `"-----BEGIN PRIVATE KEY-----\n` + key + `\n-----END PRIVATE KEY-----"`,
		`["-----BEGIN PRIVATE KEY-----","` + key + `","-----END PRIVATE KEY-----"]`, `{"name":"DB_PASSWORD","value":"hunter22"}`, `"\ud83d ` + github() + `\\\""`,
		`"-----BEGIN PRIVATE KEY-----\n 2→` + key + `\n 3→abc"`, `"{\"token\":\"` + random + `\"}"`, `"Authorization: Bearer ` + random + `"`,
		`"https://` + github() + `:x1y2z3@h"`, `"` + github() + `=` + random + `"`, `{"` + github() + `":1}`, `"x.` + github() + `.eyJ"`,
	} {
		f.Add([]byte(seed))
	}
	finder := NewFinder(nil)
	f.Fuzz(func(t *testing.T, value []byte) {
		holds(t, finder, value)
		// Also as the text of a string, so that most inputs are JSON.
		quoted := chain.AppendString([]byte(`{"token":"x","text":`), string(value))
		holds(t, finder, append(quoted, '}'))
	})
}

// holds checks R1 and R2 for one value.
func holds(t *testing.T, finder *Finder, value []byte) {
	t.Helper()
	found, err := finder.Redact(context.Background(), value)
	if chain.CheckValue(value) != nil {
		return // it is enough that it did not panic
	}
	if err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	if found.JSON == nil {
		return
	}
	if err := chain.CheckValue(found.JSON); err != nil {
		t.Fatalf("%q became %q, which is not JSON: %v", value, found.JSON, err)
	}
	if diff := cmp.Diff(outsideOfStrings(value), outsideOfStrings(found.JSON)); diff != "" {
		t.Fatalf("%q changed outside of strings (-want +got):\n%s", value, diff)
	}
	again, err := finder.Redact(context.Background(), found.JSON)
	if err != nil || again.JSON != nil {
		t.Fatalf("%q became %q and then %q, %v", value, found.JSON, again.JSON, err)
	}
}

// outsideOfStrings returns a JSON text with all string values emptied.
func outsideOfStrings(value []byte) string {
	var out bytes.Buffer
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	for at := int64(0); ; {
		token, err := dec.Token()
		if err != nil {
			out.Write(value[at:])
			return out.String()
		}
		next := dec.InputOffset()
		end := next
		if _, ok := token.(string); ok && !isName(value[next:]) {
			end = at + int64(bytes.IndexByte(value[at:next], '"'))
		}
		out.Write(value[at:end])
		at = next
	}
}

func BenchmarkRedact(b *testing.B) {
	line := `2026-11-30T12:00:00Z INFO handled request id=12345 user=bob path=/api/v1/items?page=2 status: 200 took: 12ms\n`
	for name, value := range map[string]string{
		"300B":           `{"stdout":"` + strings.Repeat(line, 3)[:280] + `","stderr":""}`,
		"1MB":            `{"stdout":"` + strings.Repeat(line, 9500) + `"}`,
		"1MB_with_finds": `{"stdout":"` + strings.Repeat(line+github()+`\n`, 7000) + `"}`,
	} {
		f := NewFinder(nil)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Redact(context.Background(), []byte(value)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
