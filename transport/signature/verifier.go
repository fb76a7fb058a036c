package signature

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of errors of [Verifier.Verify]. Each of its errors wraps one.
var (
	// ErrHeader: a header is missing, present twice or malformed.
	ErrHeader = errors.New("the request is not signed according to Standard Webhooks")
	// ErrStale: the timestamp is too far in the past or the future.
	ErrStale = errors.New("the request's timestamp is too old or in the future")
	// ErrSignature: no signature was made with one of the verifier's keys.
	ErrSignature = errors.New("no signature matches")
)

const (
	// DefaultTolerance is how far the time of a request may differ, in both
	// directions.
	DefaultTolerance = 5 * time.Minute
	// maxSignatures bounds the work that one request can cause.
	maxSignatures = 32
)

// VerifierOptions configures a verifier.
type VerifierOptions struct {
	// Keys are the shared secrets and public keys whose signatures are accepted.
	// One matching key suffices. There must be at least one key.
	Keys []Key
	// Tolerance is how far the time of a request may differ, in both directions.
	// Zero means DefaultTolerance.
	Tolerance time.Duration
	// Now returns the current time. Nil means time.Now.
	Now func() time.Time
}

// Verifier verifies signed requests. The zero Verifier refuses all.
type Verifier struct {
	keys      []Key
	tolerance time.Duration
	now       func() time.Time
}

// NewVerifier returns a verifier, or an error if the options are invalid.
func NewVerifier(o VerifierOptions) (*Verifier, error) {
	switch {
	case len(o.Keys) == 0:
		return nil, errors.New("verifier: there are no keys")
	case o.Tolerance < 0:
		return nil, fmt.Errorf("verifier: tolerance %v is negative", o.Tolerance)
	}
	for i, k := range o.Keys {
		switch {
		case k.version == "":
			return nil, fmt.Errorf("verifier: key %d is the zero value", i)
		case k.verify == nil:
			return nil, fmt.Errorf("verifier: key %d is a private key (%s…), which only the sender may have; verify with %s", i, privatePrefix, k.public)
		}
	}
	if o.Tolerance == 0 {
		o.Tolerance = DefaultTolerance
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Verifier{keys: slices.Clone(o.Keys), tolerance: o.Tolerance, now: o.Now}, nil
}

// Verify returns the id of a request whose body, id and time were signed with
// one of the keys, recently enough. body must be the body as it arrived, before
// anything parsed it.
//
// If Verify returns an error, nothing in the request can be trusted. The error
// may be sent to the sender of the request.
func (v *Verifier) Verify(h http.Header, body []byte) (id string, err error) {
	if len(v.keys) == 0 {
		return "", refuse(ErrSignature, HeaderSignature, "the verifier has no keys: create it with NewVerifier")
	}
	id, err = single(h, HeaderID)
	if err != nil {
		return "", err
	}
	if err := checkID(id); err != nil {
		return "", refuse(ErrHeader, HeaderID, "%v", err)
	}
	unix, err := v.checkTime(h)
	if err != nil {
		return "", err
	}
	list, err := single(h, HeaderSignature)
	if err != nil {
		return "", err
	}
	signatures, err := parseSignatures(list)
	if err != nil {
		return "", refuse(ErrHeader, HeaderSignature, "%v", err)
	}
	if !v.matches(appendRequestHead(nil, id, unix), body, signatures) {
		return "", refuse(ErrSignature, HeaderSignature, "%s", v.mismatch(signatures))
	}
	return id, nil
}

// refusal is an error about one header or field.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, about, format string, args ...any) error {
	return &refusal{kind: kind, text: strings.ToLower(about) + ": " + fmt.Sprintf(format, args...)}
}

// single returns the value of a header that must be present exactly once. Given
// several values, two readers could use different ones.
func single(h http.Header, name string) (string, error) {
	switch values := h[name]; {
	case len(values) > 1:
		return "", refuse(ErrHeader, name, "the header is there %d times", len(values))
	case len(values) == 0 || values[0] == "":
		return "", refuse(ErrHeader, name, "the header is missing")
	default:
		return values[0], nil
	}
}

// checkTime returns the time of sending that the request states, if it is
// recent enough.
func (v *Verifier) checkTime(h http.Header) (int64, error) {
	text, err := single(h, HeaderTimestamp)
	if err != nil {
		return 0, err
	}
	// 39 bits reach beyond the year 19000 and cannot overflow a time.Time. The
	// text must be the number as the signer writes it: no sign, no leading zero.
	seconds, err := strconv.ParseUint(text, 10, 39)
	unix := int64(seconds)
	if err != nil || strconv.FormatInt(unix, 10) != text {
		return 0, refuse(ErrHeader, HeaderTimestamp, "%.32q is not a time in Unix seconds", text)
	}
	switch age := v.now().Sub(time.Unix(unix, 0)); {
	case age > v.tolerance:
		return 0, refuse(ErrStale, HeaderTimestamp, "the request was signed %v ago, and the limit is %v: it was delayed or replayed, or a clock is wrong",
			age.Round(time.Second), v.tolerance)
	case age < -v.tolerance:
		return 0, refuse(ErrStale, HeaderTimestamp, "the request was signed %v in the future, and the limit is %v: a clock is wrong",
			-age.Round(time.Second), v.tolerance)
	}
	return unix, nil
}

// signatureList holds the signatures of a header, by version.
type signatureList struct {
	symmetric, asymmetric []string // in base64
	others                int
}

// parseSignatures parses a list of signatures. It counts those of unknown
// versions and otherwise ignores them: a newer sender may add kinds.
func parseSignatures(list string) (signatureList, error) {
	var all signatureList
	parts := strings.Fields(list)
	if len(parts) == 0 || len(parts) > maxSignatures {
		return all, fmt.Errorf("has %d signatures, and 1 to %d are accepted", len(parts), maxSignatures)
	}
	for _, part := range parts {
		version, signature, _ := strings.Cut(part, ",")
		switch version {
		case symmetricVersion:
			all.symmetric = append(all.symmetric, signature)
		case asymmetricVersion:
			all.asymmetric = append(all.asymmetric, signature)
		default:
			all.others++
		}
	}
	return all, nil
}

func (l signatureList) of(version string) []string {
	if version == symmetricVersion {
		return l.symmetric
	}
	return l.asymmetric
}

// matches reports whether one of the keys made one of the signatures.
func (v *Verifier) matches(head, body []byte, signatures signatureList) bool {
	return slices.ContainsFunc(v.keys, func(k Key) bool {
		candidates := signatures.of(k.version)
		return len(candidates) > 0 && k.verify(head, body, candidates)
	})
}

// mismatch describes what was compared, which tells a wrong kind of key from a
// wrong key.
func (v *Verifier) mismatch(l signatureList) string {
	count := func(version string) int {
		n := 0
		for _, k := range v.keys {
			if k.version == version {
				n++
			}
		}
		return n
	}
	return fmt.Sprintf("no signature matches: there are %d of version v1, %d of v1a and %d of others; the verifier has %d keys for v1 and %d for v1a. "+
		"Either the two sides have different keys, or the body was changed before it was verified",
		len(l.symmetric), len(l.asymmetric), l.others, count(symmetricVersion), count(asymmetricVersion))
}
