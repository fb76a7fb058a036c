package config

import (
	"net/http"
	"slices"
)

// Auth is the credential for an endpoint. Exactly one field is set.
type Auth struct {
	// Bearer is a bearer token.
	Bearer        string
	Basic         *Basic
	Header        *Header
	AWS           *AWSSigV4
	GoogleIDToken *GoogleIDToken
	Azure         *Azure
	OAuth2        *OAuth2
}

// Basic is the user and password of Basic authentication.
type Basic struct{ User, Password string }

// Header is a credential in a header of any name.
type Header struct{ Name, Value string }

// AWSSigV4 signs with the credentials that the AWS SDK's default chain finds.
type AWSSigV4 struct{ Region, Service string }

// GoogleIDToken is an ID token of a service account.
type GoogleIDToken struct {
	Audience string
	// CredentialsFile is an absolute path; empty means the metadata server.
	CredentialsFile string

	// read is the content of the file, for the fingerprint.
	read []byte
}

// Azure is a token of a managed or workload identity. ClientID may be empty.
type Azure struct{ Scope, ClientID string }

// OAuth2 is a token from the client credentials grant.
type OAuth2 struct {
	TokenURL, ClientID, ClientSecret string
	Scopes                           []string // may be nil
}

// authKinds lists the keys of auth, of which exactly one must be present.
func authKinds() []string {
	return []string{"bearer", "basic", "header", "aws_sigv4", "google_id_token", "azure", "oauth2"}
}

// auth reads a credential. If several are given, all are read to report their
// mistakes. No message quotes a value, because it may be the secret in the
// wrong place.
func (r *reading) auth(v value) *Auth {
	o, ok := r.secretObject(v, authKinds()...)
	if !ok {
		return nil
	}
	var chosen []string
	for _, kind := range authKinds() {
		if _, ok := o[kind]; ok {
			chosen = append(chosen, kind)
		}
	}
	switch len(chosen) {
	case 0:
		r.fail(v, "want one of %s", listed(authKinds(), "and"))
	case 1:
	default:
		r.fail(v, "%s are mutually exclusive: an endpoint gets one credential", listed(chosen, "and"))
	}
	a := &Auth{}
	for _, kind := range chosen {
		r.authKind(a, kind, o[kind])
	}
	return a
}

func (r *reading) authKind(a *Auth, kind string, v value) {
	switch kind {
	case "bearer":
		a.Bearer, _ = r.secretText(v)
	case "basic":
		f := r.fields(v, []string{"user", "password"})
		a.Basic = &Basic{f["user"], f["password"]}
	case "header":
		a.Header = r.authHeader(v)
	case "aws_sigv4":
		f := r.fields(v, []string{"region", "service"})
		a.AWS = &AWSSigV4{f["region"], f["service"]}
	case "google_id_token":
		a.GoogleIDToken = r.googleIDToken(v)
	case "azure":
		f := r.fields(v, []string{"scope"}, "client_id")
		a.Azure = &Azure{f["scope"], f["client_id"]}
	case "oauth2":
		a.OAuth2 = r.oauth2(v)
	}
}

func (r *reading) authHeader(v value) *Header {
	f := r.fields(v, []string{"name", "value"})
	h := &Header{http.CanonicalHeaderKey(f["name"]), f["value"]}
	switch {
	case h.Name == "": // which was said
	case !isToken(f["name"]):
		r.fail(v, "name is not a valid header name")
	case isOwnHeader(h.Name):
		r.fail(v, "name is a header that cannot be set here: the gateway sets it itself, or never sends it")
	}
	return h
}

func (r *reading) googleIDToken(v value) *GoogleIDToken {
	f := r.fields(v, []string{"audience"}, "credentials_file")
	g := &GoogleIDToken{Audience: f["audience"]}
	if name := f["credentials_file"]; name != "" {
		file := value{node: v.member("credentials_file"), way: v.way.member("credentials_file")}
		// The library reads the file whenever it needs a token. Reading it here
		// shows that it exists, and makes a change of it a change of the entry.
		g.read, _ = r.named(file, name)
		g.CredentialsFile = r.absolute(name)
	}
	return g
}

func (r *reading) oauth2(v value) *OAuth2 {
	const scopes = "scopes"
	f := r.fields(v, []string{"token_url", "client_id", "client_secret"}, scopes)
	o := &OAuth2{TokenURL: f["token_url"], ClientID: f["client_id"], ClientSecret: f["client_secret"]}
	if v.kind != mapping {
		return o
	}
	if o.TokenURL != "" {
		r.tokenURL(value{node: v.member("token_url"), way: v.way.member("token_url")}, o.TokenURL)
	}
	if n := v.member(scopes); n != nil {
		o.Scopes = r.secretTexts(value{node: n, way: v.way.member(scopes)}, "a list of scopes")
	}
	return o
}

// tokenURL checks the URL to which a secret is sent to get a token.
func (r *reading) tokenURL(v value, s string) {
	u, ok := r.absoluteURL(v, s, "http", "https")
	switch {
	case !ok:
	case u.User != nil:
		r.fail(v, "contains credentials, which would end up in logs: use client_id and client_secret")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		r.warn(v, "client_secret and tokens are sent in plain text: anyone on the network path can read and use them")
	}
}

// fields reads a mapping of strings with required and optional keys.
func (r *reading) fields(v value, required []string, optional ...string) map[string]string {
	o, ok := r.secretObject(v, slices.Concat(required, optional)...)
	if !ok {
		return nil
	}
	all := map[string]string{}
	for _, key := range required {
		if _, ok := o[key]; !ok {
			r.fail(v, "%s is missing", key)
		}
	}
	for key, field := range o {
		if key == "scopes" { // a list
			continue
		}
		if s, ok := r.secretText(field); ok {
			all[key] = s
		}
	}
	return all
}

// secretObject is [reading.object] for a value that may be a secret in the
// wrong place.
func (r *reading) secretObject(v value, known ...string) (object, bool) {
	if v.kind != mapping {
		r.wantSecret(v, "a mapping of "+listed(known, "and"))
		return nil, false
	}
	return r.object(v, known...)
}

// secretTexts reads a non-empty list of strings that may be secrets.
func (r *reading) secretTexts(v value, wanted string) []string {
	if v.kind != list {
		r.wantSecret(v, wanted)
		return nil
	}
	items, _ := r.list(v, wanted)
	if len(items) == 0 {
		r.fail(v, "is empty: want %s", wanted)
	}
	var all []string
	for _, item := range items {
		if s, ok := r.secretText(item); ok {
			all = append(all, s)
		}
	}
	return all
}

// authFits reports a credential that conflicts with the rest of the entry.
func (r *reading) authFits(v value, w *Webhook) {
	if w.Auth == nil {
		return
	}
	header := "Authorization"
	if w.Auth.Header != nil {
		header = w.Auth.Header.Name
	}
	if _, twice := w.Headers[header]; twice {
		r.failAt(v.keyAt, v.way, "is sent in a header that headers also sets: remove it there")
	}
	if w.URL != nil && w.URL.Scheme == "http" && !isLoopback(w.URL.Hostname()) && w.Auth.AWS == nil {
		r.warn(v, "the credential is sent to %s in plain text: anyone on the network path can read and use it", w.URL.Hostname())
	}
}

// signing reads the keys that sign every call: several during a rotation.
func (r *reading) signing(v value) []string {
	const key = "secret"
	o, ok := r.secretObject(v, key)
	if !ok {
		return nil
	}
	secret, ok := o[key]
	switch {
	case !ok:
		r.fail(v, "secret is missing: calls are signed with it")
		return nil
	case secret.kind == text:
		if s, ok := r.secretText(secret); ok {
			return []string{s}
		}
		return nil
	}
	return r.secretTexts(secret, "a secret or a list of them")
}

func (a *Auth) fingerprint(d digest) {
	d.text(a.Bearer)
	d.flag(a.Basic != nil)
	if a.Basic != nil {
		d.texts([]string{a.Basic.User, a.Basic.Password})
	}
	d.flag(a.Header != nil)
	if a.Header != nil {
		d.texts([]string{a.Header.Name, a.Header.Value})
	}
	d.flag(a.AWS != nil)
	if a.AWS != nil {
		d.texts([]string{a.AWS.Region, a.AWS.Service})
	}
	d.flag(a.GoogleIDToken != nil)
	if a.GoogleIDToken != nil {
		d.texts([]string{a.GoogleIDToken.Audience, a.GoogleIDToken.CredentialsFile})
		d.bytes(a.GoogleIDToken.read)
	}
	d.flag(a.Azure != nil)
	if a.Azure != nil {
		d.texts([]string{a.Azure.Scope, a.Azure.ClientID})
	}
	d.flag(a.OAuth2 != nil)
	if a.OAuth2 != nil {
		d.texts([]string{a.OAuth2.TokenURL, a.OAuth2.ClientID, a.OAuth2.ClientSecret})
		d.texts(a.OAuth2.Scopes)
	}
}
