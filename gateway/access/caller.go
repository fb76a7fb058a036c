package access

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hookgate/hookgate/chain"
)

// Caller is somebody who is known. A nil Caller may do nothing and reaches
// nothing (A2).
type Caller struct {
	rule   Rule
	limits *limits
}

// limits are what a caller used up. They outlast a reload (A7).
type limits struct {
	inFlight *atomic.Int64
	rate     Rate
	bucket   *rate.Limiter // nil where there is no rate
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

// Name is the caller's name.
func (c *Caller) Name() string {
	if c == nil {
		return ""
	}
	return c.rule.Name
}

// May reports whether the caller may do that.
func (c *Caller) May(s Scope) bool { return c != nil && s != 0 && c.rule.Scopes&s == s }

// Reaches reports whether the caller reaches the chain of that name.
func (c *Caller) Reaches(name string) bool {
	return c != nil && slices.ContainsFunc(c.rule.Chains, func(pattern string) bool { return chain.MatchTool(pattern, name) })
}

// Chains are the patterns of the chains that the caller reaches, never nil.
func (c *Caller) Chains() []string {
	if c == nil {
		return []string{}
	}
	return append([]string{}, c.rule.Chains...)
}

// InFlight is how many requests of the caller are under way.
func (c *Caller) InFlight() int { return int(c.limits.inFlight.Load()) }

// Limit is which limit of a caller is reached.
type Limit uint8

// The limits.
const (
	NoLimit Limit = iota
	RateLimit
	InFlightLimit
)

// Enter counts a request in, or says which limit keeps it out, and for how long
// at the least. The caller must Leave once it was counted in.
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
