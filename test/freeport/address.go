// Package freeport finds addresses for the programs that tests start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Address is an address of the loopback where nobody listens, for a program
// that must be told one. Its port is none that the system gives to outgoing
// connections: one of those could be taken before the program listens, or while
// it is down to be started again.
func Address(t testing.TB) string {
	t.Helper()
	const lowest, beyond, tries = 10240, 32768, 100
	for range tries {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(beyond-lowest))) //nolint:gosec // G404: nobody gains by guessing it
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
