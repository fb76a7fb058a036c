package credential

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestA5_AnEndpointThatSaysAllItWasSentLeaksNothing tests every kind that
// fetches something with an endpoint that echoes what it was sent, in every
// part of a response that libraries are known to quote.
func TestA5_AnEndpointThatSaysAllItWasSentLeaksNothing(t *testing.T) {
	const canary = "CANARY1234567890"
	secretFile := func(t *testing.T) string {
		t.Helper()
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(canary), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	kinds := map[string]func(t *testing.T, url string) authorizer{
		"oauth2": func(t *testing.T, url string) authorizer {
			t.Helper()
			token, err := NewOAuth2(OAuth2Options{TokenURL: url + "?" + canary, ClientID: "id", ClientSecret: canary})
			if err != nil {
				t.Fatal(err)
			}
			return token
		},
		"aws, pod identity": func(t *testing.T, url string) authorizer {
			t.Helper()
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", secretFile(t))
			return newAWS(t)
		},
		"aws, service account": func(t *testing.T, url string) authorizer {
			t.Helper()
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", secretFile(t))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/hook")
			t.Setenv("AWS_ENDPOINT_URL_STS", url)
			return newAWS(t)
		},
		"azure, managed identity": func(t *testing.T, url string) authorizer {
			t.Helper()
			t.Setenv("IDENTITY_ENDPOINT", url)
			t.Setenv("IDENTITY_HEADER", canary)
			token, _ := newAzure(t, "")
			return token
		},
		"google, federation": func(t *testing.T, url string) authorizer {
			t.Helper()
			name := secretFile(t)
			return newGoogle(t, federation(t, url, func(f map[string]any) { f["credential_source"] = map[string]any{"file": name} }))
		},
	}
	echoes := map[string]func(w http.ResponseWriter, said string){
		"in a body of status 400": func(w http.ResponseWriter, said string) { reply(w, http.StatusBadRequest, "text/plain", said) },
		"in a body of status 200": func(w http.ResponseWriter, said string) { reply(w, http.StatusOK, "text/plain", said) },
		"as a page":               func(w http.ResponseWriter, said string) { reply(w, http.StatusOK, "text/html", said) },
		"as the code of an error": func(w http.ResponseWriter, _ string) {
			reply(w, http.StatusBadRequest, "application/json", fmt.Sprintf(`{"error":%q,"code":%q,"Code":%q,"message":%q}`, canary, canary, canary, canary))
		},
		"as the code of an error in XML": func(w http.ResponseWriter, _ string) {
			reply(w, http.StatusForbidden, "text/xml", `<ErrorResponse><Error><Code>`+canary+`</Code><Message>`+canary+`</Message></Error></ErrorResponse>`)
		},
		"in a status line": func(w http.ResponseWriter, _ string) {
			raw(w, "HTTP/1.1 403 "+canary+"\r\nContent-Length: 0\r\n\r\n")
		},
		"where a status should be": func(w http.ResponseWriter, _ string) { raw(w, "HTTP/1.1 "+canary+" 403\r\n\r\n") },
		"in a header that is none": func(w http.ResponseWriter, _ string) {
			raw(w, "HTTP/1.1 200 OK\r\n"+canary+"\r\n\r\n")
		},
		"in an encoding that is none": func(w http.ResponseWriter, _ string) {
			raw(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+canary+"\r\n\r\n")
		},
		"in a length that is none": func(w http.ResponseWriter, _ string) {
			raw(w, "HTTP/1.1 200 OK\r\nContent-Length: "+canary+"\r\n\r\n")
		},
		"in a redirect": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://"+canary+".invalid:1/"+canary+"?"+canary)
			w.WriteHeader(http.StatusFound)
		},
		"in a number": func(w http.ResponseWriter, _ string) {
			reply(w, http.StatusOK, "application/json", fmt.Sprintf(`{"access_token":"x","expires_in":%q,"expires_on":%q,"Expiration":%q,"AccessKeyId":"x","SecretAccessKey":"x","Token":"x"}`, canary, canary, canary))
		},
	}
	for kind, build := range kinds {
		for place, echo := range echoes {
			t.Run(kind+"/"+place, func(t *testing.T) {
				awsNowhere(t)
				azureNowhere(t)
				endpoint := newStub(t, func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					echo(w, fmt.Sprintf("%v %v %s %s", r.URL, r.Header, body, canary))
				})
				got, err := authorized(t, build(t, endpoint.URL+"/"))
				if err == nil || got != "" {
					t.Fatalf("authorized with %q", got)
				}
				for _, leak := range []string{canary, strings.ToLower(canary), base64.StdEncoding.EncodeToString([]byte("id:" + canary))} {
					if strings.Contains(err.Error(), leak) {
						t.Errorf("the error says it: %v", err)
					}
				}
				if !strings.Contains(err.Error(), endpoint.URL) {
					t.Errorf("the error does not say who was asked: %v", err)
				}
			})
		}
	}
}

func reply(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// raw writes a response that need not be valid HTTP.
func raw(w http.ResponseWriter, response string) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, response)
	_ = conn.Close()
}
