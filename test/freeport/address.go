// Package freeport finds addresses for programs that tests start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Address returns an unused loopback address, for a program that must be given
// one. Its port is outside the ephemeral range: an ephemeral port could be
// taken by an outgoing connection before the program listens, or while it
// restarts.
func Address(t testing.TB) string {
	t.Helper()
	const lowest, beyond, tries = 10240, 32768, 100
	for range tries {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(beyond-lowest))) //nolint:gosec // G404: a port, not a secret
		if err != nil {
			continue
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatalf("no port of the loopback from %d to %d is free", lowest, beyond-1)
	return ""
}
