package transport

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/chain"
)

const noResult = "did not answer with a function result (statusCode and body)"

func TestAnInvocationIsUnwrappedByExactlyOneLevel(t *testing.T) {
	const allow = `"{\"decision\":\"allow\"}"`
	inBase64 := base64.StdEncoding.EncodeToString([]byte(`{"decision":"allow"}`))
	for _, c := range []struct {
		name, headers, says string
		want                chain.Answer
		detail              string // substring of the detail
	}{
		{"as Go's library returns it", "", `{"statusCode":200,"headers":{"Content-Type":"application/json"},"multiValueHeaders":null,"body":` + allow + `,"isBase64Encoded":false}`, allowing(), ""},
		{"as a function URL's event has it", "", `{"statusCode":200,"headers":{},"body":` + allow + `,"isBase64Encoded":false,"cookies":null}`, allowing(), ""},
		{"no more than needed", "", ` {"body":` + allow + `,"statusCode":200}` + "\n", allowing(), ""},
		{"in base64", "", `{"statusCode":200,"body":"` + inBase64 + `","isBase64Encoded":true}`, allowing(), ""},
		{"a deny", "", `{"statusCode":200,"body":"{\"decision\":\"deny\",\"reason\":\"no\"}"}`, chain.Answer{Outcome: chain.Outcome{Decision: chain.Deny, Reason: "no"}}, ""},

		{"in base64 that is not said to be", "", `{"statusCode":200,"body":"` + inBase64 + `"}`, failure(chain.Malformed, "did not answer with one decision object"), ""},
		{"said to be base64", "", `{"statusCode":200,"body":` + allow + `,"isBase64Encoded":true}`, failure(chain.Malformed, noResult), `field "body" is not base64`},
		{"base64 with a line break", "", `{"statusCode":200,"body":"` + inBase64[:4] + `\n` + inBase64[4:] + `","isBase64Encoded":true}`, failure(chain.Malformed, noResult), `field "body" is not base64`},
		{"base64 with bits left over", "", `{"statusCode":200,"body":"e31=","isBase64Encoded":true}`, failure(chain.Malformed, noResult), `field "body" is not base64`},
		{"perhaps base64", "", `{"statusCode":200,"body":` + allow + `,"isBase64Encoded":"true"}`, failure(chain.Malformed, noResult), `field "isBase64Encoded" is not a boolean`},
		{"no wrapping", "", `{"decision":"allow"}`, failure(chain.Malformed, noResult), `no field "statusCode"`},
		{"a decision beside it", "", `{"decision":"allow","statusCode":200,"body":""}`, failure(chain.Empty, "answered nothing"), ""},
		{"two levels", "", `{"statusCode":200,"body":"{\"statusCode\":200,\"body\":\"{}\"}"}`, failure(chain.Malformed, "did not answer with one decision object"), ""},
		{"the answer as an object", "", `{"statusCode":200,"body":{"decision":"allow"}}`, failure(chain.Malformed, noResult), `field "body" is not a string`},
		{"no body", "", `{"statusCode":200}`, failure(chain.Empty, "answered nothing"), ""},
		{"null as a body", "", `{"statusCode":200,"body":null}`, failure(chain.Empty, "answered nothing"), ""},
		{"two bodies", "", `{"statusCode":200,"body":` + allow + `,"body":""}`, failure(chain.Malformed, noResult), "duplicate"},
		{"names in other letters", "", `{"StatusCode":200,"Body":` + allow + `}`, failure(chain.Malformed, noResult), `no field "statusCode"`},
		{"another status", "", `{"statusCode":403,"body":` + allow + `}`, failure(chain.Status, "answered with status 403 from its function"), "decision"},
		{"created", "", `{"statusCode":201,"body":` + allow + `}`, failure(chain.Status, "answered with status 201 from its function"), ""},
		{"a redirect", "", `{"statusCode":302,"headers":{"Location":"/"},"body":` + allow + `}`, failure(chain.Status, "answered with status 302 from its function"), ""},
		{"a status as a text", "", `{"statusCode":"200","body":` + allow + `}`, failure(chain.Malformed, noResult), `field "statusCode" is not an HTTP status`},
		{"a status with a fraction", "", `{"statusCode":200.0,"body":` + allow + `}`, failure(chain.Malformed, noResult), `field "statusCode" is not an HTTP status`},
		{"a status with an exponent", "", `{"statusCode":2e2,"body":` + allow + `}`, failure(chain.Malformed, noResult), `field "statusCode" is not an HTTP status`},
		{"a status of two digits", "", `{"statusCode":20,"body":` + allow + `}`, failure(chain.Malformed, noResult), `field "statusCode" is not an HTTP status`},
		{"a negative status", "", `{"statusCode":-20,"body":` + allow + `}`, failure(chain.Malformed, noResult), `field "statusCode" is not an HTTP status`},

		{"a function that failed", "X-Amz-Function-Error: Unhandled\r\n", `{"errorMessage":"boom","errorType":"Error"}`, failure(chain.Status, "answered with a function error"), `"Unhandled": "{\"errorMessage\"`},
		{"a function that failed and allows", "X-Amz-Function-Error: Handled\r\n", `{"statusCode":200,"body":` + allow + `}`, failure(chain.Status, "answered with a function error"), "Handled"},
		{"a function that failed without a word", "x-amz-function-error:\r\n", `{"statusCode":200,"body":` + allow + `}`, failure(chain.Status, "answered with a function error"), "not named"},
		{"time that ran out", "", "Task timed out after 3.00 seconds", failure(chain.Malformed, noResult), "Task timed out"},
		{"nothing", "", " ", failure(chain.Empty, "answered nothing"), ""},
		{"null", "", "null", failure(chain.Malformed, noResult), "null instead of an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, o := range senders() {
				t.Run(name, func(t *testing.T) {
					h := listen(t, nil, func(conn *hookConn) {
						for conn.next() {
							conn.say(response("200 OK", c.headers, c.says))
						}
					})
					o.URL, o.Wrapping = h.url, LambdaInvoke
					got := ask(t, webhookTo(t, o))
					if c.detail != "" && (got.Failure == nil || !strings.Contains(got.Failure.Detail, c.detail)) {
						t.Errorf("want %q in the detail of %+v", c.detail, got.Failure)
					}
					same(t, c.want, public(t, got))
				})
			}
		})
	}
}

func TestWhatIsWrappedMeansWhatItMeansBare(t *testing.T) {
	for _, c := range answers() {
		if len(c.says) > 64<<10 {
			continue // the wrapping would exceed the size limit
		}
		want := readAnswer([]byte(c.says), c.event)
		wrapped := fmt.Sprintf(`{"statusCode":200,"isBase64Encoded":true,"body":%q}`, base64.StdEncoding.EncodeToString([]byte(c.says)))
		body, failed := LambdaInvoke.unwrapped(reply{status: http.StatusOK, body: []byte(wrapped)})
		if failed != nil {
			t.Errorf("%s: %+v", c.name, failed.Failure)
			continue
		}
		if diff := cmp.Diff(want, readAnswer(body, c.event)); diff != "" {
			t.Errorf("%s: wrapped (-bare +wrapped):\n%s", c.name, diff)
		}
	}
}

// FuzzUnwrapInvocation compares unwrapInvocation with encoding/json, which is
// more lenient: it must find everything that unwrapInvocation finds.
func FuzzUnwrapInvocation(f *testing.F) {
	for _, said := range []string{
		`{"statusCode":200,"body":"{\"decision\":\"allow\"}"}`, `{"statusCode":200,"body":"e30=","isBase64Encoded":true}`,
		`{"statusCode":502,"headers":{"a":"b"},"body":null,"isBase64Encoded":null,"cookies":null}`, `{"decision":"allow"}`,
		`{"statusCode":2e2,"body":""}`, `{"statusCode":200,"body":"\ud83d"}`, `[]`, ``,
	} {
		f.Add([]byte(said))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		status, body, err := unwrapInvocation(said)
		if err != nil {
			if status != 0 || body != nil {
				t.Fatalf("failed with %d %q", status, body)
			}
			return
		}
		var theirs struct {
			StatusCode      int     `json:"statusCode"`
			Body            *string `json:"body"`
			IsBase64Encoded *bool   `json:"isBase64Encoded"`
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(said, &members); err != nil {
			t.Fatalf("unwrapped what is no object: %v", err)
		}
		exact, err := json.Marshal(map[string]json.RawMessage{
			"statusCode": members["statusCode"], "body": members["body"], "isBase64Encoded": members["isBase64Encoded"],
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(exact, &theirs); err != nil || theirs.StatusCode != status || status < 100 || status > 999 {
			t.Fatalf("status %d of %s: %v", status, said, err)
		}
		want := ""
		if theirs.Body != nil {
			want = *theirs.Body
		}
		if theirs.IsBase64Encoded != nil && *theirs.IsBase64Encoded {
			decoded, err := base64.StdEncoding.DecodeString(want)
			if err != nil {
				t.Fatalf("decoded what is not base64: %q", want)
			}
			want = string(decoded)
		}
		if string(body) != want {
			t.Fatalf("body %q, want %q", body, want)
		}
	})
}
