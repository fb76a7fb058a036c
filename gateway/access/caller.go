package access

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hookgate/hookgate/chain"
)

// Caller is an authenticated caller. A nil Caller may do nothing and reaches no
// chain (A2).
type Caller struct {
	rule   Rule
	limits *limits
}

// limits tracks a caller's use of its limits. It outlives a reload (A7).
type limits struct {
	inFlight *atomic.Int64
	rate     Rate
	bucket   *rate.Limiter // nil without a rate limit
}

func newCaller(rule Rule, before *Caller) *Caller {
	l := &limits{inFlight: &atomic.Int64{}}
	if before != nil {
		l.inFlight = before.limits.inFlight
	}
	if rule.Rate != nil {
		l.rate = *rule.Rate
		l.bucket = rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
		if before != nil && before.limits.bucket != nil && before.limits.rate == l.rate {
			l.bucket = before.limits.bucket
		}
	}
	return &Caller{rule: rule, limits: l}
}

// Name returns the caller's name, empty for nil.
func (c *Caller) Name() string {
	if c == nil {
		return ""
	}
	return c.rule.Name
}

// May reports whether the caller has a scope.
func (c *Caller) May(s Scope) bool { return c != nil && s != 0 && c.rule.Scopes&s == s }

// Reaches reports whether the caller may use the named chain.
func (c *Caller) Reaches(name string) bool {
	return c != nil && slices.ContainsFunc(c.rule.Chains, func(pattern string) bool { return chain.MatchTool(pattern, name) })
}

// Chains returns the patterns of the chains that the caller may use, never nil.
func (c *Caller) Chains() []string {
	if c == nil {
		return []string{}
	}
	return append([]string{}, c.rule.Chains...)
}

// InFlight returns the number of the caller's requests in progress.
func (c *Caller) InFlight() int { return int(c.limits.inFlight.Load()) }

// Limit is a limit that a caller has reached.
type Limit uint8

// The limits.
const (
	NoLimit Limit = iota
	RateLimit
	InFlightLimit
)

// Enter counts a request in, or returns the limit that it exceeds and the
// shortest time to wait. After [NoLimit] the request must be counted out by
// [Caller.Leave].
func (c *Caller) Enter(now time.Time) (Limit, time.Duration) {
	if n := c.limits.inFlight.Add(1); c.rule.MaxInFlight > 0 && n > int64(c.rule.MaxInFlight) {
		c.Leave()
		return InFlightLimit, time.Second
	}
	if b := c.limits.bucket; b != nil && !b.AllowN(now, 1) {
		c.Leave()
		missing := 1 - b.TokensAt(now)
		return RateLimit, time.Duration(math.Ceil(missing/c.limits.rate.PerSecond)) * time.Second
	}
	return NoLimit, 0
}

// Leave counts a request out.
func (c *Caller) Leave() { c.limits.inFlight.Add(-1) }
