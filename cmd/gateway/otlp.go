package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/hookgate/hookgate/gateway/telemetry"
)

// otlp reads the standard variables of one signal. A variable for the signal
// overrides the one for all signals. An empty variable counts as unset.
type otlp struct {
	environ map[string]string
	signal  string // TRACES or LOGS
}

// get returns the value of the variable that applies, and its name.
func (o otlp) get(what string) (name, value string) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	for _, name := range []string{prefix + o.signal + "_" + what, prefix + what} {
		if value := strings.TrimSpace(o.environ[name]); value != "" {
			return name, value
		}
	}
	return prefix + what, ""
}

// collector returns the exporter's options for a signal. Unsupported values are
// errors.
func (p *program) collector(signal string, log *slog.Logger) (telemetry.Options, error) {
	o := otlp{standardVariables(p.environ), signal}
	t := telemetry.Options{Proxy: http.ProxyFromEnvironment, Version: p.version.version, Logger: log}
	if name, value := o.get("PROTOCOL"); value != "" && value != "http/protobuf" {
		return t, fmt.Errorf("%s is %q, but this gateway exports only over http/protobuf, which collectors accept on port 4318: set %s=http/protobuf", name, value, name)
	}
	at, err := o.endpoint()
	if err != nil {
		return t, err
	}
	t.URL = at.String()
	if t.Header, err = o.headers(); err != nil {
		return t, err
	}
	if t.TLS, err = o.tls(at); err != nil {
		return t, err
	}
	switch name, value := o.get("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		t.Gzip = true
	default:
		return t, fmt.Errorf("%s is %q: use gzip or none", name, value)
	}
	if name, value := o.get("TIMEOUT"); value != "" {
		milliseconds, err := strconv.ParseUint(value, 10, 31)
		if err != nil || milliseconds == 0 {
			return t, fmt.Errorf("%s is %q: give a positive number of milliseconds", name, value)
		}
		t.Timeout = time.Duration(milliseconds) * time.Millisecond
	}
	return t, nil
}

func standardVariables(environ []string) map[string]string {
	set := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, "OTEL_") {
			set[name] = value
		}
	}
	return set
}

// endpoint is the URL for the signal. A URL from the variable for all signals
// gets the signal's path appended; one from the signal's own variable is used
// unchanged.
func (o otlp) endpoint() (*url.URL, error) {
	name, value := o.get("ENDPOINT")
	if value == "" {
		value = "http://localhost:4318"
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s is not a URL like http://localhost:4318 or https://collector.example.com", name)
	case u.User != nil:
		return nil, fmt.Errorf("%s contains a user: set OTEL_EXPORTER_OTLP_HEADERS=Authorization=… instead", name)
	}
	if own := "OTEL_EXPORTER_OTLP_" + o.signal + "_ENDPOINT"; name != own {
		u = u.JoinPath("v1", strings.ToLower(o.signal))
	} else if u.Path == "" {
		u.Path = "/"
	}
	if insecureName, insecure := o.get("INSECURE"); insecure != "" && strings.EqualFold(insecure, "true") != (u.Scheme == "http") {
		return nil, fmt.Errorf("%s is %q, but the endpoint is %s://%s (%s): set http or https in its URL", insecureName, insecure, u.Scheme, u.Host, name)
	}
	return u, nil
}

// headers parses name=value,name=value. Values may be percent-encoded. They are
// credentials, so no error quotes a value.
func (o otlp) headers() (http.Header, error) {
	name, list := o.get("HEADERS")
	h := http.Header{}
	for i, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, text, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || !httpguts.ValidHeaderFieldName(key) {
			return nil, fmt.Errorf("%s: its item %d is not of the form name=value", name, i+1)
		}
		value, err := url.PathUnescape(strings.TrimSpace(text))
		if err != nil || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("%s: the value of %s is not a valid header value (%% must begin an encoded byte, as in %%20)", name, key)
		}
		h.Set(key, value)
	}
	return h, nil
}

// tls returns the TLS configuration for the endpoint, or nil for the defaults
// of net/http.
func (o otlp) tls(at *url.URL) (*tls.Config, error) {
	rootsName, roots := o.get("CERTIFICATE")
	certName, cert := o.get("CLIENT_CERTIFICATE")
	keyName, key := o.get("CLIENT_KEY")
	switch {
	case roots == "" && cert == "" && key == "":
		return nil, nil //nolint:nilnil // nil selects the defaults of net/http
	case at.Scheme != "https":
		return nil, fmt.Errorf("%s, %s or %s is set, but the endpoint %s://%s does not use TLS: use https", rootsName, certName, keyName, at.Scheme, at.Host)
	case (cert == "") != (key == ""):
		return nil, fmt.Errorf("%s and %s must be set together", certName, keyName)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if roots != "" {
		text, err := os.ReadFile(roots) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rootsName, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s contains no certificate in PEM format", rootsName, roots)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", certName, keyName, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
