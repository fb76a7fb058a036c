package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"sync"
)

// macs computes message authentication codes with one secret. Setting up the
// secret costs as much as hashing a short message, so the states are pooled.
type macs struct {
	secret []byte
	states sync.Pool // of *macState
}

type macState struct {
	hash hash.Hash
	sum  [sha256.Size]byte
}

func newMACs(secret []byte) *macs { return &macs{secret: bytes.Clone(secret)} }

// appendMAC appends the MAC of head and body to dst, in base64.
func (m *macs) appendMAC(dst, head, body []byte) []byte {
	s, ok := m.states.Get().(*macState)
	if !ok {
		s = &macState{hash: hmac.New(sha256.New, m.secret)}
	}
	s.hash.Write(head)
	s.hash.Write(body)
	dst = base64.StdEncoding.AppendEncode(dst, s.hash.Sum(s.sum[:0]))
	s.hash.Reset()
	m.states.Put(s)
	return dst
}
