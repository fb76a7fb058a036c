package egress

import (
	"net/netip"
	"strconv"
	"strings"
)

// Literal returns the address that a host is, in any notation that some resolver
// accepts: 169.254.169.254, 2852039166, 0xa9fea9fe, 0251.254.43518,
// ::ffff:169.254.169.254.
func Literal(host string) (netip.Addr, bool) {
	host = strings.TrimSuffix(host, ".")
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return plainAddr(addr), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		// The last part fills the remaining bytes.
		width := 8
		if i == len(parts)-1 {
			width = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(part, 0, width)
		if strings.HasPrefix(part, "0") && err != nil { // 08 is octal to nobody, and an error to most
			n, err = strconv.ParseUint(part, 10, width)
		}
		if err != nil || part == "" || strings.ContainsAny(part, "_+oObB") && !isHex(part) {
			return netip.Addr{}, false
		}
		value = value<<width | n
	}
	return plainAddr(netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)})), true
}

func isHex(s string) bool { return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") }
