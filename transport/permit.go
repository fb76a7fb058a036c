package transport

import (
	"context"
	"net"
	"net/netip"
	"syscall"
)

// Permit says why a connection to an address that was found by the name host may
// not be made, nil where it may. The host may be an address itself.
type Permit func(host string, addr netip.Addr) error

// DialPermitted returns how connections are made to addresses that are permitted
// alone. Each is asked about once it is known, right before it is connected to:
// what a name leads to can change from one look to the next. The nil Permit
// permits all.
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

// notPermitted is why a connection was not even tried.
type notPermitted struct{ err error }

func (e *notPermitted) Error() string { return e.err.Error() }

func (e *notPermitted) Unwrap() error { return e.err }
