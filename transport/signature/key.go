package signature

import (
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The signature versions.
const (
	symmetricVersion  = "v1"
	asymmetricVersion = "v1a"
)

// The prefixes of keys in text form.
const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

const (
	minSecretBytes = 24
	maxSecretBytes = 64
)

// Key signs, verifies, or both. The zero Key does neither.
//
// Secret material is captured in closures, out of reach of anything that prints
// a Key or a value that contains one.
type Key struct {
	// version is the version of its signatures.
	version string
	// public is the text form of the public key that verifies its signatures. It
	// is empty for a shared secret.
	public string
	// sign appends the signature of head and body to dst, in base64. It is nil if
	// the key can only verify.
	sign func(dst, head, body []byte) []byte
	// verify reports whether one of the signatures, in base64, is this key's
	// signature of head and body. It is nil if the key can only sign.
	verify func(head, body []byte, signatures []string) bool
}

// ParseKey parses the text form of a key: whsec_…, whsk_…, whpk_…, or the
// base64 of a shared secret without its prefix. The error never quotes the
// text.
func ParseKey(text string) (Key, error) {
	switch {
	case text == "":
		return Key{}, errors.New("the key is empty")
	case strings.HasPrefix(text, privatePrefix):
		raw, err := decode(text[len(privatePrefix):])
		if err != nil {
			return Key{}, fmt.Errorf("the private key (%s…) %w", privatePrefix, err)
		}
		return privateKey(raw)
	case strings.HasPrefix(text, publicPrefix):
		raw, err := decode(text[len(publicPrefix):])
		if err != nil {
			return Key{}, fmt.Errorf("the public key (%s…) %w", publicPrefix, err)
		}
		return publicKey(raw)
	}
	raw, err := decode(strings.TrimPrefix(text, secretPrefix))
	if err != nil {
		return Key{}, fmt.Errorf("the secret (%s…) %w", secretPrefix, err)
	}
	return SecretKey(raw)
}

// decode decodes base64. Unlike package base64, it does not ignore line breaks.
func decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, " \t\r\n") {
		return nil, errors.New("contains a blank or a line break, perhaps from the end of its file")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64 after its prefix")
	}
	return raw, nil
}

// SecretKey returns the key of a shared secret in binary form. It can sign and
// verify.
func SecretKey(secret []byte) (Key, error) {
	if n := len(secret); n < minSecretBytes || n > maxSecretBytes {
		return Key{}, fmt.Errorf("the secret has %d bytes: want %d to %d", n, minSecretBytes, maxSecretBytes)
	}
	pool := newMACs(secret)
	return Key{
		version: symmetricVersion,
		sign:    pool.appendMAC,
		verify: func(head, body []byte, signatures []string) bool {
			want := pool.appendMAC(nil, head, body)
			found := 0
			for _, s := range signatures {
				found |= subtle.ConstantTimeCompare(want, []byte(s))
			}
			return found == 1
		},
	}, nil
}

func privateKey(raw []byte) (Key, error) {
	if n := len(raw); n != ed25519.SeedSize && n != ed25519.PrivateKeySize {
		return Key{}, fmt.Errorf("the private key (%s…) has %d bytes: want a seed of %d, or a seed with its public key of %d",
			privatePrefix, n, ed25519.SeedSize, ed25519.PrivateKeySize)
	}
	private := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if len(raw) == ed25519.PrivateKeySize && subtle.ConstantTimeCompare(private, raw) != 1 {
		return Key{}, fmt.Errorf("the private key (%s…) ends in a public key that does not belong to it", privatePrefix)
	}
	return Key{
		version: asymmetricVersion,
		public:  publicPrefix + base64.StdEncoding.EncodeToString(private[ed25519.SeedSize:]),
		sign: func(dst, head, body []byte) []byte {
			return base64.StdEncoding.AppendEncode(dst, ed25519.Sign(private, slices.Concat(head, body)))
		},
	}, nil
}

func publicKey(raw []byte) (Key, error) {
	if len(raw) != ed25519.PublicKeySize {
		return Key{}, fmt.Errorf("the public key (%s…) has %d bytes: want %d", publicPrefix, len(raw), ed25519.PublicKeySize)
	}
	public := ed25519.PublicKey(slices.Clone(raw))
	return Key{
		version: asymmetricVersion,
		public:  publicPrefix + base64.StdEncoding.EncodeToString(raw),
		verify: func(head, body []byte, signatures []string) bool {
			signed := slices.Concat(head, body)
			return slices.ContainsFunc(signatures, func(s string) bool {
				signature, err := decode(s)
				return err == nil && ed25519.Verify(public, signed, signature)
			})
		},
	}, nil
}

// Public returns the public key (whpk_…) that verifies this key's signatures,
// or "" for a shared secret.
func (k Key) Public() string { return k.public }

// String returns the kind of key, with a public key but never with a secret.
func (k Key) String() string {
	switch {
	case k.version == symmetricVersion:
		return "shared secret"
	case k.sign != nil:
		return "private key of " + k.public
	case k.verify != nil:
		return "public key " + k.public
	}
	return "no key"
}
