package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookgate/hookgate/gateway/audit"
	"github.com/hookgate/hookgate/gateway/telemetry"
)

// collectorOf returns where the standard variables send a signal.
func collectorOf(signal string, environ ...string) (telemetry.Options, error) {
	return (&program{environ: environ}).collector(signal, slog.New(slog.DiscardHandler))
}

func TestTheStandardVariablesSayWhereSignalsGo(t *testing.T) {
	const all, own = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	type wanted struct {
		URL     string
		Header  http.Header
		Timeout time.Duration
		Gzip    bool
	}
	for name, c := range map[string]struct {
		environ []string
		want    wanted
	}{
		"nothing":                   {nil, wanted{URL: "http://localhost:4318/v1/traces"}},
		"an address":                {[]string{all + "ENDPOINT=https://c.example.com"}, wanted{URL: "https://c.example.com/v1/traces"}},
		"with a path":               {[]string{all + "ENDPOINT=http://c:4318/otlp/"}, wanted{URL: "http://c:4318/otlp/v1/traces"}},
		"of the signal, as it is":   {[]string{all + "ENDPOINT=http://c:4318", own + "ENDPOINT=http://t:1/here"}, wanted{URL: "http://t:1/here"}},
		"of the signal, bare":       {[]string{own + "ENDPOINT=http://t:1"}, wanted{URL: "http://t:1/"}},
		"of another signal":         {[]string{all + "LOGS_ENDPOINT=http://l:1", all + "LOGS_PROTOCOL=grpc"}, wanted{URL: "http://localhost:4318/v1/traces"}},
		"empty is not set":          {[]string{own + "ENDPOINT=", own + "TIMEOUT= ", all + "ENDPOINT=http://c:1"}, wanted{URL: "http://c:1/v1/traces"}},
		"the protocol there is":     {[]string{all + "PROTOCOL=http/protobuf"}, wanted{URL: "http://localhost:4318/v1/traces"}},
		"of the signal goes before": {[]string{all + "PROTOCOL=grpc", own + "PROTOCOL=http/protobuf"}, wanted{URL: "http://localhost:4318/v1/traces"}},
		"insecure as it says":       {[]string{all + "INSECURE=true", all + "ENDPOINT=http://c:1"}, wanted{URL: "http://c:1/v1/traces"}},
		"compressed":                {[]string{all + "COMPRESSION=gzip"}, wanted{URL: "http://localhost:4318/v1/traces", Gzip: true}},
		"this one is not":           {[]string{all + "COMPRESSION=gzip", own + "COMPRESSION=none"}, wanted{URL: "http://localhost:4318/v1/traces"}},
		"time":                      {[]string{all + "TIMEOUT=2500"}, wanted{URL: "http://localhost:4318/v1/traces", Timeout: 2500 * time.Millisecond}},
		"headers": {
			[]string{all + "HEADERS=authorization=Bearer%20a%3Db, x-team = blue ,x-empty=,"},
			wanted{URL: "http://localhost:4318/v1/traces", Header: http.Header{"Authorization": {"Bearer a=b"}, "X-Team": {"blue"}, "X-Empty": {""}}},
		},
		"headers of the signal": {[]string{all + "HEADERS=a=1", own + "HEADERS=b=2"}, wanted{URL: "http://localhost:4318/v1/traces", Header: http.Header{"B": {"2"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := collectorOf("TRACES", c.environ...)
			if err != nil {
				t.Fatal(err)
			}
			if c.want.Header == nil {
				c.want.Header = http.Header{}
			}
			if diff := cmp.Diff(c.want, wanted{got.URL, got.Header, got.Timeout, got.Gzip}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.TLS != nil || got.Proxy == nil {
				t.Errorf("TLS is %v, and that there is a proxy %v", got.TLS, got.Proxy != nil)
			}
		})
	}
}

func TestWhatACollectorIsNotAskedWithIsRefused(t *testing.T) {
	dir := t.TempDir()
	noPEM := filepath.Join(dir, "no.pem")
	if err := os.WriteFile(noPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all = "OTEL_EXPORTER_OTLP_"
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"gRPC": {
			[]string{all + "PROTOCOL=grpc"},
			`OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", but this gateway exports only over http/protobuf, which collectors accept on port 4318: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`,
		},
		"JSON": {
			[]string{all + "LOGS_PROTOCOL=http/json", all + "PROTOCOL=http/protobuf"},
			`OTEL_EXPORTER_OTLP_LOGS_PROTOCOL is "http/json", but this gateway exports only over http/protobuf, which collectors accept on port 4318: set OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/protobuf`,
		},
		"no URL":       {[]string{all + "ENDPOINT=collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL like http://localhost:4318 or https://collector.example.com"},
		"another kind": {[]string{all + "LOGS_ENDPOINT=unix:///run/otel.sock"}, "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT is not a URL like http://localhost:4318 or https://collector.example.com"},
		"a user in it": {[]string{all + "ENDPOINT=https://me:secret@c"}, "OTEL_EXPORTER_OTLP_ENDPOINT contains a user: set OTEL_EXPORTER_OTLP_HEADERS=Authorization=… instead"},
		"insecure, but https": {
			[]string{all + "INSECURE=TRUE", all + "ENDPOINT=https://c"},
			`OTEL_EXPORTER_OTLP_INSECURE is "TRUE", but the endpoint is https://c (OTEL_EXPORTER_OTLP_ENDPOINT): set http or https in its URL`,
		},
		"secure, but http": {
			[]string{all + "LOGS_INSECURE=false", all + "ENDPOINT=http://c"},
			`OTEL_EXPORTER_OTLP_LOGS_INSECURE is "false", but the endpoint is http://c (OTEL_EXPORTER_OTLP_ENDPOINT): set http or https in its URL`,
		},
		"a header without value":   {[]string{all + "HEADERS=a=1,,a=2,secret"}, "OTEL_EXPORTER_OTLP_HEADERS: its item 4 is not of the form name=value"},
		"a header without a name":  {[]string{all + "HEADERS= =secret"}, "OTEL_EXPORTER_OTLP_HEADERS: its item 1 is not of the form name=value"},
		"a header badly encoded":   {[]string{all + "HEADERS=key=secret%zz"}, "OTEL_EXPORTER_OTLP_HEADERS: the value of key is not a valid header value (% must begin an encoded byte, as in %20)"},
		"a header of two lines":    {[]string{all + "HEADERS=key=secret%0Amore"}, "OTEL_EXPORTER_OTLP_HEADERS: the value of key is not a valid header value (% must begin an encoded byte, as in %20)"},
		"another compression":      {[]string{all + "COMPRESSION=zstd"}, `OTEL_EXPORTER_OTLP_COMPRESSION is "zstd": use gzip or none`},
		"a time with its unit":     {[]string{all + "LOGS_TIMEOUT=10s"}, `OTEL_EXPORTER_OTLP_LOGS_TIMEOUT is "10s": give a positive number of milliseconds`},
		"no time":                  {[]string{all + "TIMEOUT=0"}, `OTEL_EXPORTER_OTLP_TIMEOUT is "0": give a positive number of milliseconds`},
		"a certificate for http":   {[]string{all + "CERTIFICATE=ca.pem"}, "OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE or OTEL_EXPORTER_OTLP_CLIENT_KEY is set, but the endpoint http://localhost:4318 does not use TLS: use https"},
		"a certificate, no key":    {[]string{all + "ENDPOINT=https://c", all + "CLIENT_CERTIFICATE=c.pem"}, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must be set together"},
		"a certificate not there":  {[]string{all + "ENDPOINT=https://c", all + "CERTIFICATE=" + filepath.Join(dir, "none")}, "OTEL_EXPORTER_OTLP_CERTIFICATE: open " + filepath.Join(dir, "none") + ": no such file or directory"},
		"a certificate that isn't": {[]string{all + "ENDPOINT=https://c", all + "CERTIFICATE=" + noPEM}, "OTEL_EXPORTER_OTLP_CERTIFICATE: " + noPEM + " contains no certificate in PEM format"},
		"a pair that isn't": {
			[]string{all + "ENDPOINT=https://c", all + "CLIENT_CERTIFICATE=" + noPEM, all + "CLIENT_KEY=" + noPEM},
			"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: tls: failed to find any PEM data in certificate input",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := collectorOf("LOGS", c.environ...)
			if err == nil || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func TestAGatewayDoesNotStartWithACollectorItCannotAsk(t *testing.T) {
	for name, environ := range map[string][]string{
		"traces":  {"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"records": {"HOOKGATE_AUDIT_OTLP=true", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
	} {
		got := commandLine(t, append(environ, "HOOKGATE_ADDR=127.0.0.1:0", "HOOKGATE_ADMIN_ADDR=127.0.0.1:0"), "", "serve")
		if got.code != exitFailed || !strings.Contains(got.stderr, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestACollectorBehindTLSIsShownAndShowsACertificate(t *testing.T) {
	shown := make(chan []*x509.Certificate, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown <- r.TLS.PeerCertificates }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it would log the refused handshake
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write := func(environ ...string) error {
		o, err := collectorOf("LOGS", append(environ, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL)...)
		if err != nil {
			t.Fatal(err)
		}
		logs, err := telemetry.NewLogs(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := logs.Close(); err != nil {
				t.Error(err)
			}
		}()
		return logs.Write(t.Context(), []audit.Record{{Body: []byte(`{}`)}}, false)
	}
	cert := filepath.Join(dir, "cert.pem")
	pair := []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + cert, "OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY=" + filepath.Join(dir, "key.pem")}
	if err := write(append(pair, "OTEL_EXPORTER_OTLP_CERTIFICATE="+cert)...); err != nil {
		t.Fatal(err)
	}
	if got := <-shown; len(got) != 1 || !got[0].Equal(s.Certificate()) {
		t.Errorf("it was shown %d certificates", len(got))
	}
	// A certificate of another authority stays wrong, so there is no retry.
	if err := write(pair...); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("a collector that nobody knows ended it with %v", err)
	}
}
