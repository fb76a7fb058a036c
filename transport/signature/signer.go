package signature

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The headers of a signed request, in the canonical form of http.Header.
const (
	// HeaderID is the id of the request. A repeated request has the same id.
	HeaderID = "Webhook-Id"
	// HeaderTimestamp is the time of sending, in Unix seconds.
	HeaderTimestamp = "Webhook-Timestamp"
	// HeaderSignature is the list of signatures, separated by spaces.
	HeaderSignature = "Webhook-Signature"
)

// maxIDBytes limits the length of an id. The gateway's own ids have 30 bytes.
const maxIDBytes = 256

// Signer signs with each of its keys. The zero Signer signs nothing.
type Signer struct {
	keys    []Key
	scratch sync.Pool // of *scratch
}

type scratch struct{ head, out []byte }

// NewSigner returns a signer with the given keys, each a shared secret or a
// private key. The signatures are in the order of the keys.
func NewSigner(keys ...Key) (*Signer, error) {
	if len(keys) == 0 {
		return nil, errors.New("signer: there are no keys")
	}
	if len(keys) > maxSignatures {
		return nil, fmt.Errorf("signer: there are %d keys, and verifiers read at most %d signatures", len(keys), maxSignatures)
	}
	for i, k := range keys {
		switch {
		case k.version == "":
			return nil, fmt.Errorf("signer: key %d is the zero value", i)
		case k.sign == nil:
			return nil, fmt.Errorf("signer: key %d is a public key (%s…), which can only verify; the sender needs the private one (%s…)", i, publicPrefix, privatePrefix)
		}
	}
	return &Signer{keys: slices.Clone(keys)}, nil
}

// Sign returns the signatures of a request in the format of the
// Webhook-Signature header. The id must be printable ASCII without spaces,
// quotes, backslashes or full stops, since full stops join the signed text.
func (s *Signer) Sign(id string, at time.Time, body []byte) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	return s.sign(func(head []byte) []byte {
		return appendRequestHead(head, id, at.Unix())
	}, body)
}

// SetHeaders signs a request and sets its three signature headers.
func (s *Signer) SetHeaders(h http.Header, id string, at time.Time, body []byte) error {
	signatures, err := s.Sign(id, at, body)
	if err != nil {
		return err
	}
	h[HeaderID] = []string{id}
	h[HeaderTimestamp] = []string{strconv.FormatInt(at.Unix(), 10)}
	h[HeaderSignature] = []string{signatures}
	return nil
}

// sign returns the list of signatures over what appendHead appends, followed by
// body.
func (s *Signer) sign(appendHead func([]byte) []byte, body []byte) (string, error) {
	if len(s.keys) == 0 {
		return "", errors.New("signer: there are no keys")
	}
	b, ok := s.scratch.Get().(*scratch)
	if !ok {
		b = new(scratch)
	}
	defer s.scratch.Put(b)
	b.head = appendHead(b.head[:0])
	b.out = b.out[:0]
	for i, k := range s.keys {
		if i > 0 {
			b.out = append(b.out, ' ')
		}
		b.out = append(b.out, k.version...)
		b.out = append(b.out, ',')
		b.out = k.sign(b.out, b.head, body)
	}
	return string(b.out), nil
}

// appendRequestHead appends the part of the signed text that precedes the body.
func appendRequestHead(dst []byte, id string, unix int64) []byte {
	dst = append(dst, id...)
	dst = append(dst, '.')
	dst = strconv.AppendInt(dst, unix, 10)
	return append(dst, '.')
}

// checkID refuses an id with which two different messages could have the same
// signed text, or which would need escaping in a header or in JSON.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("the id is empty")
	case len(id) > maxIDBytes:
		return fmt.Errorf("the id has %d bytes, and at most %d are accepted", len(id), maxIDBytes)
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c >= 0x7f || c == '.' || c == '"' || c == '\\' {
			return fmt.Errorf("the id contains the byte %q, which would make the signature ambiguous", c)
		}
	}
	return nil
}
