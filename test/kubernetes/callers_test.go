package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hookgate/hookgate/test/deploy"
	"github.com/hookgate/hookgate/test/process"
)

// callers are values that admit the service accounts of two teams to their own
// chains, by the keys of this API server. The issuer's host name does not
// resolve here, so its address is given in addition.
const callers = `
config: {hooks: "schema: 1\nhooks: [{name: destructive, use: destructive-shell, guard: true}]\n"}
chains:
  files:
    team-a: "schema: 1\nhooks: [{name: no-force-push, use: no-force-push}]\n"
    team-b: "schema: 1\nhooks: [{name: no-force-push, use: no-force-push}]\n"
callers:
  clusterIssuer: true
  file: |
    schema: 1
    callers:
      - name: team-a
        chains: [team-a]
        scopes: [decide]
        jwt: [{issuer: cluster, claims: {sub: "system:serviceaccount:agents:coder"}}]
      - name: team-b
        chains: [team-b]
        scopes: [decide]
        jwt: [{issuer: cluster, claims: {/kubernetes.io/namespace: agents, /kubernetes.io/serviceaccount/name: reviewer}}]
    issuers:
      - name: cluster
        url: ` + issuer + `
        discovery_url: DISCOVERY
        audiences: [hookgate]
        ca_file: /var/run/hookgate/cluster/ca.crt
        token_file: /var/run/hookgate/cluster/token
`

// install installs the chart, and returns a kubelet that runs its pods.
func (c *cluster) install(t *testing.T, namespace, values string) *kubelet {
	t.Helper()
	c.restricted(t, namespace)
	values = strings.ReplaceAll(values, "DISCOVERY", c.url+"/.well-known/openid-configuration")
	if _, err := c.applyAll(t.Context(), namespace, render(t, values)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is rolled out", func(ctx context.Context) error {
		return c.available(ctx, namespace, deploy.Release, 2)
	})
	return &kubelet{c, namespace}
}

// answer is a response to a caller.
type answer struct {
	status   int
	decision string
}

// ask asks a chain about a harmless call, with a token unless it is empty.
func ask(t *testing.T, g *process.Gateway, chain, token string) answer {
	t.Helper()
	const call = `{"hook_schema":1,"event":"pre_tool_use","workspace":"/repo","agent_id":"a","tool_call_id":"c","tool_name":"shell","input":{"command":"ls"}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/chains/"+chain+"/decide", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	var said struct{ Decision string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, said.Decision}
}

// failures returns how many requests were refused for a reason.
func failures(t *testing.T, g *process.Gateway, reason string) string {
	t.Helper()
	return series(t, g, fmt.Sprintf(`hookgate_auth_failures_total{reason=%q}`, reason))
}

func series(t *testing.T, g *process.Gateway, name string) string {
	t.Helper()
	got := process.Do(t.Context(), http.MethodGet, g.Admin+"/metrics", "")
	if got.Err != nil || got.Status != http.StatusOK {
		t.Fatalf("the metrics cannot be had: %d, %v", got.Status, got.Err)
	}
	for line := range strings.Lines(got.Body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return "missing"
}

// again returns a token with changed claims, signed with another key.
func again(t *testing.T, token string, key *ecdsa.PrivateKey, change func(claims map[string]any)) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	change(claims)
	if payload, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// moved shifts the times of a token.
func moved(by time.Duration) func(map[string]any) {
	return func(claims map[string]any) {
		for _, name := range []string{"exp", "iat", "nbf"} {
			if at, ok := claims[name].(float64); ok {
				claims[name] = int64(at) + int64(by.Seconds())
			}
		}
	}
}

// callersAreKnownByTheirTokens sends tokens of every kind to a gateway.
func callersAreKnownByTheirTokens(t *testing.T, c *cluster) {
	t.Helper()
	k := c.install(t, "known-callers", callers)
	c.restricted(t, "agents")
	for _, name := range []string{"coder", "reviewer", "stranger"} {
		c.create(t, "agents", &core.ServiceAccount{ObjectMeta: named(name, nil)})
	}
	c.create(t, "known-callers", &core.ServiceAccount{ObjectMeta: named("coder", nil)})
	g := k.gateway(t)

	coder := c.token(t, "agents", "coder", "hookgate", nil)
	allowed, unknown, unreached := answer{http.StatusOK, "allow"}, answer{http.StatusUnauthorized, "deny"}, answer{http.StatusForbidden, "deny"}
	var shown []string
	for _, try := range []struct {
		name, chain, token, reason string
		want                       answer
	}{
		{"its own chain", "team-a", coder, "", allowed},
		{"the chain of another service account", "team-b", coder, "", unreached},
		{"a chain that is not there", "team-c", coder, "", unreached},
		{"another service account at its own chain", "team-b", c.token(t, "agents", "reviewer", "hookgate", nil), "", allowed},
		{"another service account at this chain", "team-a", c.token(t, "agents", "reviewer", "hookgate", nil), "", unreached},
		{"a service account that is no caller", "team-a", c.token(t, "agents", "stranger", "hookgate", nil), "claims", unknown},
		{"a service account of that name elsewhere", "team-a", c.token(t, "known-callers", "coder", "hookgate", nil), "claims", unknown},
		{"a token for another audience", "team-a", c.token(t, "agents", "coder", "elsewhere", nil), "audience", unknown},
		{"a token for the API server itself", "team-a", c.token(t, "agents", "coder", "", nil), "audience", unknown},
		{"no token", "team-a", "", "missing", unknown},
		{"a token of the API server's key whose time is over", "team-a", again(t, coder, c.signer, moved(-24*time.Hour)), "expired", unknown},
		{"a token of the API server's key whose time has not come", "team-a", again(t, coder, c.signer, moved(24*time.Hour)), "expired", unknown},
		{"a token that somebody else signed", "team-a", again(t, coder, newKey(t), moved(0)), "signature", unknown},
		{"a token with a claim put in", "team-b", replaced(t, coder, "reviewer"), "signature", unknown},
	} {
		before := failures(t, g, try.reason)
		if got := ask(t, g, try.chain, try.token); got != try.want {
			t.Errorf("%s: %v, want %v", try.name, got, try.want)
		} else {
			t.Logf("%s: %d %s %s", try.name, got.status, got.decision, try.reason)
		}
		if after := failures(t, g, try.reason); try.reason != "" && (after == "missing" || after == before) {
			t.Errorf("%s: not counted as %s: %s before, %s after", try.name, try.reason, before, after)
		}
		shown = append(shown, try.token)
	}
	if n := series(t, g, `hookgate_caller_requests_total{caller="team-a",result="admitted"}`); n != "1" {
		t.Errorf("team-a was admitted %s times, want once", n)
	}
	c.aTokenOutlivesItsPod(t, g)
	if slices.ContainsFunc(shown, func(token string) bool { return token != "" && strings.Contains(g.Log(), token) }) {
		t.Error("the log has a token")
	}
}

// replaced returns a token with another account in its claims, but its original
// signature.
func replaced(t *testing.T, token, account string) string {
	t.Helper()
	other := strings.Split(again(t, token, newKey(t), func(claims map[string]any) { claims["sub"] = "system:serviceaccount:agents:" + account }), ".")
	return other[0] + "." + other[1] + "." + strings.Split(token, ".")[2]
}

// aTokenOutlivesItsPod demonstrates what docs/callers.md says: the API server
// refuses a token whose pod is gone, while a gateway accepts it until it
// expires.
func (c *cluster) aTokenOutlivesItsPod(t *testing.T, g *process.Gateway) {
	t.Helper()
	no, root, user := false, true, int64(1000)
	pod := &core.Pod{ObjectMeta: named("coder", nil), Spec: core.PodSpec{
		ServiceAccountName: "coder",
		Containers: []core.Container{{Name: "coder", Image: "registry.example.com/coder:1", SecurityContext: &core.SecurityContext{
			AllowPrivilegeEscalation: &no, RunAsNonRoot: &root, RunAsUser: &user, Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}},
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
		}}},
	}}
	pod, err := c.typed.CoreV1().Pods("agents").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token := c.token(t, "agents", "coder", "hookgate", pod)
	taken := func(ctx context.Context) (bool, string, error) {
		review := &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token, Audiences: []string{"hookgate"}}}
		review, err := c.typed.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, "", err
		}
		return review.Status.Authenticated, review.Status.Error, nil
	}
	if ok, why, err := taken(t.Context()); !ok || err != nil {
		t.Fatalf("the API server does not take its own token: %s, %v", why, err)
	}
	if err := c.typed.CoreV1().Pods("agents").Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server refuses the token of a pod that is gone", func(ctx context.Context) error {
		ok, why, err := taken(ctx)
		if ok {
			err = errors.Join(err, errors.New("it takes it"))
		} else if err == nil {
			t.Logf("the API server says of a token whose pod is gone: %s", why)
		}
		return err
	})
	if got, want := ask(t, g, "team-a", token), (answer{http.StatusOK, "allow"}); got != want {
		t.Errorf("a token whose pod is gone: %v, want %v until its time is over", got, want)
	}
}

// nobodyIsLetInWithoutKeys makes the API server refuse to publish its keys.
func nobodyIsLetInWithoutKeys(t *testing.T, c *cluster) {
	t.Helper()
	const discovery = "system:service-account-issuer-discovery"
	c.create(t, "", &core.Namespace{ObjectMeta: named("visitors", nil)})
	c.create(t, "visitors", &core.ServiceAccount{ObjectMeta: named("coder", nil)})
	values := strings.ReplaceAll(callers, "serviceaccount:agents:", "serviceaccount:visitors:")
	k := c.install(t, "with-token", values)
	anonymous := c.install(t, "without-token", strings.ReplaceAll(values, "        token_file: /var/run/hookgate/cluster/token\n", ""))
	coder := c.token(t, "visitors", "coder", "hookgate", nil)
	allowed, unavailable := answer{http.StatusOK, "allow"}, answer{http.StatusServiceUnavailable, "deny"}
	try := func(name string, k *kubelet, want answer) {
		t.Helper()
		g := k.gateway(t)
		got := ask(t, g, "team-a", coder)
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		t.Logf("%s: %d %s", name, got.status, got.decision)
		if want == unavailable {
			process.Eventually(t, "the log says what the API server answered", func() bool {
				return strings.Contains(g.Log(), "/.well-known/openid-configuration answered with status 403")
			})
		}
	}

	try("a gateway that shows a token of its own", k, allowed)
	try("a gateway that shows none", anonymous, unavailable)

	bindings := c.typed.RbacV1().ClusterRoleBindings()
	bound, err := bindings.Get(t.Context(), discovery, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range bound.Subjects {
		t.Logf("%s is bound to the %s %s as it stands", discovery, s.Kind, s.Name)
	}
	if err := bindings.Delete(t.Context(), discovery, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "discovery is forbidden", func(ctx context.Context) error {
		if _, err := c.discover(ctx, k.token(t, "with-token", deploy.Release, "", nil)); err == nil {
			return errors.New("it is not")
		}
		return nil
	})
	try("a gateway with a token, where discovery is bound to nobody", k, unavailable)

	c.create(t, "", &rbac.ClusterRoleBinding{
		ObjectMeta: named("hookgate-discovery", nil),
		RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: discovery},
		Subjects:   []rbac.Subject{{Kind: rbac.ServiceAccountKind, Namespace: "with-token", Name: deploy.Release}},
	})
	eventually(t, "discovery is allowed again", func(ctx context.Context) error {
		_, err := c.discover(ctx, k.token(t, "with-token", deploy.Release, "", nil))
		return err
	})
	try("a gateway with a token, where discovery is bound to its service account", k, allowed)
}

// discover requests the API server's discovery document with a token.
func (c *cluster) discover(ctx context.Context, token string) ([]byte, error) {
	asker, err := kubernetes.NewForConfig(&rest.Config{Host: c.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(c.ca)}})
	if err != nil {
		return nil, err
	}
	return asker.RESTClient().Get().AbsPath("/.well-known/openid-configuration").DoRaw(ctx)
}
