package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

const example = "../../examples/observability"

// project reads the compose file as docker compose does, and refuses what its
// schema does not know.
func project(t *testing.T) *types.Project {
	t.Helper()
	dir, err := filepath.Abs(example)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}},
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

func TestPrometheusAndGrafanaFindTheirFilesWhereTheyAreMounted(t *testing.T) {
	p := project(t)
	targets := func(service string) (all []string) {
		for _, v := range p.Services[service].Volumes {
			all = append(all, v.Target)
		}
		return all
	}
	var scraping struct {
		Files []string `yaml:"rule_files"`
	}
	read(t, "prometheus.yaml", &scraping)
	for _, f := range scraping.Files {
		if !slices.Contains(targets("prometheus"), f) {
			t.Errorf("rules are read from %s, where nothing is mounted", f)
		}
	}
	var provisioning struct {
		Providers []struct{ Options struct{ Path string } }
	}
	read(t, "grafana/dashboards/hookgate.yaml", &provisioning)
	if len(provisioning.Providers) != 1 || !slices.Contains(targets("grafana"), provisioning.Providers[0].Options.Path) {
		t.Errorf("dashboards are read from %+v, where nothing is mounted", provisioning.Providers)
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
