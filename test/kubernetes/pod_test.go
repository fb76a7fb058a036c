package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hookgate/hookgate/test/process"
)

// kubelet runs the gateway's program like a pod of this namespace: with the
// pod's variables, and with volumes made from the API server's objects.
type kubelet struct {
	*cluster
	namespace string
}

// gateway runs the first pod. The pod's absolute paths are mapped to a
// directory of the test.
func (k *kubelet) gateway(t *testing.T) *process.Gateway {
	t.Helper()
	pods, err := k.typed.CoreV1().Pods(k.namespace).List(t.Context(), all)
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("there are no pods: %v", err)
	}
	pod := &pods.Items[0]
	root := t.TempDir()
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			if v.Name == mount.Name {
				k.mount(t, pod, v, root, mount.MountPath)
			}
		}
	}
	variables := map[string]string{}
	for _, e := range pod.Spec.Containers[0].Env {
		if name, ours := strings.CutPrefix(e.Name, "HOOKGATE_"); ours && e.ValueFrom == nil {
			variables[name] = below(root, e.Value)
		}
	}
	variables["ADDR"], variables["ADMIN_ADDR"], variables["DRAIN_DELAY"] = "127.0.0.1:0", "127.0.0.1:0", "0s"
	return process.Start(t, k.program, variables)
}

// below maps the container's paths in a text to the test's directory.
func below(root, text string) string {
	for _, path := range []string{"/etc/hookgate", "/var/run/hookgate"} {
		text = strings.ReplaceAll(text, path, root+path)
	}
	return text
}

// mount creates the content of a volume.
func (k *kubelet) mount(t *testing.T, pod *core.Pod, v core.Volume, root, path string) {
	t.Helper()
	dir := filepath.Join(root, path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(below(root, text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case v.EmptyDir != nil:
	case v.ConfigMap != nil:
		for name, text := range k.configMap(t, v.ConfigMap.Name) {
			write(name, text)
		}
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if p := source.ServiceAccountToken; p != nil {
				write(p.Path, k.token(t, k.namespace, pod.Spec.ServiceAccountName, p.Audience, pod))
			}
			if p := source.ConfigMap; p != nil {
				for _, item := range p.Items {
					write(item.Path, k.configMap(t, p.Name)[item.Key])
				}
			}
		}
	default:
		t.Fatalf("the volume %s is of a kind that this test does not know", v.Name)
	}
}

func (k *kubelet) configMap(t *testing.T, name string) map[string]string {
	t.Helper()
	m, err := k.typed.CoreV1().ConfigMaps(k.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Data
}

// token requests a token of a service account from the API server: without an
// audience for the API server itself, and with a pod bound to that pod.
func (c *cluster) token(t *testing.T, namespace, account, audience string, pod *core.Pod) string {
	t.Helper()
	request := &authentication.TokenRequest{}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	if pod != nil {
		request.Spec.BoundObjectRef = &authentication.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	issued, err := c.typed.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return issued.Status.Token
}
