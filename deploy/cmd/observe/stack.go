package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/deploy/dashcheck"
)

// The kinds of histograms that a server stores.
const (
	classicHistograms = "classic"
	nativeHistograms  = "native"
)

// scrapeInterval is the scrape interval of the servers.
const scrapeInterval = time.Second

// stack is everything that runs.
type stack struct {
	options
	dir       string
	hooksFile string
	admin     string // the gateway's admin listener
	servers   []server
	processes []*process // in the order of their start
}

// server is a Prometheus server.
type server struct {
	mode string // the kind of histograms
	dashcheck.Server
}

// start starts the example without Docker, and the servers, and waits until
// each is ready.
func (s *stack) start(ctx context.Context) error {
	addrs, err := freeAddrs(ctx, 7)
	if err != nil {
		return err
	}
	gateway, admin, traffic := addrs[0], addrs[1], addrs[2]
	s.admin = "http://" + admin
	config := filepath.Join(s.dir, "config")
	s.hooksFile = filepath.Join(config, "hooks.yaml")
	script, err := filepath.Abs(filepath.Join(s.root, "examples", "observability", "run"))
	if err != nil {
		return err
	}
	env := []string{
		"HOOKGATE_ADDR=" + gateway, "HOOKGATE_ADMIN_ADDR=" + admin, "HOOKGATE_RELOAD_INTERVAL=200ms", "HOOKGATE_LOG_LEVEL=error",
		"TRAFFIC_ADDR=" + traffic, "TRAFFIC_EVERY=10ms", "EXAMPLE_CONFIG=" + config, "PROMETHEUS_ADDR=none",
	}
	if err := s.run(ctx, "example", env, script, "local"); err != nil {
		return err
	}
	if err := s.until(ctx, "the gateway is ready", func() error { return get(ctx, s.admin+"/readyz", nil) }); err != nil {
		return err
	}
	if err := s.replica(ctx, addrs[5], addrs[6]); err != nil {
		return err
	}
	return errors.Join(
		s.prometheus(ctx, classicHistograms, addrs[3], admin, addrs[6]),
		s.prometheus(ctx, nativeHistograms, addrs[4], admin, addrs[6], "--enable-feature=native-histograms"))
}

// replica starts a second gateway without traffic, with another configuration
// and a certificate.
func (s *stack) replica(ctx context.Context, addr, admin string) error {
	cert, key := filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")
	if err := certificate(cert, key); err != nil {
		return err
	}
	env := []string{
		"HOOKGATE_ADDR=" + addr, "HOOKGATE_ADMIN_ADDR=" + admin, "HOOKGATE_LOG_LEVEL=error",
		"HOOKGATE_TLS_CERT_FILE=" + cert, "HOOKGATE_TLS_KEY_FILE=" + key,
	}
	return s.run(ctx, "replica", env, s.gateway, "serve")
}

func (s *stack) run(ctx context.Context, name string, env []string, argv ...string) error {
	p, err := run(ctx, s.dir, name, env, argv...)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	return nil
}

// prometheus starts a server and waits until it has scraped the gateway.
func (s *stack) prometheus(ctx context.Context, mode, addr, target, replica string, flags ...string) error {
	rules, err := filepath.Abs(filepath.Join(s.root, "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		return err
	}
	config := filepath.Join(s.dir, mode+".yaml")
	text := fmt.Sprintf("global: {scrape_interval: %[1]s, evaluation_interval: %[1]s}\nrule_files: [%[2]q]\n"+
		"scrape_configs: [{job_name: hookgate, static_configs: [{targets: [%[3]q, %[4]q]}]}]\n", scrapeInterval, rules, target, replica)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	argv := append([]string{
		s.options.prometheus, "--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(s.dir, mode),
		"--web.listen-address=" + addr, "--log.level=warn",
	}, flags...)
	if err := s.run(ctx, "prometheus-"+mode, nil, argv...); err != nil {
		return err
	}
	found := server{mode: mode, Server: dashcheck.Server{URL: "http://" + addr, Client: client()}}
	s.servers = append(s.servers, found)
	return s.until(ctx, "Prometheus scraped the gateway", func() error {
		n, err := found.Points(ctx, "hookgate_build_info", true, 0, 0)
		if err == nil && n == 0 {
			err = errors.New("there is nothing yet")
		}
		return err
	})
}

// reload makes the gateway refuse a file and then load another one.
func (s *stack) reload(ctx context.Context) error {
	good, err := os.ReadFile(s.hooksFile)
	if err != nil {
		return err
	}
	for _, step := range []struct{ text, want string }{
		{"schema: 1\nhooks:\n  - name: nothing\n", `hookgate_config_reloads_total{result="invalid"} 1`},
		{string(good) + "# changed\n", `hookgate_config_reloads_total{result="ok"} 1`},
	} {
		if err := os.WriteFile(s.hooksFile, []byte(step.text), 0o600); err != nil {
			return err
		}
		if err := s.until(ctx, step.want, func() error {
			var exposed strings.Builder
			if err := get(ctx, s.admin+"/metrics", &exposed); err != nil {
				return err
			}
			if !strings.Contains(exposed.String(), "\n"+step.want+"\n") {
				return errors.New("the metric is not there")
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// until retries until try succeeds, ctx ends, or a program that must keep
// running has ended.
func (s *stack) until(ctx context.Context, what string, try func() error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		for _, p := range s.processes {
			select {
			case <-p.ended:
				return fmt.Errorf("%s ended before %s", p.name, what) // stop says how
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it was not so in time that %s: %w", what, err)
		case <-tick.C:
		}
	}
}

// stop ends everything in reverse order of the start.
func (s *stack) stop() error {
	var errs []error
	for _, p := range slices.Backward(s.processes) {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

// client returns an HTTP client for everything that runs here.
func client() *http.Client { return &http.Client{Timeout: 10 * time.Second} }

// get writes a response body to out, unless out is nil.
func get(ctx context.Context, url string, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client().Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", url, resp.StatusCode)
	}
	if out == nil {
		return nil
	}
	_, err = io.Copy(out, resp.Body)
	return err
}
