// Package egress restricts the addresses that hooks may connect to.
//
// Invariants:
//
//   - E1 The address of the connection is checked, whatever name it was resolved
//     from and however it is written; the name is checked as well. An address
//     that leads to another one is checked as both.
//   - E2 An allowed name must not lead to a forbidden address, because whoever
//     controls the name could point it anywhere.
//   - E3 An address that cannot be parsed is refused.
package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// metadata returns the addresses and names at which clouds give credentials to
// any client on the right machine, and all link-local addresses.
func metadata() []string {
	return []string{
		"169.254.0.0/16", "fe80::/10", // link-local: AWS, Google, Azure, Oracle, DigitalOcean and others
		"fd00:ec2::/32",      // AWS over IPv6
		"fd20:ce::254",       // Google over IPv6
		"fd00:42::42",        // Scaleway over IPv6
		"fd00:c1::a9fe:a9fe", // Oracle over IPv6
		"fd00:a9fe:a9fe::1",  // Linode over IPv6
		"192.0.0.192",        // Oracle's Compute Classic
		"100.100.100.200",    // Alibaba
		"168.63.129.16",      // Azure's agent
		"metadata.google.internal",
	}
}

// Options define a policy. Each entry is an address, a range like 10.0.0.0/8, a
// name, a pattern like *.example.com for all names below a domain, or * for
// everything.
type Options struct {
	// Deny is refused unless Allow has an exception: an address or range for an
	// address, a name for a name, and either for *.
	Deny, Allow []string
	// NoMetadata adds metadata services and link-local addresses to Deny.
	NoMetadata bool
}

// Policy defines where hooks may connect. The nil Policy refuses everything.
type Policy struct {
	deny, allow list
}

// list holds the entries of one list, by type.
type list struct {
	ranges     []netip.Prefix
	names      []string // in lower case; one that begins with a dot matches all names below it
	everything bool
}

// New compiles a policy, or returns every invalid entry.
func New(o Options) (*Policy, error) {
	p := &Policy{}
	var errs []error
	if o.NoMetadata {
		errs = append(errs, p.deny.add(metadata()...))
	}
	errs = append(errs, p.deny.add(o.Deny...), p.allow.add(o.Allow...))
	if p.allow.everything {
		errs = append(errs, errors.New("the allow list contains *, which allows everything: remove entries from the deny list instead"))
	}
	return p, errors.Join(errs...)
}

func (l *list) add(entries ...string) error {
	var errs []error
	for _, entry := range entries {
		text := strings.ToLower(strings.TrimSpace(entry))
		prefix, err := netip.ParsePrefix(text)
		addr, isAddr := Literal(text)
		switch {
		case text == "*":
			l.everything = true
		case isAddr:
			l.ranges = append(l.ranges, netip.PrefixFrom(addr, addr.BitLen()))
		case err == nil:
			l.ranges = append(l.ranges, plainRange(prefix))
		case isName(strings.TrimPrefix(text, "*.")):
			l.names = append(l.names, strings.TrimPrefix(strings.TrimSuffix(text, "."), "*"))
		default:
			errs = append(errs, fmt.Errorf("%.60q is neither an address, a range like 10.0.0.0/8, a name, a name like *.example.com, nor *", entry))
		}
	}
	return errors.Join(errs...)
}

// plainRange returns a range with its host bits cleared, as an IPv4 range if it
// is one.
func plainRange(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}

func isName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	return s != "" && s[0] != '.' && !strings.Contains(s, "..") && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("-._", c)
	})
}

// Permit returns why a connection to addr, resolved from host, is refused; nil if
// it is allowed. host may be an address.
func (p *Policy) Permit(host string, addr netip.Addr) error {
	if p == nil || !addr.IsValid() {
		return errors.New("no egress policy is known")
	}
	name := plainName(host)
	if p.deny.hasName(name) && !p.allow.hasName(name) {
		return refused("the name "+name, host, addr)
	}
	for _, to := range meanings(addr) {
		if r, denied := p.deny.rangeOf(to); denied {
			if _, allowed := p.allow.rangeOf(to); !allowed {
				return refused(r.String(), host, addr)
			}
		}
	}
	if _, allowed := p.allow.rangeOf(plainAddr(addr)); p.deny.everything && !allowed && !p.allow.hasName(name) {
		return refused("everything not in the allow list", host, addr)
	}
	return nil
}

// PermitHost checks a host before it is resolved, as far as that is possible: by
// its name, or by its address if it is one in any notation.
func (p *Policy) PermitHost(host string) error {
	if addr, ok := Literal(host); ok {
		return p.Permit(host, addr)
	}
	if name := plainName(host); p == nil || p.deny.hasName(name) && !p.allow.hasName(name) {
		return fmt.Errorf("connections to %s are not allowed: its name is denied", host)
	}
	return nil
}

func refused(by, host string, addr netip.Addr) error {
	return fmt.Errorf("connections to %s (%s) are not allowed: %s is denied", addr, host, by)
}

func plainName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func (l *list) hasName(name string) bool {
	return slices.ContainsFunc(l.names, func(known string) bool {
		return name == known || known[0] == '.' && strings.HasSuffix(name, known)
	})
}

func (l *list) rangeOf(addr netip.Addr) (netip.Prefix, bool) {
	i := slices.IndexFunc(l.ranges, func(r netip.Prefix) bool { return r.Contains(addr) })
	if i < 0 {
		return netip.Prefix{}, false
	}
	return l.ranges[i], true
}

// plainAddr returns the address that an address denotes, without its zone: an
// IPv4 address embedded in IPv6, and the loopback for an unspecified address,
// which is how the kernel treats that (E1).
func plainAddr(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	switch {
	case addr == netip.IPv4Unspecified():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case addr == netip.IPv6Unspecified():
		return netip.IPv6Loopback()
	case within(addr, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0): // NAT64, RFC 6052
		return embedded(addr, 12)
	}
	return addr
}

// meanings returns the addresses that a connection to an address may reach: the
// address itself, the one that it denotes, and IPv4 addresses to which networks
// may translate it (E1).
func meanings(addr netip.Addr) []netip.Addr {
	itself := addr.Unmap().WithZone("")
	all := []netip.Addr{plainAddr(addr), itself}
	switch {
	case within(itself, 0, 0x64, 0xff, 0x9b, 0, 1), // local-use NAT64, RFC 8215
		within(itself, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) && itself != netip.IPv6Loopback(): // IPv4-compatible, RFC 4291
		all = append(all, embedded(itself, 12))
	case within(itself, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0): // IPv4-translated, RFC 2765
		all = append(all, embedded(itself, 12))
	case within(itself, 0x20, 0x02): // 6to4, RFC 3056
		all = append(all, embedded(itself, 2))
	case within(itself, 0x20, 0x01, 0, 0): // Teredo, RFC 4380: a server, and a client in inverted bits
		client := embedded(itself, 12).As4()
		for i := range client {
			client[i] = ^client[i]
		}
		all = append(all, embedded(itself, 4), netip.AddrFrom4(client))
	case isISATAP(itself):
		all = append(all, embedded(itself, 12))
	}
	return all
}

// within reports whether an IPv6 address begins with the given bytes.
func within(addr netip.Addr, begin ...byte) bool {
	bytes := addr.As16()
	return addr.Is6() && slices.Equal(bytes[:len(begin)], begin)
}

// isISATAP reports whether the interface part of an address is one of RFC 5214.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// embedded returns the IPv4 address at an offset in an IPv6 address.
func embedded(addr netip.Addr, at int) netip.Addr {
	bytes := addr.As16()
	return netip.AddrFrom4([4]byte(bytes[at : at+4]))
}

// Policies are policies that must all allow a connection.
type Policies []*Policy

// Permit is [Policy.Permit] of all policies.
func (all Policies) Permit(host string, addr netip.Addr) error {
	for _, p := range all {
		if err := p.Permit(host, addr); err != nil {
			return err
		}
	}
	return nil
}

// PermitHost is [Policy.PermitHost] of all policies.
func (all Policies) PermitHost(host string) error {
	for _, p := range all {
		if err := p.PermitHost(host); err != nil {
			return err
		}
	}
	return nil
}
