package compose

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/distribution/reference"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

const example = "../../examples/observability"

// project reads the compose file as docker compose does. It refuses unknown
// keys and all variables, because a first try has none set.
func project(t *testing.T) *types.Project {
	t.Helper()
	dir, err := filepath.Abs(example)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}},
	}, func(o *loader.Options) {
		o.Interpolate.LookupValue = func(name string) (string, bool) {
			t.Errorf("the file has a variable %s, which nobody sets", name)
			return "", false
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryServiceIsThere(t *testing.T) {
	if diff := cmp.Diff([]string{"gateway", "grafana", "prometheus", "traffic"}, slices.Sorted(slices.Values(project(t).ServiceNames()))); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
}

func TestEverythingThatIsMountedOrBuiltExists(t *testing.T) {
	for name, s := range project(t).Services {
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts at %s: %v", name, v.Target, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s could write to %s", name, v.Source)
			}
		}
		if s.Build == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s is built from: %v", name, err)
		}
	}
}

// If an image of the project's own could be pulled, it would be whatever a
// registry has under that name.
func TestImagesAreBuiltHereOrPinned(t *testing.T) {
	p := project(t)
	built := map[string]bool{}
	for _, s := range p.Services {
		if s.Build != nil {
			built[s.Image] = true
		}
	}
	release := regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)
	for name, s := range p.Services {
		want := ""
		switch {
		case s.Build != nil:
			want = types.PullPolicyBuild
		case built[s.Image]:
			want = types.PullPolicyNever
		default:
			named, err := reference.ParseNormalizedNamed(s.Image)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if tagged, ok := named.(reference.NamedTagged); !ok || !release.MatchString(tagged.Tag()) {
				t.Errorf("%s runs %s, which is no release", name, s.Image)
			}
		}
		if s.PullPolicy != want {
			t.Errorf("%s runs %s by the policy %q, want %q", name, s.Image, s.PullPolicy, want)
		}
	}
}

func TestNothingIsOpenToTheNetworkOfTheMachine(t *testing.T) {
	for name, s := range project(t).Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, p.Published, p.HostIP)
			}
		}
	}
}

func TestTheGatewayIsGivenVariablesThatItKnowsAndFilesThatAreMounted(t *testing.T) {
	settings, err := os.ReadFile("../../cmd/gateway/settings.go")
	if err != nil {
		t.Fatal(err)
	}
	s := project(t).Services["gateway"]
	for variable, value := range s.Environment {
		short, ok := strings.CutPrefix(variable, "HOOKGATE_")
		if !ok || !strings.Contains(string(settings), `env:"`+short) {
			t.Errorf("%s is no variable of the gateway", variable)
		}
		if inside, ok := strings.CutPrefix(*value, s.Volumes[0].Target); ok {
			if _, err := os.Stat(filepath.Join(s.Volumes[0].Source, inside)); err != nil {
				t.Errorf("%s names what is not mounted: %v", variable, err)
			}
		}
	}
}

// A gateway without its hooks starts with failing canaries, and ends with
// unanswered calls.
func TestTheHooksAreThereBeforeTheGatewayAndAfterIt(t *testing.T) {
	p := project(t)
	files, err := filepath.Glob(filepath.Join(example, "config", "chains", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, path := range append(files, filepath.Join(example, "config", "hooks.yaml")) {
		var file struct{ Hooks []struct{ URL string } }
		load(t, path, &file)
		for _, h := range file.Hooks {
			if h.URL == "" {
				continue
			}
			u, err := url.Parse(h.URL)
			if err != nil {
				t.Fatal(err)
			}
			asked[u.Host] = true
		}
	}
	listen := p.Services["traffic"].Command
	want := "traffic" + listen[slices.Index(listen, "-listen")+1]
	if diff := cmp.Diff(map[string]bool{want: true}, asked); diff != "" {
		t.Errorf("hooks (-where they listen +where they are asked):\n%s", diff)
	}
	if _, ok := p.Services["gateway"].DependsOn["traffic"]; !ok {
		t.Error("the gateway does not wait for its hooks")
	}
}

// docker compose up --wait fails on a container whose image has a health check
// that is switched off.
func TestNoHealthCheckIsSwitchedOff(t *testing.T) {
	for name, s := range project(t).Services {
		if s.HealthCheck != nil && s.HealthCheck.Disable {
			t.Errorf("nobody can wait for %s", name)
		}
	}
}

func TestPrometheusFindsItsRulesAndTheGateway(t *testing.T) {
	p := project(t)
	var scraping struct {
		Files []string `yaml:"rule_files"`
		Jobs  []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	read(t, "prometheus.yaml", &scraping)
	for _, f := range scraping.Files {
		if mounted(p, "prometheus", f) == "" {
			t.Errorf("rules are read from %s, where nothing is mounted", f)
		}
	}
	var targets []string
	for _, j := range scraping.Jobs {
		for _, s := range j.Static {
			targets = append(targets, s.Targets...)
		}
	}
	_, admin, err := net.SplitHostPort(*p.Services["gateway"].Environment["HOOKGATE_ADMIN_ADDR"])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{net.JoinHostPort("gateway", admin)}, targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// Grafana ignores unknown fields in these files, so they are checked against
// the fields in its documentation.
func TestGrafanaIsProvisionedAsItsDocumentationSays(t *testing.T) {
	p := project(t)
	const provisioning = "/etc/grafana/provisioning/"

	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool `yaml:"isDefault"`
			JSONData                     struct {
				TimeInterval string `yaml:"timeInterval"`
			} `yaml:"jsonData"`
		}
	}
	strictly(t, only(t, mounted(p, "grafana", provisioning+"datasources"), "*.yaml"), &sources)
	if sources.APIVersion != 1 || len(sources.Datasources) != 1 {
		t.Fatalf("data sources are provisioned by %+v", sources)
	}
	d := sources.Datasources[0]
	if d.Name == "" || d.UID == "" || d.Type != "prometheus" || d.Access != "proxy" || !d.IsDefault {
		t.Errorf("the dashboards take no such data source as the one they begin with: %+v", d)
	}
	if u, err := url.Parse(d.URL); err != nil || u.Scheme != "http" || u.Host != "prometheus:9090" {
		t.Errorf("Grafana asks %s, %v", d.URL, err)
	}
	var scraping struct {
		Global struct {
			Every string `yaml:"scrape_interval"`
		}
	}
	read(t, "prometheus.yaml", &scraping)
	if d.JSONData.TimeInterval != scraping.Global.Every {
		t.Errorf("Grafana takes the interval for %s, it is %s", d.JSONData.TimeInterval, scraping.Global.Every)
	}

	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			AllowUIUpdates     bool `yaml:"allowUiUpdates"`
			Options            struct{ Path string }
		}
	}
	strictly(t, only(t, mounted(p, "grafana", provisioning+"dashboards"), "*.yaml"), &boards)
	if boards.APIVersion != 1 || len(boards.Providers) != 1 {
		t.Fatalf("dashboards are provisioned by %+v", boards)
	}
	b := boards.Providers[0]
	if b.Name == "" || b.Folder == "" || b.Type != "file" {
		t.Errorf("the provider is %+v", b)
	}
	if all, err := filepath.Glob(filepath.Join(mounted(p, "grafana", b.Options.Path), "*.json")); err != nil || len(all) == 0 {
		t.Errorf("there are no dashboards at %s: %v", b.Options.Path, err)
	}
	home := *p.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if _, err := os.Stat(mounted(p, "grafana", home)); err != nil {
		t.Errorf("the first page is no dashboard: %v", err)
	}
}

// mounted returns what a service sees at a path, "" if nothing.
func mounted(p *types.Project, service, path string) string {
	for _, v := range p.Services[service].Volumes {
		if inside, ok := strings.CutPrefix(path, v.Target); ok && (inside == "" || inside[0] == '/') {
			return filepath.Join(v.Source, inside)
		}
	}
	return ""
}

// only returns the one matching file in a directory.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %q, %v, want one file", dir, found, err)
	}
	return found[0]
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	load(t, filepath.Join(example, name), into)
}

func strictly(t *testing.T, path string, into any) {
	t.Helper()
	load(t, path, into, yaml.WithKnownFields())
}

func load(t *testing.T, path string, into any, how ...yaml.Option) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(text, into, how...); err != nil {
		t.Fatal(err)
	}
}
