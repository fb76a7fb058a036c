package transport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// maxHeaderBytes limits the headers of a response, including interim
	// responses.
	maxHeaderBytes = 64 << 10
	// maxExcerpt is how much to read of a body that only explains a failure, and
	// excerptPatience is how long reading it may delay the failure.
	maxExcerpt      = 4 << 10
	excerptPatience = 100 * time.Millisecond
	// maxGrant limits the memory allocated on the word of a Content-Length alone.
	maxGrant = 32 << 10
)

// reply is a response, with as much of its body as matters.
type reply struct {
	status int
	// encoding, location and retryAfter are the headers of these names.
	encoding, location, retryAfter string
	// functionError is the header with which AWS Lambda's Invoke API reports a
	// failed function.
	functionError string
	// body is complete if the status is 200, and otherwise truncated to
	// maxExcerpt.
	body []byte
}

var errTooLong = errors.New("the body is too long")

// readReply reads as much of a response as matters. whole reports whether that
// was all of it. hurry is called before reading the body of a response that is
// not an answer: it must make reading end after excerptPatience.
func readReply(response *http.Response, limit int64, hurry func()) (r reply, whole bool, err error) {
	r = reply{
		status:   response.StatusCode,
		encoding: strings.Join(response.Header["Content-Encoding"], ", "),
		location: response.Header.Get("Location"), retryAfter: response.Header.Get("Retry-After"),
	}
	if values, ok := response.Header[headerFunctionError]; ok {
		r.functionError = cmp.Or(strings.Join(values, ", "), "not named")
	}
	switch {
	case r.status == http.StatusSwitchingProtocols: // the body would be the connection itself
		return r, false, nil
	case r.status != http.StatusOK:
		hurry()
		r.body, err = readUpTo(response.Body, response.ContentLength, maxExcerpt)
		return r, err == nil, nil // however much of it arrived
	case response.ContentLength > limit:
		return r, false, fmt.Errorf("%w: its length is %d", errTooLong, response.ContentLength)
	}
	r.body, err = readUpTo(response.Body, response.ContentLength, limit)
	return r, err == nil, err
}

// readUpTo reads a whole body of at most limit bytes. length is its
// Content-Length, or negative if unknown.
func readUpTo(body io.Reader, length, limit int64) ([]byte, error) {
	grant := int64(512)
	if length >= 0 {
		grant = min(length, maxGrant) + 1 // one more byte, to see EOF without growing
	}
	buf := make([]byte, 0, grant)
	for {
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf[:limit], errTooLong
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}
