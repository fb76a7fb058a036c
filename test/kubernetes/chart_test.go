package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hookgate/hookgate/test/deploy"
)

// clone is the path of the repository.
const clone = "../.."

// define adds the custom resource definitions of the projects that the chart
// supports.
func (c *cluster) define(t *testing.T) {
	t.Helper()
	var kinds []string
	for _, name := range []string{"servicemonitors", "podmonitors", "prometheusrules"} {
		kinds = append(kinds, filepath.Join(installed(t, "PROMETHEUS_CRDS"), "monitoring.coreos.com_"+name+".yaml"))
	}
	kinds = append(kinds, filepath.Join(installed(t, "CERT_MANAGER_CRDS"), "cert-manager.io_certificates.yaml"))
	for _, path := range kinds {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		definition, err := c.apply(t.Context(), "", string(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		eventually(t, definition.GetName()+" is served", func(ctx context.Context) error {
			return c.established(ctx, definition)
		})
	}
	c.mapper.Reset()
	c.warnings.taken() // about definitions that are not ours
}

func (c *cluster) established(ctx context.Context, definition *unstructured.Unstructured) error {
	place, err := c.place(definition.GroupVersionKind(), "")
	if err != nil {
		return err
	}
	now, err := place.Get(ctx, definition.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(now.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" && fields["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("conditions %v", conditions)
}

// restricted adds a namespace that enforces the restricted pod security standard.
func (c *cluster) restricted(t *testing.T, name string) {
	t.Helper()
	labels := map[string]string{}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
		labels["pod-security.kubernetes.io/"+mode+"-version"] = "latest"
	}
	c.create(t, "", &core.Namespace{ObjectMeta: named(name, labels)})
	eventually(t, "the controllers have been at the namespace "+name, func(ctx context.Context) error {
		if _, err := c.typed.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := c.typed.CoreV1().ConfigMaps(name).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
}

// addOutside adds the objects that the values declare as existing outside the
// chart.
func (c *cluster) addOutside(t *testing.T, namespace string, outside []string) {
	t.Helper()
	for _, o := range outside {
		kind, name, _ := strings.Cut(o, "/")
		switch kind {
		case "ServiceAccount":
			c.create(t, namespace, &core.ServiceAccount{ObjectMeta: named(name, nil)})
		case "Secret":
			c.create(t, namespace, &core.Secret{ObjectMeta: named(name, nil)})
		case "PersistentVolumeClaim":
			c.addVolume(t, namespace, name)
		case "ConfigMap":
			if name != "kube-root-ca.crt" { // which a controller has made
				c.create(t, namespace, &core.ConfigMap{ObjectMeta: named(name, nil)})
			}
		default:
			t.Fatalf("%s: nobody knows how to make one", o)
		}
	}
}

// addVolume adds a claim and a volume bound to it.
func (c *cluster) addVolume(t *testing.T, namespace, name string) {
	t.Helper()
	size := core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")}
	modes := []core.PersistentVolumeAccessMode{core.ReadWriteMany}
	c.create(t, "", &core.PersistentVolume{ObjectMeta: named(name, nil), Spec: core.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, ClaimRef: &core.ObjectReference{Namespace: namespace, Name: name},
		PersistentVolumeSource: core.PersistentVolumeSource{NFS: &core.NFSVolumeSource{Server: "nfs.example.com", Path: "/audit"}},
	}})
	c.create(t, namespace, &core.PersistentVolumeClaim{ObjectMeta: named(name, nil), Spec: core.PersistentVolumeClaimSpec{
		AccessModes: modes, StorageClassName: new(string), VolumeName: name, Resources: core.VolumeResourceRequirements{Requests: size},
	}})
}

// everyRenderingIsTaken applies every rendering and waits for its rollout.
func everyRenderingIsTaken(t *testing.T, c *cluster) {
	t.Helper()
	options, err := deploy.Options(t.Context(), clone)
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.ReadFile(filepath.Join(clone, "deploy/kustomize/base/hookgate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rendered, _ := strings.Cut(string(base), "\n") // without the comment
	options = append(options, deploy.Option{Name: "kustomize-base", Rendered: rendered})
	taken := map[string]int{}
	for _, o := range options {
		t.Run(o.Name, func(t *testing.T) { c.rollOut(t, "option-"+o.Name, o, taken) })
	}
	for _, kind := range slices.Sorted(maps.Keys(taken)) {
		t.Logf("%d × %s taken", taken[kind], kind)
	}
	for _, kind := range []string{
		"Deployment", "Service", "ServiceAccount", "ConfigMap", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy",
		"ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate",
	} {
		if taken[kind] == 0 {
			t.Errorf("no rendering has a %s", kind)
		}
	}
}

func (c *cluster) rollOut(t *testing.T, namespace string, o deploy.Option, taken map[string]int) {
	t.Helper()
	c.restricted(t, namespace)
	c.addOutside(t, namespace, o.Outside)
	c.warnings.taken() // about the objects outside the chart
	began := time.Now()
	objects, err := c.applyAll(t.Context(), namespace, deploy.Documents(o.Rendered))
	if err != nil {
		t.Fatal(err)
	}
	var deployment *unstructured.Unstructured
	replicas, budget := int64(0), ""
	for _, object := range objects {
		taken[object.GetKind()]++
		switch object.GetKind() {
		case "Deployment":
			deployment = object
			replicas = max(replicas, number(t, object, "spec", "replicas"))
		case "HorizontalPodAutoscaler":
			replicas = max(replicas, number(t, object, "spec", "minReplicas"))
		case "PodDisruptionBudget":
			budget = object.GetName()
		}
	}
	if deployment == nil {
		t.Fatal("it has no Deployment")
	}
	eventually(t, "it is rolled out", func(ctx context.Context) error {
		return c.available(ctx, namespace, deployment.GetName(), int32(replicas))
	})
	if budget != "" {
		eventually(t, "the budget lets one replica be moved", func(ctx context.Context) error {
			b, err := c.typed.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, budget, metav1.GetOptions{})
			if err == nil && b.Status.DisruptionsAllowed != 1 {
				err = fmt.Errorf("it allows %d of %d", b.Status.DisruptionsAllowed, b.Status.ExpectedPods)
			}
			return err
		})
	}
	t.Logf("%d objects taken, %d replicas available after %s", len(objects), replicas, time.Since(began).Round(time.Millisecond))

	now, err := c.typed.AppsV1().Deployments(namespace).Get(t.Context(), deployment.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.applyAll(t.Context(), namespace, deploy.Documents(o.Rendered)); err != nil {
		t.Errorf("once more: %v", err)
	}
	after, err := c.typed.AppsV1().Deployments(namespace).Get(t.Context(), deployment.GetName(), metav1.GetOptions{})
	if err != nil || after.Generation != now.Generation {
		t.Errorf("once more it changes the Deployment from generation %d to %d (%v)", now.Generation, after.Generation, err)
	}
	if said := c.warnings.taken(); len(said) > 0 {
		t.Errorf("the API server warns: %s", strings.Join(said, "\n"))
	}
}

func number(t *testing.T, object *unstructured.Unstructured, fields ...string) int64 {
	t.Helper()
	n, found, err := unstructured.NestedInt64(object.Object, fields...)
	if err != nil || !found {
		t.Fatalf("%s has no number %v: %v", object.GetKind(), fields, err)
	}
	return n
}

// render renders the chart with values.
func render(t *testing.T, values string) []string {
	t.Helper()
	c, err := deploy.Load(clone)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := deploy.Render(t.Context(), c, values)
	if err != nil {
		t.Fatalf("%s: %v", values, err)
	}
	return deploy.Documents(rendered)
}

// aRolloutKeepsEveryReplica changes a Deployment's pods and watches the rollout.
func aRolloutKeepsEveryReplica(t *testing.T, c *cluster) {
	t.Helper()
	const namespace, replicas = "rollout", 3
	c.restricted(t, namespace)
	if _, err := c.applyAll(t.Context(), namespace, render(t, "replicaCount: 3")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is rolled out", func(ctx context.Context) error {
		return c.available(ctx, namespace, deploy.Release, replicas)
	})
	watched, err := c.typed.AppsV1().Deployments(namespace).Watch(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []int32, 1)
	go func() {
		var available []int32
		for event := range watched.ResultChan() {
			if d, ok := event.Object.(*apps.Deployment); ok {
				available = append(available, d.Status.AvailableReplicas)
			}
		}
		seen <- available
	}()
	began := time.Now()
	if _, err := c.applyAll(t.Context(), namespace, render(t, "replicaCount: 3\nimage: {tag: 0.2.0}")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next one is rolled out", func(ctx context.Context) error {
		return c.available(ctx, namespace, deploy.Release, replicas)
	})
	t.Logf("%d replicas replaced after %s", replicas, time.Since(began).Round(time.Millisecond))
	watched.Stop()
	available := <-seen
	if len(available) < replicas || slices.Min(available) < replicas {
		t.Errorf("the replicas that were available from moment to moment are %v, never less than %d wanted", available, replicas)
	}
}
