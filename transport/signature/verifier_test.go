package signature_test

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hookgate/hookgate/transport/signature"
)

func at(moment time.Time) func() time.Time { return func() time.Time { return moment } }

// signed is the header of the test vector, with the test's changes.
func signed(changes map[string][]string) http.Header {
	h := http.Header{
		signature.HeaderID: {vectorID}, signature.HeaderTimestamp: {"1614265330"},
		signature.HeaderSignature: {vectorSymmetric + " " + vectorEd25519},
	}
	maps.Copy(h, changes)
	return h
}

func TestS1_EveryKeyAcceptsItsVector(t *testing.T) {
	wrong := "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	for _, c := range []struct {
		name string
		keys []string
		list string
	}{
		{"a shared secret", []string{vectorSecret}, vectorSymmetric},
		{"a public key", []string{public(t, vectorSeed)}, vectorEd25519},
		{"the second of two keys", []string{"whsec_" + strings.Repeat("A", 32), vectorSecret}, vectorSymmetric},
		{"a signature among others", []string{vectorSecret}, wrong + " v2,abc nothing v1 " + vectorEd25519 + "  " + vectorSymmetric + " " + wrong},
		{"a key of either kind", []string{"whsec_" + strings.Repeat("A", 32), public(t, vectorSeed)}, wrong + " " + vectorEd25519},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustVerifier(t, signature.VerifierOptions{Now: at(vectorTime)}, c.keys...)
			id, err := v.Verify(signed(map[string][]string{signature.HeaderSignature: {c.list}}), []byte(vectorBody))
			if err != nil || id != vectorID {
				t.Errorf("verified as %q: %v", id, err)
			}
		})
	}
}

func TestS2_WhatWasNotSignedIsRefusedAndSaysWhy(t *testing.T) {
	const differ = "; the verifier has 1 keys for v1 and 1 for v1a. Either the two sides have different keys, or the body was changed before it was verified"
	for _, c := range []struct {
		name    string
		changes map[string][]string
		body    string
		kind    error
		want    string
	}{
		{"no id", map[string][]string{signature.HeaderID: nil}, vectorBody, signature.ErrHeader, "webhook-id: the header is missing"},
		{"an empty id", map[string][]string{signature.HeaderID: {""}}, vectorBody, signature.ErrHeader, "webhook-id: the header is missing"},
		{"two ids", map[string][]string{signature.HeaderID: {vectorID, "other"}}, vectorBody, signature.ErrHeader, "webhook-id: the header is there 2 times"},
		{"an id that is ambiguous", map[string][]string{signature.HeaderID: {"msg.1614265330"}}, vectorBody, signature.ErrHeader, `webhook-id: the id contains the byte '.', which would make the signature ambiguous`},
		{"no time", map[string][]string{signature.HeaderTimestamp: nil}, vectorBody, signature.ErrHeader, "webhook-timestamp: the header is missing"},
		{"two times", map[string][]string{signature.HeaderTimestamp: {"1614265330", "1614265330"}}, vectorBody, signature.ErrHeader, "webhook-timestamp: the header is there 2 times"},
		{"a time in words", map[string][]string{signature.HeaderTimestamp: {"yesterday"}}, vectorBody, signature.ErrHeader, `webhook-timestamp: "yesterday" is not a time in Unix seconds`},
		{"a time in milliseconds", map[string][]string{signature.HeaderTimestamp: {"1614265330000"}}, vectorBody, signature.ErrHeader, `webhook-timestamp: "1614265330000" is not a time in Unix seconds`},
		{"a time beyond all", map[string][]string{signature.HeaderTimestamp: {"99999999999999999999"}}, vectorBody, signature.ErrHeader, `webhook-timestamp: "99999999999999999999" is not a time in Unix seconds`},
		{"a time before 1970", map[string][]string{signature.HeaderTimestamp: {"-1"}}, vectorBody, signature.ErrHeader, `webhook-timestamp: "-1" is not a time in Unix seconds`},
		{"a time with a sign", map[string][]string{signature.HeaderTimestamp: {"+1614265330"}}, vectorBody, signature.ErrHeader, `webhook-timestamp: "+1614265330" is not a time in Unix seconds`},
		{"a time written otherwise", map[string][]string{signature.HeaderTimestamp: {"01614265330"}}, vectorBody, signature.ErrHeader, `webhook-timestamp: "01614265330" is not a time in Unix seconds`},
		{"no signature", map[string][]string{signature.HeaderSignature: nil}, vectorBody, signature.ErrHeader, "webhook-signature: the header is missing"},
		{"two lists of signatures", map[string][]string{signature.HeaderSignature: {vectorSymmetric, vectorSymmetric}}, vectorBody, signature.ErrHeader, "webhook-signature: the header is there 2 times"},
		{"blanks for signatures", map[string][]string{signature.HeaderSignature: {"   "}}, vectorBody, signature.ErrHeader, "webhook-signature: has 0 signatures, and 1 to 32 are accepted"},
		{"a flood of signatures", map[string][]string{signature.HeaderSignature: {strings.Repeat("v1a,a ", 33)}}, vectorBody, signature.ErrHeader, "webhook-signature: has 33 signatures, and 1 to 32 are accepted"},
		{"another body", nil, vectorBody + " ", signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 1 of v1a and 0 of others" + differ},
		{"no body", nil, "", signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 1 of v1a and 0 of others" + differ},
		{"another id", map[string][]string{signature.HeaderID: {vectorID + "x"}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 1 of v1a and 0 of others" + differ},
		{"another time", map[string][]string{signature.HeaderTimestamp: {"1614265331"}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 1 of v1a and 0 of others" + differ},
		{"a part of a signature", map[string][]string{signature.HeaderSignature: {vectorSymmetric[:20]}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 0 of v1a and 0 of others" + differ},
		{"a version alone", map[string][]string{signature.HeaderSignature: {"v1, v1a,"}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 1 of v1a and 0 of others" + differ},
		{"a signature of the wrong version", map[string][]string{signature.HeaderSignature: {"v1a" + strings.TrimPrefix(vectorSymmetric, "v1")}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 0 of version v1, 1 of v1a and 0 of others" + differ},
		{"versions of the future", map[string][]string{signature.HeaderSignature: {"v2" + strings.TrimPrefix(vectorSymmetric, "v1")}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 0 of version v1, 0 of v1a and 1 of others" + differ},
		{"a signature with more behind it", map[string][]string{signature.HeaderSignature: {vectorSymmetric + "AAAA"}}, vectorBody, signature.ErrSignature, "webhook-signature: no signature matches: there are 1 of version v1, 0 of v1a and 0 of others" + differ},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustVerifier(t, signature.VerifierOptions{Now: at(vectorTime)}, vectorSecret, public(t, vectorSeed))
			id, err := v.Verify(signed(c.changes), []byte(c.body))
			if id != "" {
				t.Errorf("an id was returned: %q", id)
			}
			if !errors.Is(err, c.kind) {
				t.Errorf("error %v, want one of kind %q", err, c.kind)
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("error\n%v, want\n%s", err, c.want)
			}
		})
	}
}

func TestS2_TheToleranceHoldsBothWays(t *testing.T) {
	minute := time.Minute
	for _, c := range []struct {
		name      string
		tolerance time.Duration
		now       time.Duration // time since the request was signed
		want      string
	}{
		{"at once", 0, 0, ""},
		{"just young enough", 0, 5 * minute, ""},
		{"just too old", 0, 5*minute + time.Millisecond, "webhook-timestamp: the request was signed 5m0s ago, and the limit is 5m0s: it was delayed or replayed, or a clock is wrong"},
		{"much too old", 0, 100 * 365 * 24 * time.Hour, "webhook-timestamp: the request was signed 876000h0m0s ago, and the limit is 5m0s: it was delayed or replayed, or a clock is wrong"},
		{"just near enough", 0, -5 * minute, ""},
		{"just too far ahead", 0, -5*minute - time.Second, "webhook-timestamp: the request was signed 5m1s in the future, and the limit is 5m0s: a clock is wrong"},
		{"a clock that is 10 minutes off", 0, 10 * minute, "webhook-timestamp: the request was signed 10m0s ago, and the limit is 5m0s: it was delayed or replayed, or a clock is wrong"},
		{"a tolerance that was chosen", 10 * time.Second, 11 * time.Second, "webhook-timestamp: the request was signed 11s ago, and the limit is 10s: it was delayed or replayed, or a clock is wrong"},
		{"a wide tolerance", time.Hour, 59 * minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustVerifier(t, signature.VerifierOptions{Tolerance: c.tolerance, Now: at(vectorTime.Add(c.now))}, vectorSecret)
			_, err := v.Verify(signed(nil), []byte(vectorBody))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("was refused: %v", err)
			case c.want != "" && (!errors.Is(err, signature.ErrStale) || err.Error() != c.want):
				t.Errorf("error\n%v, want\n%s", err, c.want)
			}
		})
	}
}

func TestS4_AVerifierNeedsKeysThatVerify(t *testing.T) {
	for _, c := range []struct {
		name    string
		options signature.VerifierOptions
		want    string
	}{
		{"no key", signature.VerifierOptions{}, "verifier: there are no keys"},
		{"a private key", signature.VerifierOptions{Keys: []signature.Key{mustParse(t, vectorPrivate)}}, "verifier: key 0 is a private key (whsk_…), which only the sender may have; verify with " + vectorPublic},
		{"a tolerance below zero", signature.VerifierOptions{Keys: []signature.Key{mustParse(t, vectorSecret)}, Tolerance: -1}, "verifier: tolerance -1ns is negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := signature.NewVerifier(c.options); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	if _, err := new(signature.Verifier).Verify(signed(nil), []byte(vectorBody)); !errors.Is(err, signature.ErrSignature) {
		t.Errorf("the zero verifier accepts: %v", err)
	}
}

func TestS2_WithoutAClockOfItsOwnAVerifierGoesByTheMachines(t *testing.T) {
	v := mustVerifier(t, signature.VerifierOptions{}, vectorSecret)
	h := http.Header{}
	if err := mustSigner(t, vectorSecret).SetHeaders(h, vectorID, time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(h, nil); err != nil {
		t.Errorf("a request of this moment was refused: %v", err)
	}
	if _, err := v.Verify(signed(nil), []byte(vectorBody)); !errors.Is(err, signature.ErrStale) {
		t.Errorf("a request of 2021 was not called stale: %v", err)
	}
}

func BenchmarkVerify(b *testing.B) {
	v := mustVerifier(b, signature.VerifierOptions{Now: at(vectorTime)}, vectorSecret)
	h, body := signed(nil), []byte(vectorBody)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(h, body); err != nil {
			b.Fatal(err)
		}
	}
}
