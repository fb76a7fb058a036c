package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pauseAsked is how long an endpoint that answered with status 429 or 503 asks
// not to be called, capped at most. It is zero if Retry-After is missing or not
// valid, or if its time has passed.
func (r reply) pauseAsked(most time.Duration) time.Duration {
	if r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return 0
	}
	asked := strings.TrimSpace(r.retryAfter)
	if asked == "" {
		return 0
	}
	if strings.Trim(asked, "0123456789") == "" {
		seconds, err := strconv.ParseInt(asked, 10, 64)
		if err != nil || seconds > int64(most/time.Second) { // a number that overflows is over the cap too
			return max(most, 0)
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(asked)
	if err != nil {
		return 0
	}
	return max(min(time.Until(at), most), 0)
}
