package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hookgate/hookgate/test/deploy"
)

// sidecar is the beginning of the values for a sidecar.
const sidecar = "sidecars: [{name: policy, image: registry.example.com/policy:1, "

// confined is the security context that the restricted standard requires.
const confined = "securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}}"

// wrongValuesAreRefused applies renderings of invalid values that only the API
// server detects.
func wrongValuesAreRefused(t *testing.T, c *cluster) {
	t.Helper()
	const namespace = "wrong-values"
	c.restricted(t, namespace)
	for values, want := range map[string]string{
		"extraEnv: [{name: HOOKGATE_ADDR, value: '0.0.0.0:80'}]":                              `duplicate entries for key [name="HOOKGATE_ADDR"]`,
		"extraEnv: [{name: TEAM, valueFrom: {secretKey: {name: team}}}]":                      "secretKey: field not declared in schema",
		"resources: {limits: {memory: plenty}}":                                               "quantities must match the regular expression",
		"resources: {limits: {memory: 64Mi}}":                                                 "must be less than or equal to memory limit of 64Mi",
		sidecar + confined + ", readinesProbe: {tcpSocket: {port: 1}}}]":                      "readinesProbe: field not declared in schema",
		sidecar + confined + ", ports: [{name: a-port-of-a-sidecar, containerPort: 1}]}]":     "must be no more than 15 characters",
		sidecar + confined + ", livenessProbe: {tcpSocket: {port: 1}, successThreshold: 2}}]": "livenessProbe.successThreshold: Invalid value: 2: must be 1",
		"sidecars: [{name: gateway, image: registry.example.com/policy:1, " + confined + "}]": `Duplicate value: "gateway"`,
		"extraVolumes: [{name: tmp, emptyDir: {}}]":                                           `duplicate entries for key [name="tmp"]`,
		"extraVolumeMounts: [{name: policies, mountPath: /policies}]":                         `volumeMounts[2].name: Not found: "policies"`,
		"audit: {file: {volume: {persistentVolumeClaim: {name: audit}}}}":                     "persistentVolumeClaim.name: field not declared in schema",
		"podLabels: {app.kubernetes.io/name: other}":                                          `key "app.kubernetes.io/name" already set in map`,
		"podLabels: {team: platform and tools}":                                               "a valid label must be",
		"tolerations: [{key: dedicated, operator: Sometimes}]":                                `tolerations[0].operator: Unsupported value: "Sometimes"`,
		"autoscaling: {enabled: true, minReplicas: 5, maxReplicas: 2}":                        "must be greater than or equal to `minReplicas`",
		"networkPolicy: {hooks: [{cidr: 300.0.113.0/24, ports: [443]}]}":                      "must be a valid CIDR value",
		"networkPolicy: {callers: [{namespaceSelectors: {}}]}":                                "namespaceSelectors: field not declared in schema",
		"service: {annotations: {not a name: x}}":                                             "metadata.annotations: Invalid value",
		"monitoring: {podMonitor: {enabled: true, interval: 1m30}}":                           "/monitoring/podMonitor/interval",
	} {
		chart, err := deploy.Load(clone)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := deploy.Render(t.Context(), chart, values)
		by := "the schema"
		if err == nil {
			by = "the API server"
			_, err = c.applyAll(t.Context(), namespace, deploy.Documents(rendered), metav1.DryRunAll)
		}
		said := fmt.Sprint(err)
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s says %s, want what says %q", values, by, said, want)
			continue
		}
		t.Logf("%s: %s refuses: %s", values, by, said)
	}
	c.warnings.taken()
}

// wrongPodsAreRefused applies renderings whose Deployment is accepted with a
// warning, but whose pods are refused.
func wrongPodsAreRefused(t *testing.T, c *cluster) {
	t.Helper()
	i := 0
	for values, want := range map[string]string{
		"extraVolumes: [{name: host, hostPath: {path: /var/run}}]":         `violates PodSecurity "restricted:latest": restricted volume types (volume "host" uses restricted volume type "hostPath")`,
		"sidecars: [{name: policy, image: registry.example.com/policy:1}]": `violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "policy"`,
		sidecar + "securityContext: {runAsUser: 0, runAsNonRoot: false}}]": `violates PodSecurity "restricted:latest"`,
		"priorityClassName: important":                                     `no PriorityClass with name important was found`,
		"serviceAccount: {create: false, name: nobody}":                    `serviceaccount "nobody" not found`,
	} {
		i++
		namespace := fmt.Sprintf("wrong-pods-%d", i)
		c.restricted(t, namespace)
		if _, err := c.applyAll(t.Context(), namespace, render(t, values)); err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		if said := strings.Join(c.warnings.taken(), "\n"); strings.Contains(want, "PodSecurity") && !strings.Contains(said, "would violate PodSecurity") {
			t.Errorf("%s: the API server warns %q", values, said)
		}
		eventually(t, values+" is refused as a pod", func(ctx context.Context) error {
			d, err := c.typed.AppsV1().Deployments(namespace).Get(ctx, deploy.Release, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range d.Status.Conditions {
				if condition.Type == "ReplicaFailure" && condition.Status == core.ConditionTrue && strings.Contains(condition.Message, want) {
					t.Logf("%s: %s", values, condition.Message)
					return nil
				}
			}
			return fmt.Errorf("conditions %+v", d.Status.Conditions)
		})
	}
}
