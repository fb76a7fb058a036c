package signature_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/hookgate/hookgate/transport/signature"
)

// Test vectors from the reference libraries and the servers that use them.
const (
	vectorSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorSeed    = "whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk="
	vectorPrivate = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	vectorPublic  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
)

func mustParse(tb testing.TB, text string) signature.Key {
	tb.Helper()
	k, err := signature.ParseKey(text)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func mustSigner(tb testing.TB, keys ...string) *signature.Signer {
	tb.Helper()
	parsed := make([]signature.Key, 0, len(keys))
	for _, text := range keys {
		parsed = append(parsed, mustParse(tb, text))
	}
	s, err := signature.NewSigner(parsed...)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func mustVerifier(tb testing.TB, o signature.VerifierOptions, keys ...string) *signature.Verifier {
	tb.Helper()
	for _, text := range keys {
		o.Keys = append(o.Keys, mustParse(tb, text))
	}
	v, err := signature.NewVerifier(o)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// public is the key that verifies the signatures of private.
func public(tb testing.TB, private string) string {
	tb.Helper()
	return mustParse(tb, private).Public()
}

func TestS1_KeysAreReadAsTheLibrariesWriteThem(t *testing.T) {
	seedOnly := "whsk_" + base64.StdEncoding.EncodeToString(decoded(t, vectorPrivate)[:32])
	for _, c := range []struct{ name, text, want, public string }{
		{"a shared secret", vectorSecret, "shared secret", ""},
		{"a shared secret without its prefix", strings.TrimPrefix(vectorSecret, "whsec_"), "shared secret", ""},
		{"a private key with its public half", vectorPrivate, "private key of " + vectorPublic, vectorPublic},
		{"the seed of a private key", seedOnly, "private key of " + vectorPublic, vectorPublic},
		{"a public key", vectorPublic, "public key " + vectorPublic, vectorPublic},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := mustParse(t, c.text)
			if got := k.String(); got != c.want {
				t.Errorf("is called %q, want %q", got, c.want)
			}
			if got := k.Public(); got != c.public {
				t.Errorf("public key %q, want %q", got, c.public)
			}
		})
	}
}

// decoded is the part of a key after its prefix.
func decoded(tb testing.TB, text string) []byte {
	tb.Helper()
	_, after, _ := strings.Cut(text, "_")
	raw, err := base64.StdEncoding.DecodeString(after)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestS4_AKeyThatCannotBeUsedIsRefusedWithoutBeingQuoted(t *testing.T) {
	const canary = "CanaryCanaryCanaryCanary"
	short := base64.StdEncoding.EncodeToString([]byte("canary!"))
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("canary!", 10)))
	crossed := decoded(t, vectorPrivate)
	crossed[63] ^= 1
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "the key is empty"},
		{"a prefix alone", "whsec_", "the secret has 0 bytes: want 24 to 64"},
		{"a secret too short", "whsec_" + short, "the secret has 7 bytes: want 24 to 64"},
		{"a secret too long", "whsec_" + long, "the secret has 70 bytes: want 24 to 64"},
		{"a passphrase", canary + "!", "the secret (whsec_…) is not base64 after its prefix"},
		{"a line break at the end", vectorSecret + "\n", "the secret (whsec_…) contains a blank or a line break, perhaps from the end of its file"},
		{"a private key with a line break", vectorSeed + "\r\n", "the private key (whsk_…) contains a blank or a line break, perhaps from the end of its file"},
		{"a private key that is not base64", "whsk_" + canary + "!", "the private key (whsk_…) is not base64 after its prefix"},
		{"a private key of a wrong length", "whsk_" + short, "the private key (whsk_…) has 7 bytes: want a seed of 32, or a seed with its public key of 64"},
		{"a private key with another's public half", "whsk_" + base64.StdEncoding.EncodeToString(crossed), "the private key (whsk_…) ends in a public key that does not belong to it"},
		{"a public key that is not base64", "whpk_" + canary + "!", "the public key (whpk_…) is not base64 after its prefix"},
		{"a public key of a wrong length", "whpk_" + short, "the public key (whpk_…) has 7 bytes: want 32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := signature.ParseKey(c.text)
			if err == nil {
				t.Fatalf("was taken as %v", k)
			}
			if err.Error() != c.want {
				t.Errorf("error %q, want %q", err, c.want)
			}
			if _, err := signature.NewSigner(k); err == nil {
				t.Error("what came with the error can sign")
			}
		})
	}
}

func TestS4_NoWayOfPrintingShowsASecret(t *testing.T) {
	raw := []byte("canary-canary-canary-canary-0123")
	text := base64.StdEncoding.EncodeToString(raw)
	secret, err := signature.SecretKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	private := mustParse(t, "whsk_"+text)
	verifier, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{secret}})
	if err != nil {
		t.Fatal(err)
	}
	signer := mustSigner(t, "whsec_"+text, "whsk_"+text)
	if _, err := signer.Sign("msg_1", vectorTime, nil); err != nil { // fills its buffers
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, printed := range []any{secret, &secret, private, &private, signer, verifier, []signature.Key{secret, private}} {
			got := fmt.Sprintf(verb, printed)
			for _, leak := range []string{"canary", text, "63616e617279", "99 97 110 97 114 121", "0x63, 0x61, 0x6e"} {
				if strings.Contains(got, leak) {
					t.Errorf("%s of a %T shows the secret: %s", verb, printed, got)
				}
			}
		}
	}
}

func TestS4_TheZeroKeyIsNone(t *testing.T) {
	var zero signature.Key
	if got := zero.String(); got != "no key" {
		t.Errorf("the zero key is called %q", got)
	}
	if _, err := signature.NewSigner(zero); err == nil || err.Error() != "signer: key 0 is the zero value" {
		t.Errorf("a signer took it: %v", err)
	}
	if _, err := signature.NewVerifier(signature.VerifierOptions{Keys: []signature.Key{zero}}); err == nil || err.Error() != "verifier: key 0 is the zero value" {
		t.Errorf("a verifier took it: %v", err)
	}
}
