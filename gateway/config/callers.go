package config

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookgate/hookgate/gateway/access"
)

const (
	noCallers           = "the file is empty: to let nobody in, write callers: []"
	maxPerSecond        = 1_000_000
	maxBurst            = 1_000_000
	maxInFlightOfCaller = 1_000_000
)

// callers reads the callers file. The chains must have been read before.
func (l *loader) callers() error {
	name := l.options.CallersFile
	if name == "" {
		return nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	data, err := l.snap.file(path)
	if err != nil {
		if l.previous != nil {
			err = fmt.Errorf("%w; the callers in force stay: to run without a callers file, restart the gateway", err)
		}
		l.fail(name, err)
		return nil
	}
	r := l.reading(name, path)
	c := callersReading{reading: r, chains: l.set.chainNames(), hashes: map[[sha256.Size]byte]string{}}
	if root := r.root(data, noCallers); root != nil && !r.isOther(value{node: root}, forCallers) {
		c.read(value{node: root})
	}
	l.took(r)
	sortWarnings(r.warnings)
	l.warnings[""] = append(l.warnings[""], r.warnings...)
	l.set.Callers = &c.rules
	return nil
}

// callersReading is the state of reading the callers file.
type callersReading struct {
	*reading
	chains  []string // the existing chains
	issuers []string // the declared issuers
	trusts  bool     // client_ca_file is present, valid or not
	hashes  map[[sha256.Size]byte]string
	rules   access.Rules
}

func (c *callersReading) read(root value) {
	o, ok := c.object(root, "schema", "client_ca_file", "issuers", "callers")
	if !ok {
		return
	}
	c.schema(root, o)
	if v, ok := o["client_ca_file"]; ok {
		c.trusts = true
		c.rules.ClientCAs, _ = c.roots(v)
	}
	if v, ok := o["issuers"]; ok {
		items, _ := c.list(v, "a list of issuers")
		for _, item := range items {
			c.issuer(item)
		}
	}
	v, ok := o["callers"]
	if !ok {
		c.fail(root, "callers is missing: to let nobody in, write callers: []")
		return
	}
	items, _ := c.list(v, "a list of callers")
	names := map[string]int{}
	for _, item := range items {
		c.caller(item, names)
	}
}

// roots reads root certificates.
func (c *callersReading) roots(v value) (*x509.CertPool, []byte) {
	pem, ok := c.pem(&TLS{}, v)
	if !ok {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		c.fail(v, "contains no certificate in PEM format")
		return nil, nil
	}
	return pool, pem
}

// issuer reads a trusted issuer of tokens.
func (c *callersReading) issuer(v value) {
	o, ok := c.object(v, "name", "url", "discovery_url", "audiences", "ca_file", "token_file")
	if !ok {
		return
	}
	i := access.Issued{Name: c.named(&v, o)}
	if slices.Contains(c.issuers, i.Name) {
		c.fail(v, "another issuer already has this name")
	}
	c.issuers = append(c.issuers, i.Name)
	if at, ok := o["url"]; !ok {
		c.fail(v, "url is missing: it is the issuer (iss) that its tokens name")
	} else if u := c.issuerURL(at); u != nil {
		i.URL = at.text
	}
	if at, ok := o["discovery_url"]; ok {
		i.Discovery = c.issuerURL(at)
	}
	if at, ok := o["audiences"]; !ok {
		c.fail(v, "audiences is missing: without it, tokens issued for other services would be accepted")
	} else {
		i.Audiences = c.some(at, "a list of audiences")
	}
	if at, ok := o["ca_file"]; ok {
		i.Roots, i.RootsPEM = c.roots(at)
	}
	if at, ok := o["token_file"]; ok {
		if file, ok := c.literal(at); ok && file == "" {
			c.fail(at, "is empty: want the name of a file")
		} else if ok {
			i.TokenFile = c.absolute(file)
		}
	}
	if slices.ContainsFunc(c.rules.Issuers, func(other access.Issued) bool { return i.URL != "" && other.URL == i.URL }) {
		c.fail(v, "another issuer already has this url")
	}
	c.rules.Issuers = append(c.rules.Issuers, i)
}

// issuerURL reads a URL whose content decides who is authenticated.
func (c *callersReading) issuerURL(v value) *url.URL {
	s, ok := c.literal(v)
	if !ok {
		return nil
	}
	u, ok := c.absoluteURL(v, s, "https", "http")
	switch {
	case !ok:
		return nil
	case u.User != nil || strings.ContainsAny(s, "#?"):
		c.fail(v, "must have nothing but a host and a path: no user, query or fragment")
		return nil
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		c.fail(v, "is http: anyone on the network path could replace the issuer's keys; use https")
		return nil
	}
	return u
}

// named reads the name of an entry, and uses it in the paths of errors.
func (c *callersReading) named(v *value, o object) string {
	at, ok := o["name"]
	if !ok {
		c.fail(*v, "name is missing")
		return ""
	}
	name, ok := c.literal(at)
	if !ok || !c.printable(at, name, 63) {
		return ""
	}
	// As for hooks: the list index and the name, then the keys inside.
	v.way = way{entry: v.way.keys + " " + strconv.Quote(name)}
	for key, member := range o {
		member.way = v.way.member(key)
		o[key] = member
	}
	return name
}

// some reads a non-empty list of strings.
func (c *callersReading) some(v value, wanted string) []string {
	items, ok := c.list(v, wanted)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		c.fail(v, "is empty")
	}
	var all []string
	for _, item := range items {
		if s, ok := c.literal(item); ok && c.printable(item, s, 1024) {
			all = append(all, s)
		}
	}
	return all
}

// caller reads one caller.
func (c *callersReading) caller(v value, names map[string]int) {
	o, ok := c.object(v, "name", "chains", "scopes", "tokens", "jwt", "spiffe_ids", "dns_names", "rate", "max_in_flight")
	if !ok {
		return
	}
	rule := access.Rule{Name: c.named(&v, o)}
	if line, twice := names[rule.Name]; twice && rule.Name != "" {
		c.fail(v, "another caller already has this name, in line %d", line)
	}
	names[rule.Name] = v.at.line
	rule.Chains = c.reached(v, o)
	rule.Scopes = c.scopes(v, o)
	if at, ok := o["tokens"]; ok {
		rule.Tokens = c.tokens(rule.Name, at)
	}
	if at, ok := o["jwt"]; ok {
		rule.Claims = c.claimed(at)
	}
	if at, ok := o["spiffe_ids"]; ok {
		rule.SPIFFEIDs = c.certified(at, `a list like ["spiffe://example.org/agents/*"]`)
		for _, id := range rule.SPIFFEIDs {
			if !strings.HasPrefix(id, "spiffe://") {
				c.fail(at, "%s is not a SPIFFE ID: it begins with spiffe:// and the name of the trust domain", quote(id))
			}
		}
	}
	if at, ok := o["dns_names"]; ok {
		rule.DNSNames = c.certified(at, `a list like ["agents.example.org"]`)
	}
	if at, ok := o["rate"]; ok {
		rule.Rate = c.rate(at)
	}
	if at, ok := o["max_in_flight"]; ok {
		if n, ok := c.whole(at, maxInFlightOfCaller); ok {
			rule.MaxInFlight = int(n)
		}
	}
	if o["tokens"].node == nil && o["jwt"].node == nil && o["spiffe_ids"].node == nil && o["dns_names"].node == nil {
		c.fail(v, "nothing identifies this caller: set tokens, jwt, spiffe_ids or dns_names")
	}
	c.rules.Callers = append(c.rules.Callers, rule)
}

// reached reads the chains that a caller may use.
func (c *callersReading) reached(entry value, o object) []string {
	v, ok := o["chains"]
	if !ok {
		c.fail(entry, `chains is missing: list the chains that the caller may use, like [%s] or ["team-*"]`, OperatorChain)
		return nil
	}
	all := c.some(v, "a list of chains")
	for _, name := range all {
		if !isPattern(name) && !slices.Contains(c.chains, name) {
			// Only a warning: the chain's file may appear later.
			c.warn(v, "there is no chain %s%s", quote(name), didYouMean(name, c.chains))
		}
	}
	return all
}

func (c *callersReading) scopes(entry value, o object) access.Scope {
	v, ok := o["scopes"]
	if !ok {
		c.fail(entry, "scopes is missing: list what the caller may do, out of %s", listed(access.ScopeNames(), "and"))
		return 0
	}
	items, ok := c.list(v, "a list of scopes")
	if ok && len(items) == 0 {
		c.fail(v, "is empty")
	}
	var all access.Scope
	for _, item := range items {
		if word, ok := c.word(item, access.ScopeNames()...); ok {
			all |= access.ParseScope(word)
		}
	}
	return all
}

// tokens reads the hashes of bearer tokens.
func (c *callersReading) tokens(caller string, v value) []access.Token {
	items, ok := c.list(v, "a list of tokens")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		c.fail(v, "is empty")
	}
	var all []access.Token
	for _, item := range items {
		o, ok := c.object(item, "sha256", "expires")
		if !ok {
			continue
		}
		at, ok := o["sha256"]
		if !ok {
			c.fail(item, "sha256 is missing: gateway token makes a token with its hash")
			continue
		}
		var t access.Token
		if t.SHA256, ok = c.hash(at); !ok {
			continue
		}
		if other, twice := c.hashes[t.SHA256]; twice {
			c.fail(at, "caller %s already has this token", quote(other))
		}
		c.hashes[t.SHA256] = caller
		if at, ok := o["expires"]; ok {
			t.Expires = c.moment(at)
		}
		all = append(all, t)
	}
	return all
}

func (c *callersReading) hash(v value) (sum [sha256.Size]byte, ok bool) {
	s, ok := c.literal(v)
	if !ok {
		return sum, false
	}
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != sha256.Size {
		// The value is not quoted, because it may be the token itself.
		c.fail(v, "is not a SHA-256 hash in hexadecimal (64 digits): gateway token --hash prints the hash of a token")
		return sum, false
	}
	return [sha256.Size]byte(raw), true
}

func (c *callersReading) moment(v value) time.Time {
	s, ok := c.literal(v)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		c.fail(v, "%s is not a time: write it as %q", quote(s), "2027-01-31T00:00:00Z")
	}
	return at
}

// claimed reads which issuers' tokens identify the caller.
func (c *callersReading) claimed(v value) []access.Claimed {
	items, ok := c.list(v, "a list of issuers with claims")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		c.fail(v, "is empty")
	}
	var all []access.Claimed
	for _, item := range items {
		o, ok := c.object(item, "issuer", "claims")
		if !ok {
			continue
		}
		var one access.Claimed
		if at, ok := o["issuer"]; !ok {
			c.fail(item, "issuer is missing: want the name of one of the issuers")
		} else if one.Issuer, ok = c.literal(at); ok && !slices.Contains(c.issuers, one.Issuer) {
			c.fail(at, "there is no issuer %s%s", quote(one.Issuer), didYouMean(one.Issuer, c.issuers))
		}
		if at, ok := o["claims"]; !ok {
			c.fail(item, "claims is missing: without claims, every token of the issuer would identify this caller")
		} else {
			one.Claims = c.claims(at)
		}
		all = append(all, one)
	}
	return all
}

// claims reads the required claims of a token.
func (c *callersReading) claims(v value) []access.Claim {
	if v.kind != mapping {
		c.want(v, "a mapping of claim names to strings")
		return nil
	}
	members := c.unique(v)
	if len(members) == 0 {
		c.fail(v, "is empty: without claims, every token of the issuer would identify this caller")
	}
	var all []access.Claim
	for _, m := range members {
		pattern, ok := c.literal(m)
		if !ok || !c.printable(m, pattern, 1024) {
			continue
		}
		path := []string{m.key}
		if inside, isPointer := strings.CutPrefix(m.key, "/"); isPointer {
			path = strings.Split(inside, "/")
			for i, name := range path {
				path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			}
		}
		all = append(all, access.Claim{Path: path, Pattern: pattern})
	}
	return all
}

// certified reads names that client certificates can have.
func (c *callersReading) certified(v value, wanted string) []string {
	if !c.trusts {
		c.fail(v, "identifies a caller by a client certificate, but no certificate is trusted: client_ca_file is missing")
	}
	return c.some(v, wanted)
}

func (c *callersReading) rate(v value) *access.Rate {
	o, ok := c.object(v, "per_second", "burst")
	if !ok {
		return nil
	}
	at, ok := o["per_second"]
	if !ok {
		c.fail(v, "per_second is missing")
		return nil
	}
	n, ok := c.whole(at, maxPerSecond)
	if !ok {
		return nil
	}
	rate := &access.Rate{PerSecond: float64(n), Burst: int(n)}
	if at, ok := o["burst"]; ok {
		if n, ok := c.whole(at, maxBurst); ok {
			rate.Burst = int(n)
		}
	}
	return rate
}
