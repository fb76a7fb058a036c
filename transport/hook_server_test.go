package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// allowed is a complete HTTP response with an allow.
const allowed = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + `{"decision":"allow"}`

// hook is a server on the loopback interface without an HTTP library: the test
// controls which bytes are sent when, and sees what was received.
type hook struct {
	url string

	mu       sync.Mutex
	accepted []net.Conn
	requests []heard
	serving  sync.WaitGroup
}

// heard is one request that reached a hook.
type heard struct {
	conn   int // index of the connection, from 0
	header http.Header
	body   []byte
}

// hookConn is one connection to a hook.
type hookConn struct {
	net.Conn
	r      *bufio.Reader
	hook   *hook
	number int
	header http.Header // of the last request that next read
	body   []byte      // likewise
}

// listen starts a hook on the loopback interface. It passes each connection to
// serve, and closes it when serve returns. If secure is not nil, it speaks TLS.
func listen(t *testing.T, secure *tls.Config, serve func(c *hookConn)) *hook {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{url: "http://" + l.Addr().String() + "/hook"}
	if secure != nil {
		h.url = "https://" + l.Addr().String() + "/hook"
		l = tls.NewListener(l, secure)
	}
	h.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.accept(c, serve)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		h.stop()
	})
	return h
}

// inBubble starts a hook that is reached through memory, so that the test can
// run in a synctest bubble, and returns a webhook for it.
func inBubble(t *testing.T, o WebhookOptions, secure *tls.Config, serve func(c *hookConn)) (*Webhook, *hook) {
	t.Helper()
	h := &hook{}
	t.Cleanup(h.stop)
	w := webhookTo(t, o)
	dialerOf(t, w).connect = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := memoryPipe()
		if secure != nil {
			theirs = tls.Server(theirs, secure)
		}
		h.accept(theirs, serve)
		return ours, nil
	}
	return w, h
}

// dialerOf returns the dialer of a webhook.
func dialerOf(t *testing.T, w *Webhook) *dialer {
	t.Helper()
	switch s := w.reach.Load().sender.(type) {
	case *httpSender:
		return s.dial
	case *plainSender:
		return s.dial
	}
	t.Fatalf("the sender is a %T", w.reach.Load().sender)
	return nil
}

func (h *hook) accept(c net.Conn, serve func(c *hookConn)) {
	h.mu.Lock()
	number := len(h.accepted)
	h.accepted = append(h.accepted, c)
	h.mu.Unlock()
	h.serving.Go(func() {
		defer func() { _ = c.Close() }()
		serve(&hookConn{Conn: c, r: bufio.NewReader(c), hook: h, number: number})
	})
}

func (h *hook) stop() {
	h.mu.Lock()
	for _, c := range h.accepted {
		_ = c.Close()
	}
	h.mu.Unlock()
	h.serving.Wait()
}

// next reads a complete request. It returns false if there is none.
func (c *hookConn) next() bool {
	req, err := http.ReadRequest(c.r)
	if err != nil {
		return false
	}
	c.header = req.Header
	c.body, err = io.ReadAll(req.Body)
	if err != nil {
		return false
	}
	c.hook.mu.Lock()
	defer c.hook.mu.Unlock()
	c.hook.requests = append(c.hook.requests, heard{conn: c.number, header: req.Header, body: c.body})
	return true
}

// allowsAll answers every request with an allow.
func allowsAll(c *hookConn) {
	for c.next() {
		c.say(allowed)
	}
}

func (c *hookConn) say(text string) { _, _ = io.WriteString(c, text) }

// wait blocks until the caller has closed the connection.
func (c *hookConn) wait() { _, _ = io.Copy(io.Discard, c.r) }

// reset ends the connection with a TCP reset.
func (c *hookConn) reset() {
	raw := c.Conn
	if layer, ok := raw.(*tls.Conn); ok {
		raw = layer.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
	}
}

// finish closes the sending side and waits for the caller to close the other,
// so that everything that was sent arrives.
func (c *hookConn) finish() {
	c.endHalf()
	c.wait()
}

// endHalf closes the sending side of the connection.
func (c *hookConn) endHalf() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// dials is the number of connections that the hook has accepted.
func (h *hook) dials() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.accepted)
}

// heard returns all requests so far.
func (h *hook) heard() []heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests
}

// response returns a complete HTTP/1.1 response with a Content-Length.
func response(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return authority{cert: cert, key: key, pool: pool}
}

// issue signs a certificate for the loopback address, or for the given names
// instead, that expires at the given time.
func (a authority) issue(t *testing.T, end time.Time, names ...string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test hook"},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end, DNSNames: names,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serving is a server configuration with a valid certificate.
func (a authority) serving(t *testing.T, protocols ...string) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{a.issue(t, time.Now().Add(time.Hour))}, NextProtos: protocols}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The HTTP/2 frames that the tests use.
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7

	flagEnd     = 1 // END_STREAM; in settings and ping frames, ACK
	flagHeaders = 4 // END_HEADERS
)

// frame is an HTTP/2 frame.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// nextFrame reads a frame. It returns false if there is none.
func (c *hookConn) nextFrame() (frame, bool) {
	head := make([]byte, 9)
	if _, err := io.ReadFull(c.r, head); err != nil {
		return frame{}, false
	}
	f := frame{kind: head[3], flags: head[4], stream: binary.BigEndian.Uint32(head[5:])}
	f.payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err := io.ReadFull(c.r, f.payload)
	return f, err == nil
}

func (c *hookConn) sayFrame(f frame) {
	head := []byte{byte(len(f.payload) >> 16), byte(len(f.payload) >> 8), byte(len(f.payload)), f.kind, f.flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], f.stream)
	_, _ = c.Write(append(head, f.payload...))
}

// allowOver2 responds on an HTTP/2 stream with status 200 and an allow.
func (c *hookConn) allowOver2(stream uint32) {
	c.sayFrame(frame{kind: frameHeaders, flags: flagHeaders, stream: stream, payload: []byte{0x88}}) // ":status 200" is entry 8 of the static table
	c.sayFrame(frame{kind: frameData, flags: flagEnd, stream: stream, payload: []byte(`{"decision":"allow"}`)})
}

// serveOver2 speaks HTTP/2. It calls asked for each complete request, with its
// stream and the number of the request on this connection, until asked returns
// false or the caller is gone.
func (c *hookConn) serveOver2(asked func(stream uint32, nth int) bool) {
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(c.r, preface); err != nil || !bytes.HasPrefix(preface, []byte("PRI ")) {
		return
	}
	c.sayFrame(frame{kind: frameSettings})
	for nth := 0; ; {
		f, ok := c.nextFrame()
		if !ok {
			return
		}
		switch {
		case f.kind == frameSettings && f.flags&flagEnd == 0:
			c.sayFrame(frame{kind: frameSettings, flags: flagEnd})
		case f.kind == framePing && f.flags&flagEnd == 0:
			c.sayFrame(frame{kind: framePing, flags: flagEnd, payload: f.payload})
		case f.kind == frameData && f.flags&flagEnd != 0:
			c.hook.mu.Lock()
			c.hook.requests = append(c.hook.requests, heard{conn: c.number, body: f.payload})
			c.hook.mu.Unlock()
			if !asked(f.stream, nth) {
				return
			}
			nth++
		}
	}
}

// lane carries bytes in one direction through memory. Unlike [net.Pipe] it
// buffers what was not read yet, as a socket does.
type lane struct {
	mu    sync.Mutex
	moved sync.Cond
	held  bytes.Buffer
	ended bool
}

// memoryConn is one end of a connection through memory.
type memoryConn struct {
	net.Conn // only for its addresses

	in, out  *lane
	deadline time.Time   // of Read; guarded by in.mu
	alarm    *time.Timer // wakes Read at the deadline
}

// memoryPipe returns both ends of a connection through memory.
func memoryPipe() (one, other net.Conn) {
	there, back := &lane{}, &lane{}
	there.moved.L, back.moved.L = &there.mu, &back.mu
	still, _ := net.Pipe()
	return &memoryConn{Conn: still, in: back, out: there}, &memoryConn{Conn: still, in: there, out: back}
}

// Read reads what the other end has written.
func (c *memoryConn) Read(p []byte) (int, error) {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	for c.in.held.Len() == 0 && !c.in.ended {
		if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		c.in.moved.Wait()
	}
	return c.in.held.Read(p)
}

// SetDeadline sets the deadline of Read. A Write never blocks.
func (c *memoryConn) SetDeadline(at time.Time) error { return c.SetReadDeadline(at) }

// SetReadDeadline sets the deadline of Read.
func (c *memoryConn) SetReadDeadline(at time.Time) error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.alarm != nil {
		c.alarm.Stop()
	}
	c.deadline = at
	c.in.moved.Broadcast()
	// Only for a time in the future: Go 1.26's race detector may fail over a timer
	// that is already due when it is created in a synctest bubble.
	if in := time.Until(at); !at.IsZero() && in > 0 {
		c.alarm = time.AfterFunc(in, func() {
			c.in.mu.Lock()
			defer c.in.mu.Unlock()
			c.in.moved.Broadcast()
		})
	}
	return nil
}

// SetWriteDeadline does nothing, since a Write never blocks.
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }

// Write writes to the other end.
func (c *memoryConn) Write(p []byte) (int, error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.ended {
		return 0, io.ErrClosedPipe
	}
	c.out.moved.Broadcast()
	return c.out.held.Write(p)
}

// Close closes both directions.
func (c *memoryConn) Close() error {
	for _, l := range []*lane{c.in, c.out} {
		l.mu.Lock()
		l.ended = true
		l.moved.Broadcast()
		l.mu.Unlock()
	}
	return nil
}
