package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/transport/signature"
)

// Test vectors from the reference libraries.
const (
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody      = `{"test": 2432232314}`
	vectorSymmetric = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	vectorEd25519   = "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag=="
)

var vectorTime = time.Unix(1614265330, 0)

func TestS1_TheVectorsOfTheReferenceLibrariesAreMet(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want string
	}{
		{"a shared secret", []string{vectorSecret}, vectorSymmetric},
		{"a private key", []string{vectorSeed}, vectorEd25519},
		{"several keys at once", []string{vectorSecret, vectorSeed, vectorSecret}, vectorSymmetric + " " + vectorEd25519 + " " + vectorSymmetric},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := mustSigner(t, c.keys...).Sign(vectorID, vectorTime, []byte(vectorBody))
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("signed\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestS1_ASignatureIsTheHMACOfIDTimeAndBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 24, 64).Draw(t, "secret")
		id := rapid.StringMatching(`msg_[A-Za-z0-9_-]{1,40}`).Draw(t, "id")
		unix := rapid.Int64Range(0, 1<<38).Draw(t, "time")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")

		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + strconv.FormatInt(unix, 10) + "." + string(body)))
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))

		key, err := signature.SecretKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := signature.NewSigner(key)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with pooled states
			got, err := signer.Sign(id, time.Unix(unix, 999), body)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Fatalf("signed %s, want %s", got, want)
			}
		}
	})
}

func TestS1_TheThreeHeadersAreSet(t *testing.T) {
	h := http.Header{"Webhook-Id": {"old", "older"}, "Other": {"kept"}}
	if err := mustSigner(t, vectorSecret).SetHeaders(h, vectorID, vectorTime, []byte(vectorBody)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Webhook-Id": {vectorID}, "Webhook-Timestamp": {"1614265330"}, "Webhook-Signature": {vectorSymmetric}, "Other": {"kept"},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestS4_ASignerNeedsKeysThatSign(t *testing.T) {
	many := make([]signature.Key, 33)
	for i := range many {
		many[i] = mustParse(t, vectorSecret)
	}
	for _, c := range []struct {
		name string
		keys []signature.Key
		want string
	}{
		{"none", nil, "signer: there are no keys"},
		{"a public one", []signature.Key{mustParse(t, vectorSecret), mustParse(t, vectorPublic)}, "signer: key 1 is a public key (whpk_…), which can only verify; the sender needs the private one (whsk_…)"},
		{"more than are read", many, "signer: there are 33 keys, and verifiers read at most 32 signatures"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := signature.NewSigner(c.keys...); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	if _, err := new(signature.Signer).Sign(vectorID, vectorTime, nil); err == nil || err.Error() != "signer: there are no keys" {
		t.Errorf("the zero signer signs: %v", err)
	}
}

func TestS4_AnIDThatCouldBeMistakenIsNotSigned(t *testing.T) {
	for _, c := range []struct{ name, id, want string }{
		{"nothing", "", "the id is empty"},
		{"too much", strings.Repeat("a", 257), "the id has 257 bytes, and at most 256 are accepted"},
		{"a full stop", "msg_1.2", `the id contains the byte '.', which would make the signature ambiguous`},
		{"a line break", "msg_1\r\nX: y", `the id contains the byte '\r', which would make the signature ambiguous`},
		{"a space", "msg 1", `the id contains the byte ' ', which would make the signature ambiguous`},
		{"a quote", `msg_"`, `the id contains the byte '"', which would make the signature ambiguous`},
		{"a backslash", `msg_\`, `the id contains the byte '\\', which would make the signature ambiguous`},
		{"a letter beyond ASCII", "msg_é", `the id contains the byte 'Ã', which would make the signature ambiguous`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			err := mustSigner(t, vectorSecret).SetHeaders(h, c.id, vectorTime, nil)
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if len(h) > 0 {
				t.Errorf("headers were set all the same: %v", h)
			}
		})
	}
}

func TestS6_SignersAndVerifiersServeManyAtOnce(t *testing.T) {
	signer := mustSigner(t, vectorSecret, vectorSeed)
	verifier := mustVerifier(t, signature.VerifierOptions{}, vectorSecret, public(t, vectorSeed))
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 50 {
				id := "msg_" + strconv.Itoa(worker) + "_" + strconv.Itoa(i)
				body := []byte(strings.Repeat(id, i))
				h := http.Header{}
				if err := signer.SetHeaders(h, id, time.Now(), body); err != nil {
					t.Error(err)
				}
				if got, err := verifier.Verify(h, body); err != nil || got != id {
					t.Errorf("%s was verified as %q: %v", id, got, err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkSign(b *testing.B) {
	body := []byte(`{"hook_schema":1,"event":"pre_tool_use","input":{"command":"` + strings.Repeat("x", 238) + `"}}`)[:300]
	for name, keys := range map[string][]string{
		"one secret": {vectorSecret}, "two secrets": {vectorSecret, vectorSecret}, "a private key": {vectorSeed},
	} {
		b.Run(name, func(b *testing.B) {
			signer := mustSigner(b, keys...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := signer.Sign(vectorID, vectorTime, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
