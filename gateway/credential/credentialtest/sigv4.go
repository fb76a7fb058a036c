package credentialtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// SigV4Verifier verifies AWS Signature Version 4 on the server's side. It is
// written from AWS's specification and shares no code with its SDK.
type SigV4Verifier struct {
	AccessKey, Secret, SessionToken string
	Region, Service                 string
	Now                             func() time.Time
}

// ErrSkew is the error for which AWS answers 403 with RequestExpired or
// SignatureDoesNotMatch.
var ErrSkew = errors.New("signed too long ago, or in the future")

// Verify returns why AWS would refuse the request, nil if it would accept it.
func (v SigV4Verifier) Verify(r *http.Request, body []byte) error {
	fields, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return fmt.Errorf("the header Authorization is %q", r.Header.Get("Authorization"))
	}
	said := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		said[name] = value
	}
	moment, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return err
	}
	if skew := v.Now().Sub(moment).Abs(); skew > 5*time.Minute {
		return fmt.Errorf("%w: %v", ErrSkew, skew)
	}
	scope := moment.Format("20060102") + "/" + v.Region + "/" + v.Service + "/aws4_request"
	if want := v.AccessKey + "/" + scope; said["Credential"] != want {
		return fmt.Errorf("credential %q, want %q", said["Credential"], want)
	}
	if got := r.Header.Get("X-Amz-Security-Token"); got != v.SessionToken {
		return fmt.Errorf("session token %q, want %q", got, v.SessionToken)
	}
	names := strings.Split(said["SignedHeaders"], ";")
	if !slices.IsSorted(names) {
		return fmt.Errorf("signed headers are not in order: %v", names)
	}
	must := []string{"host", "x-amz-date"}
	if v.SessionToken != "" {
		must = append(must, "x-amz-security-token")
	}
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "webhook-") || lower == "content-type" || lower == "idempotency-key" {
			must = append(must, lower)
		}
	}
	for _, name := range must {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s is sent and not signed", name)
		}
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != "" && got != digest {
		return fmt.Errorf("the body has the digest %s, and %s was said", digest, got)
	}
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r.URL), canonicalQuery(r.URL.RawQuery), canonicalHeaders(r, names), said["SignedHeaders"], digest,
	}, "\n")
	hashed := sha256.Sum256([]byte(canonical))
	toSign := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(hashed[:])
	key := []byte("AWS4" + v.Secret)
	for _, part := range append(strings.Split(scope, "/"), toSign) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if want := hex.EncodeToString(key); said["Signature"] != want {
		return fmt.Errorf("signature %s, want %s of\n%s", said["Signature"], want, canonical)
	}
	return nil
}

// uriEncode is the UriEncode of the specification: it escapes everything but
// unreserved characters.
func uriEncode(s string, keep string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~"+keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// canonicalPath encodes the escaped path once more, as all services but S3 do.
func canonicalPath(u *url.URL) string {
	if p := uriEncode(u.EscapedPath(), "/"); p != "" {
		return p
	}
	return "/"
}

// canonicalQuery sorts the parameters by name and then by value, both in encoded
// form.
func canonicalQuery(raw string) string {
	var pairs [][]string
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		n, _ := url.QueryUnescape(name)
		v, _ := url.QueryUnescape(value)
		pairs = append(pairs, []string{uriEncode(n, ""), uriEncode(v, "")})
	}
	slices.SortFunc(pairs, slices.Compare)
	sorted := make([]string, 0, len(pairs))
	for _, pair := range pairs {
		sorted = append(sorted, pair[0]+"="+pair[1])
	}
	return strings.Join(sorted, "&")
}

func canonicalHeaders(r *http.Request, names []string) string {
	var b strings.Builder
	for _, name := range names {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{fmt.Sprint(r.ContentLength)}
		}
		trimmed := make([]string, 0, len(values))
		for _, v := range values {
			trimmed = append(trimmed, strings.Join(strings.Fields(v), " "))
		}
		b.WriteString(name + ":" + strings.Join(trimmed, ",") + "\n")
	}
	return b.String()
}
