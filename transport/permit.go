package transport

import (
	"context"
	"net"
	"net/netip"
	"syscall"
)

// Permit returns an error if connecting to addr, to which host resolved, is
// forbidden, and nil if it is permitted. host may itself be an address.
type Permit func(host string, addr netip.Addr) error

// DialPermitted returns a dial function that connects only to permitted
// addresses. permit is called with each resolved address directly before the
// connect, so a name that resolves differently the next time cannot bypass it.
// A nil permit permits every address.
func DialPermitted(permit Permit) func(ctx context.Context, network, address string) (net.Conn, error) {
	if permit == nil {
		return (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{ControlContext: func(_ context.Context, _, found string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(found)
			if err == nil {
				err = permit(host, to.Addr())
			}
			if err != nil {
				return &notPermitted{err}
			}
			return nil
		}}
		return d.DialContext(ctx, network, address)
	}
}

// notPermitted marks an error as a connection that permit refused.
type notPermitted struct{ err error }

func (e *notPermitted) Error() string { return e.err.Error() }

func (e *notPermitted) Unwrap() error { return e.err }
