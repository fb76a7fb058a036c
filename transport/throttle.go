package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pauseAsked is how long an endpoint that is throttling asks to be left alone,
// at most as long as it may; zero where it does not ask, or for a time that is
// over.
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
		if err != nil || seconds > int64(most/time.Second) { // more than fits is more than it may
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
