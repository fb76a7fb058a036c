package config

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
)

// fingerprint returns the hash of everything that the hook's binding is made
// of.
func (h *Hook) fingerprint() [sha256.Size]byte {
	d := newDigest()
	switch {
	case h.Command != nil:
		d.text("command")
		h.Command.fingerprint(d)
	case h.Webhook != nil:
		d.text("url")
		h.Webhook.fingerprint(d)
	case h.Use != nil:
		d.text("use")
		h.Use.fingerprint(d)
	}
	if h.Canary != nil {
		d.text("canary")
		h.Canary.fingerprint(d)
	}
	return d.sum()
}

func (c *Command) fingerprint(d digest) {
	d.texts(c.Argv)
	d.text(c.Dir)
	d.number(len(c.Env))
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		d.text(name)
		d.text(c.Env[name])
	}
	d.texts(c.Secrets)
	d.number(c.Processes)
	d.flag(c.BindAnswers)
	c.Limits.fingerprint(d)
}

func (w *Webhook) fingerprint(d digest) {
	d.text(w.URL.String())
	d.flag(w.CloudEvents)
	d.number(int(w.Unwrap))
	w.Breaker.fingerprint(d)
	d.number(int(w.ColdAfter))
	d.flag(w.Warmup)
	d.number(int(w.MaxConnAge))
	d.flag(w.Proxy.FromEnvironment)
	d.flag(w.Proxy.URL != nil)
	if w.Proxy.URL != nil {
		d.text(w.Proxy.URL.String())
	}
	w.Limits.fingerprint(d)
}

// secrets returns the hash of everything that can be replaced while the binding
// stays: what is sent with every call, and how the two sides authenticate.
func (w *Webhook) secrets() [sha256.Size]byte {
	d := newDigest()
	d.number(len(w.Headers))
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		d.text(name)
		d.text(w.Headers.Get(name))
	}
	d.flag(w.Auth != nil)
	if w.Auth != nil {
		w.Auth.fingerprint(d)
	}
	d.texts(w.SigningKeys)
	d.number(int(w.BindAnswers))
	d.flag(w.TLS != nil)
	if w.TLS != nil {
		d.number(len(w.TLS.read))
		for _, part := range w.TLS.read {
			d.bytes(part)
		}
		d.text(w.TLS.ServerName)
	}
	return d.sum()
}

func (u *Use) fingerprint(d digest) {
	d.text(u.Guard)
	d.number(len(u.With))
	for _, name := range slices.Sorted(maps.Keys(u.With)) {
		d.text(name)
		d.bytes(u.With[name])
	}
}

func (l Limits) fingerprint(d digest) {
	d.number(l.MaxInFlight)
	d.number(l.MaxResponseBytes)
}

// digest is a hash that is unambiguous for lists of values: each string is
// preceded by its length.
type digest struct{ hash hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) sum() [sha256.Size]byte { return [sha256.Size]byte(d.hash.Sum(nil)) }

func (d digest) number(n int) {
	d.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // the bits are hashed, whatever they count
}

func (d digest) flag(b bool) {
	if b {
		d.number(1)
	} else {
		d.number(0)
	}
}

func (d digest) text(s string) { d.bytes([]byte(s)) }

func (d digest) texts(all []string) {
	d.number(len(all))
	for _, s := range all {
		d.text(s)
	}
}

func (d digest) bytes(b []byte) {
	d.number(len(b))
	d.hash.Write(b)
}
