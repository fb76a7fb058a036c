package functions

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/transport/signature"
)

// deployed is an example running on its platform.
type deployed struct {
	runtime *process
	url     string   // of the hooks entry
	direct  string   // past what the platform puts in front; empty where nothing is reached that way
	env     []string // of the gateway
	open    bool     // to whoever the platform lets in: it asks for no signature
}

// example is a folder of examples/functions.
type example struct {
	hooks  string
	deploy func(t testing.TB, secrets string) deployed
}

const sharedHook = examples + "hook.mjs"

func shipped() map[string]example {
	aws := []string{"AWS_ACCESS_KEY_ID=AKIDTEST", "AWS_SECRET_ACCESS_KEY=of-nobody", "AWS_EC2_METADATA_DISABLED=true"}
	return map[string]example{
		"aws-lambda-go": {"aws-lambda-go/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			p := lambda(t, t.TempDir(), []string{program.lambdaGo}, "HOOK_SECRETS="+secrets)
			return deployed{runtime: p, url: functionURL(t, p.address), env: aws}
		}},
		"aws-lambda-node": {"aws-lambda-node/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			dir := staged(t, map[string]string{"index.mjs": examples + "aws-lambda-node/index.mjs", "hook.mjs": sharedHook})
			p := lambda(t, dir, nodeBootstrap(t), "HOOK_SECRETS="+secrets)
			return deployed{runtime: p, url: functionURL(t, p.address), env: aws}
		}},
		"aws-lambda-go, invoked": {"aws-lambda-go/hooks-invoke.yaml", func(t testing.TB, _ string) deployed {
			t.Helper()
			p := lambda(t, t.TempDir(), []string{program.lambdaGo}, "HOOK_SECRETS=none")
			return deployed{runtime: p, url: "http://" + p.address + invocations, env: aws, open: true}
		}},
		"aws-lambda-node, invoked": {"aws-lambda-node/hooks-invoke.yaml", func(t testing.TB, _ string) deployed {
			t.Helper()
			dir := staged(t, map[string]string{"index.mjs": examples + "aws-lambda-node/index.mjs", "hook.mjs": sharedHook})
			p := lambda(t, dir, nodeBootstrap(t), "HOOK_SECRETS=none")
			return deployed{runtime: p, url: "http://" + p.address + invocations, env: aws, open: true}
		}},
		"cloud-run-go": {"cloud-run-go/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			return onGoogle(t, container(t, "HOOK_SECRETS="+secrets))
		}},
		"cloud-functions-node": {"cloud-functions-node/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			dir := staged(t, map[string]string{
				"index.mjs":    examples + "cloud-functions-node/index.mjs",
				"package.json": examples + "cloud-functions-node/package.json",
				"hook.mjs":     sharedHook,
			})
			return onGoogle(t, framework(t, dir, "HOOK_SECRETS="+secrets))
		}},
		"azure-functions": {"azure-functions/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			p := customHandler(t, "HOOK_SECRETS="+secrets)
			host := letIn(t, p.address, func(h http.Header) bool { return h.Get("X-Functions-Key") == "the-key" }, unauthorized)
			return deployed{runtime: p, url: host + "/api/hook", direct: "http://" + p.address + "/api/hook", env: []string{"FUNCTION_KEY=the-key"}}
		}},
		"cloudflare-workers": {"cloudflare-workers/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			dir := staged(t, map[string]string{"worker.mjs": examples + "cloudflare-workers/worker.mjs", "hook.mjs": sharedHook})
			p := workerd(t, dir, secrets)
			access := letIn(t, p.address, func(h http.Header) bool {
				return h.Get("Cf-Access-Client-Id") == "an-id" && h.Get("Cf-Access-Client-Secret") == "a-secret"
			}, toLogin)
			return deployed{runtime: p, url: access + "/", direct: "http://" + p.address, env: []string{"ACCESS_ID=an-id", "ACCESS_SECRET=a-secret"}}
		}},
		"deno/supabase": {"deno/supabase/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			dir := staged(t, map[string]string{
				"hook/index.ts":    examples + "deno/supabase/functions/hook/index.ts",
				"_shared/hook.mjs": sharedHook,
			})
			p := deno(t, filepath.Join(dir, "hook/index.ts"), "HOOK_SECRETS="+secrets)
			relay := letIn(t, p.address, func(h http.Header) bool { return h.Get("Authorization") == "Bearer a.jwt.key" }, unauthorized)
			return deployed{runtime: p, url: relay + "/functions/v1/hook", direct: "http://" + p.address, env: []string{"PROJECT_KEY=a.jwt.key"}}
		}},
		"deno/netlify": {"deno/netlify/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			dir := staged(t, map[string]string{
				"edge-functions/hook.mjs": examples + "deno/netlify/edge-functions/hook.mjs",
				"hook.mjs":                sharedHook,
				"main.mjs":                "testdata/netlify.mjs",
			})
			p := deno(t, filepath.Join(dir, "main.mjs"), "HOOK_SECRETS="+secrets)
			return deployed{runtime: p, url: "http://" + p.address + "/hook", direct: "http://" + p.address + "/hook"}
		}},
		"knative": {"knative/hooks.yaml", func(t testing.TB, secrets string) deployed {
			t.Helper()
			p := container(t, "HOOK_SECRETS="+secrets)
			return deployed{runtime: p, url: "http://" + p.address + "/", direct: "http://" + p.address}
		}},
	}
}

// onGoogle puts an imitation of Google's frontend, which requires an ID token,
// in front of a service.
func onGoogle(t testing.TB, p *process) deployed {
	t.Helper()
	token := googleToken()
	invoker := letIn(t, p.address, func(h http.Header) bool { return h.Get("Authorization") == "Bearer "+token }, unauthorized)
	return deployed{runtime: p, url: invoker + "/", direct: "http://" + p.address, env: []string{metadataServer(t, token)}}
}

// Each example is deployed once and then tested with all calls.
func TestExamples(t *testing.T) {
	for name, e := range shipped() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := e.deploy(t, secret)
			t.Run("F1 what a function says is what the gateway answers", func(t *testing.T) { saysWhatItSays(t, e, d) })
			if !d.open {
				t.Run("F2 it does not answer who signs with another secret", func(t *testing.T) { refusesOthers(t, e, d) })
			}
			if d.direct != "" {
				t.Run("F2 it answers only what was signed just now", func(t *testing.T) { refusesUnsigned(t, d) })
				t.Run("F2 what it does not understand it denies", func(t *testing.T) { deniesTheUnknown(t, d) })
			}
		})
	}
}

func saysWhatItSays(t *testing.T, e example, d deployed) {
	t.Helper()
	g := gatewayWith(t, hooksOf(t, e.hooks, d.url), append(d.env, "HOOK_SECRET="+secret)...)
	for what, c := range map[string]struct {
		input, output string
		want          decision
	}{
		"allow": {input: `{"command":"ls -l"}`, want: decision{Decision: "allow"}},
		"deny": {
			input: `{"command":"kubectl -n prod delete pod web-1"}`,
			want:  decision{Decision: "deny", Reason: "denied by hook 'commands': production is off limits"},
		},
		"modify": {
			input: `{"command":"npm ci","timeout":120000}`,
			want: decision{
				Decision: "modify", Reason: "hook 'commands': packages run no scripts while they are installed",
				Input: []byte(`{"command":"npm ci --ignore-scripts","timeout":120000}`),
			},
		},
		"allow after the call": {input: `{"command":"ls"}`, output: `"go.mod\ngo.sum"`, want: decision{Decision: "allow"}},
		"deny after the call": {
			input: `{"command":"ls"}`, output: `{"stdout":"\u0041KIAIOSFODNN7EXAMPLE"}`,
			want: decision{Decision: "deny", Reason: "denied by hook 'results': the result contains an access key"},
		},
		"replace": {
			input: `{"command":"env"}`, output: `"id=AKIAIOSFODNN7EXAMPLE."`,
			want: decision{
				Decision: "replace", Reason: "hook 'results': an access key was redacted", Output: []byte(`"id=[access key]."`),
			},
		},
	} {
		got := g.ask(t, question("call-1", "shell", c.input, c.output))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func refusesOthers(t *testing.T, e example, d deployed) {
	t.Helper()
	const other = "whsec_YW5vdGhlciBzZWNyZXQsIG9mIHNvbWVib2R5IGVsc2U="
	// A refused ping would be retried for half a minute.
	hooks := strings.ReplaceAll(hooksOf(t, e.hooks, d.url), "warmup: true", "warmup: false")
	g := gatewayWith(t, hooks, append(d.env, "HOOK_SECRET="+other)...)
	want := decision{Decision: "deny", Reason: "hook 'commands' could not answer and denies on failure: answered with status 401"}
	if diff := cmp.Diff(want, g.ask(t, question("call-1", "shell", `{"command":"ls"}`, ""))); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func refusesUnsigned(t *testing.T, d deployed) {
	t.Helper()
	allowed := question("call-1", "shell", `{"command":"ls"}`, "")
	for what, header := range map[string]http.Header{
		"unsigned":              {},
		"signed for other text": signed(t, secret, time.Now(), allowed+" "),
		"signed an hour ago":    signed(t, secret, time.Now().Add(-time.Hour), allowed),
		"signed in an hour":     signed(t, secret, time.Now().Add(time.Hour), allowed),
		"a signature of none":   {"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {"1"}, "Webhook-Signature": {"v1,"}},
	} {
		status, answer := posted(t, d.direct, header, []byte(allowed))
		if status != http.StatusUnauthorized || answer.Decision != "deny" {
			t.Errorf("%s: status %d, %+v, want a 401 that denies", what, status, answer)
		}
	}
}

func deniesTheUnknown(t *testing.T, d deployed) {
	t.Helper()
	for what, body := range map[string]string{
		"nothing":             "",
		"no JSON":             "{",
		"null":                "null",
		"a list":              "[]",
		"a text":              `"allow"`,
		"no UTF-8":            "{\"hook_schema\":1,\"event\":\"pre_tool_use\",\"tool_name\":\"\xff\",\"input\":{}}",
		"another schema":      strings.Replace(question("c", "shell", `{"command":"ls"}`, ""), `"hook_schema":1`, `"hook_schema":2`, 1),
		"another event":       strings.Replace(question("c", "shell", `{"command":"ls"}`, ""), "pre_tool_use", "session_start", 1),
		"no output":           strings.Replace(question("c", "shell", `{"command":"ls"}`, ""), "pre_tool_use", "post_tool_use", 1),
		"no tool":             strings.Replace(question("c", "shell", `{"command":"ls"}`, ""), `"tool_name":"shell",`, "", 1),
		"another tool":        question("c", "browser", `{"command":"ls"}`, ""),
		"no command":          question("c", "shell", `{}`, ""),
		"null for a command":  question("c", "shell", `{"command":null}`, ""),
		"a list as a command": question("c", "shell", `{"command":["ls"]}`, ""),
		"an input of text":    question("c", "shell", `"ls"`, ""),
		"an input of null":    question("c", "shell", `null`, ""),
	} {
		status, answer := posted(t, d.direct, signed(t, secret, time.Now(), body), []byte(body))
		if answer.Decision != "deny" && status == http.StatusOK {
			t.Errorf("%s: status %d, %+v, want a deny", what, status, answer)
		}
	}
}

func TestF2_AFunctionWithoutItsSettingAnswersNobody(t *testing.T) {
	for name, secrets := range map[string]string{"nothing": "", "blanks": " ", "a word": "yes", "one too short": "whsec_YWJj", "one that is none": secret + " none"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, on := range []string{"deno/netlify", "cloudflare-workers"} {
				d := shipped()[on].deploy(t, secrets)
				allowed := question("call-1", "shell", `{"command":"ls"}`, "")
				status, answer := posted(t, d.direct, signed(t, secret, time.Now(), allowed), []byte(allowed))
				if status != http.StatusInternalServerError || answer.Decision != "deny" {
					t.Errorf("%s: status %d, %+v, want a 500 that denies", on, status, answer)
				}
			}
		})
	}
}

// signed returns the headers of a signed request.
func signed(t testing.TB, secret string, at time.Time, body string) http.Header {
	t.Helper()
	key, err := signature.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signature.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	if err := signer.SetHeaders(h, "msg_of-a-test", at, []byte(body)); err != nil {
		t.Fatal(err)
	}
	return h
}
