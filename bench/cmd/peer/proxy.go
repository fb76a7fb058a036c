package main

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// proxy returns the standard library's reverse proxy tuned for speed: enough
// idle connections for every caller, no compression, and pooled buffers.
func proxy(to *url.URL) http.Handler {
	const callers = 8192
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{
			MaxIdleConns: callers, MaxIdleConnsPerHost: callers, IdleConnTimeout: time.Minute,
			DisableCompression: true,
			DialContext:        (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		},
		BufferPool: &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}},
	}
}

const bufferSize = 4 << 10

// buffers pools the buffers for copying bodies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	array, ok := b.pool.Get().(*[bufferSize]byte)
	if !ok {
		return make([]byte, bufferSize)
	}
	return array[:]
}

func (b *buffers) Put(buffer []byte) {
	if cap(buffer) >= bufferSize {
		b.pool.Put((*[bufferSize]byte)(buffer[:bufferSize]))
	}
}
