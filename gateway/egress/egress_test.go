package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func policy(t *testing.T, o Options) *Policy {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestE1_TheAddressIsJudgedHoweverItIsWritten(t *testing.T) {
	p := policy(t, Options{NoMetadata: true})
	for _, spelling := range []string{
		"169.254.169.254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254",
		"100.100.100.200", "168.63.129.16", "169.254.170.23", "fd00:42::42", "fd00:c1::a9fe:a9fe", "fd00:a9fe:a9fe::1", "192.0.0.192",
		"64:ff9b:1::a9fe:a9fe", "64:ff9b:1:2::a9fe:a9fe", "::169.254.169.254", "2002:a9fe:a9fe::1",
		"::ffff:0:a9fe:a9fe", "2001::5601:5601", "2001:0:a9fe:a9fe::1", "2001:db8::5efe:a9fe:a9fe", "2001:db8::200:5efe:a9fe:a9fe",
	} {
		if err := p.Permit("hooks.example.com", netip.MustParseAddr(spelling)); err == nil || !strings.Contains(err.Error(), "(hooks.example.com) are not allowed") {
			t.Errorf("%s: %v", spelling, err)
		}
	}
	for _, spelling := range []string{
		"169.254.169.254", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "169.16689662", "0xa9.0xfe.0xa9.0xfe", "169.254.169.254.",
		"::ffff:169.254.169.254", "[2002:a9fe:a9fe::]", "[fe80::1]", "metadata.google.internal", "METADATA.google.internal.",
	} {
		if err := p.PermitHost(spelling); err == nil || !strings.Contains(err.Error(), "are not allowed") {
			t.Errorf("%s: %v", spelling, err)
		}
	}
	local := policy(t, Options{Deny: []string{"127.0.0.0/8"}})
	for _, spelling := range []string{"0.0.0.0", "0", "0x0", "[::ffff:0.0.0.0]", "127.1"} {
		if err := local.PermitHost(spelling); err == nil {
			t.Errorf("%s is this machine, and permitted", spelling)
		}
	}
	for _, other := range []string{"127.0.0.1", "10.0.0.1", "169.253.0.1", "::1", "8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "::ffff:0:808:808", "2001::f7f7:f7f7", "2001:db8::5efe:808:808", "0.0.0.0", "::"} {
		if err := p.Permit("hooks.example.com", netip.MustParseAddr(other)); err != nil {
			t.Errorf("%s: %v", other, err)
		}
	}
}

func TestE2_ANameThatIsAllowedDoesNotLeadToAForbiddenAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		host    string
		addr    string
		refused string
	}{
		"a name is allowed, its address is not":   {Options{NoMetadata: true, Allow: []string{"evil.example.com"}}, "evil.example.com", "169.254.169.254", "169.254.0.0/16 is denied"},
		"both are allowed":                        {Options{NoMetadata: true, Allow: []string{"metadata.google.internal", "169.254.169.254"}}, "metadata.google.internal", "169.254.169.254", ""},
		"the address alone is":                    {Options{NoMetadata: true, Allow: []string{"169.254.169.254"}}, "metadata.google.internal", "169.254.169.254", "the name metadata.google.internal is denied"},
		"a name below one that is denied":         {Options{Deny: []string{"*.svc.cluster.local"}}, "Db.x.svc.cluster.local.", "10.0.0.1", "the name db.x.svc.cluster.local is denied"},
		"the name above it":                       {Options{Deny: []string{"*.cluster.local"}}, "cluster.local", "10.0.0.1", ""},
		"one that is allowed below it":            {Options{Deny: []string{"*.local"}, Allow: []string{"hooks.local"}}, "hooks.local", "10.0.0.1", ""},
		"a range with a hole":                     {Options{Deny: []string{"10.0.0.0/8"}, Allow: []string{"10.1.0.0/16"}}, "x", "10.1.2.3", ""},
		"beside the hole":                         {Options{Deny: []string{"10.0.0.0/8"}, Allow: []string{"10.1.0.0/16"}}, "x", "10.2.2.3", "10.0.0.0/8 is denied"},
		"a range of IPv4 as IPv6 has it":          {Options{Deny: []string{"::ffff:10.0.0.0/104"}}, "x", "10.2.2.3", "10.0.0.0/8 is denied"},
		"this machine, by an open address":        {Options{Deny: []string{"127.0.0.0/8"}}, "0.0.0.0", "0.0.0.0", "127.0.0.0/8 is denied"},
		"the same, mapped":                        {Options{Deny: []string{"127.0.0.1"}}, "x", "::ffff:0.0.0.0", "127.0.0.1/32 is denied"},
		"the same over IPv6":                      {Options{Deny: []string{"::1"}}, "x", "::", "::1/128 is denied"},
		"open addresses themselves":               {Options{Deny: []string{"0.0.0.0/8"}}, "x", "0.0.0.0", "0.0.0.0/8 is denied"},
		"this machine alone is allowed":           {Options{Deny: []string{"*"}, Allow: []string{"127.0.0.1"}}, "x", "0.0.0.0", ""},
		"all of IPv6, and NAT64":                  {Options{Deny: []string{"::/0"}}, "x", "64:ff9b::808:808", "::/0 is denied"},
		"NAT64 itself":                            {Options{Deny: []string{"64:ff9b::/96"}}, "x", "64:ff9b::808:808", "64:ff9b::/96 is denied"},
		"a range of IPv4 behind NAT64":            {Options{Deny: []string{"*"}, Allow: []string{"10.1.0.0/16"}}, "x", "64:ff9b::a01:203", ""},
		"one of IPv4 behind 6to4":                 {Options{Deny: []string{"*"}, Allow: []string{"10.1.0.0/16"}}, "x", "2002:a01:203::1", "everything not in the allow list is denied"},
		"everything but a name":                   {Options{Deny: []string{"*"}, Allow: []string{"hooks.example.com"}}, "hooks.example.com", "192.0.2.1", ""},
		"everything but another name":             {Options{Deny: []string{"*"}, Allow: []string{"hooks.example.com"}}, "other.example.com", "192.0.2.1", "everything not in the allow list is denied"},
		"everything but a range":                  {Options{Deny: []string{"*"}, Allow: []string{"192.0.2.0/24"}}, "any", "192.0.2.1", ""},
		"everything, a name, a forbidden address": {Options{Deny: []string{"*"}, NoMetadata: true, Allow: []string{"hooks.example.com"}}, "hooks.example.com", "169.254.169.254", "169.254.0.0/16 is denied"},
		"nothing": {Options{}, "hooks.example.com", "169.254.169.254", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Policies{policy(t, Options{}), policy(t, tc.options)}.Permit(tc.host, netip.MustParseAddr(tc.addr))
			if (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("error %v, want %q", err, tc.refused)
			}
		})
	}
	if err := (Policies{policy(t, Options{}), policy(t, Options{Deny: []string{"evil.example.com"}})}).PermitHost("evil.example.com"); err == nil {
		t.Error("a name that is denied is not refused before it is looked up")
	}
}

func TestE3_WhatCannotBeReadIsRefused(t *testing.T) {
	if err := policy(t, Options{}).Permit("x", netip.Addr{}); err == nil {
		t.Error("no address is permitted")
	}
	var none *Policy
	if none.Permit("x", netip.MustParseAddr("192.0.2.1")) == nil || none.PermitHost("x") == nil {
		t.Error("no policy permits something")
	}
	_, err := New(Options{Deny: []string{"10.0.0.0/33", "a b", "https://x", "", "*.", "ok.example.com"}, Allow: []string{"*", "x..y"}})
	if err == nil {
		t.Fatal("a policy was made")
	}
	want := []string{}
	for _, entry := range []string{"10.0.0.0/33", "a b", "https://x", "", "*.", "x..y"} {
		want = append(want, `"`+entry+`" is neither an address, a range like 10.0.0.0/8, a name, a name like *.example.com, nor *`)
	}
	want = append(want, "the allow list contains *, which allows everything: remove entries from the deny list instead")
	if diff := cmp.Diff(strings.Join(want, "\n"), err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func FuzzLiteral(f *testing.F) {
	for _, seed := range []string{"169.254.169.254", "2852039166", "0251.0376.0251.0376", "0xa9fea9fe", "1.2.3.08", "0o7", "0b1", "1_0", "fe80::1%eth0", "hooks.example.com", "4294967296", "0", "0.0.0.0", "::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		addr, ok := Literal(host)
		if !ok {
			return
		}
		again, ok := Literal(addr.String())
		if !ok || again != addr {
			t.Errorf("%q reads as %s, and that as %s", host, addr, again)
		}
	})
}
