package deploy

import (
	"os"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// bundle is a rendering, parsed.
type bundle struct {
	Option
	objects    []runtime.Object
	deployment *apps.Deployment
	pod        core.PodSpec
	// containers has the gateway's container first, then the sidecars.
	containers []core.Container
}

func bundles(t *testing.T) []bundle {
	t.Helper()
	var all []bundle
	for _, o := range options(t) {
		b := bundle{Option: o, objects: objects(t, o)}
		for _, object := range b.objects {
			if d, ok := object.(*apps.Deployment); ok {
				b.deployment, b.pod = d, d.Spec.Template.Spec
				b.containers = append(slices.Clone(b.pod.Containers), b.pod.InitContainers...)
			}
		}
		if b.deployment == nil {
			t.Fatalf("%s: no Deployment", o.Name)
		}
		all = append(all, b)
	}
	return all
}

// has reports whether an object is part of the bundle or is declared as existing
// outside.
func (b *bundle) has(t *testing.T, kind, name string) bool {
	t.Helper()
	if slices.Contains(b.Outside, kind+"/"+name) {
		return true
	}
	for _, object := range b.objects {
		m, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		if object.GetObjectKind().GroupVersionKind().Kind == kind && m.GetName() == name {
			return true
		}
	}
	return false
}

// named returns the objects that the pod needs, as Kind/name.
func (b *bundle) named() []string {
	names := []string{"ServiceAccount/" + b.pod.ServiceAccountName}
	for _, s := range b.pod.ImagePullSecrets {
		names = append(names, "Secret/"+s.Name)
	}
	source := func(configMap *core.LocalObjectReference, secret *core.LocalObjectReference) {
		if configMap != nil {
			names = append(names, "ConfigMap/"+configMap.Name)
		}
		if secret != nil {
			names = append(names, "Secret/"+secret.Name)
		}
	}
	for _, v := range b.pod.Volumes {
		if v.ConfigMap != nil {
			source(&v.ConfigMap.LocalObjectReference, nil)
		}
		if v.Secret != nil {
			source(nil, &core.LocalObjectReference{Name: v.Secret.SecretName})
		}
		if v.PersistentVolumeClaim != nil {
			names = append(names, "PersistentVolumeClaim/"+v.PersistentVolumeClaim.ClaimName)
		}
		if v.Projected == nil {
			continue
		}
		for _, p := range v.Projected.Sources {
			if p.ConfigMap != nil {
				source(&p.ConfigMap.LocalObjectReference, nil)
			}
			if p.Secret != nil {
				source(nil, &p.Secret.LocalObjectReference)
			}
		}
	}
	for _, c := range b.containers {
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
				source(&r.LocalObjectReference, nil)
			}
			if r := e.ValueFrom.SecretKeyRef; r != nil {
				source(nil, &r.LocalObjectReference)
			}
		}
	}
	return names
}

func TestK3_WhatThePodNeedsIsThere(t *testing.T) {
	for _, b := range bundles(t) {
		needed := b.named()
		for _, n := range needed {
			kind, name, _ := strings.Cut(n, "/")
			if !b.has(t, kind, name) {
				t.Errorf("%s: %s is neither rendered nor said to be outside", b.Name, n)
			}
		}
		for _, n := range b.Outside {
			if !slices.Contains(needed, n) {
				t.Errorf("%s: %s is said to be outside, and nobody needs it", b.Name, n)
			}
		}
	}
}

// hasPort reports whether a container has a port of that name.
func (b *bundle) hasPort(name string) bool {
	for _, c := range b.containers {
		if slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == name }) {
			return true
		}
	}
	return false
}

func TestK3_PortsThatAreNamedAreThere(t *testing.T) {
	for _, b := range bundles(t) {
		for _, c := range b.containers {
			for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
				if probe == nil || probe.HTTPGet == nil {
					continue
				}
				if port := probe.HTTPGet.Port.StrVal; !slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == port }) {
					t.Errorf("%s: a probe of %s asks at the port %q, which the container does not have", b.Name, c.Name, port)
				}
			}
		}
		for _, object := range b.objects {
			switch object := object.(type) {
			case *core.Service:
				for _, p := range object.Spec.Ports {
					if !b.hasPort(p.TargetPort.StrVal) {
						t.Errorf("%s: Service %s leads to the port %q, which nobody has", b.Name, object.Name, p.TargetPort.StrVal)
					}
				}
			case *monitoring.PodMonitor:
				for _, e := range object.Spec.PodMetricsEndpoints {
					if e.Port == nil || !b.hasPort(*e.Port) {
						t.Errorf("%s: the PodMonitor scrapes a port that nobody has", b.Name)
					}
				}
			case *monitoring.ServiceMonitor:
				b.checkServiceMonitor(t, object)
			}
		}
	}
}

// checkServiceMonitor checks that a Service matches the monitor's selectors.
func (b *bundle) checkServiceMonitor(t *testing.T, m *monitoring.ServiceMonitor) {
	t.Helper()
	for _, e := range m.Spec.Endpoints {
		found := slices.ContainsFunc(b.objects, func(object runtime.Object) bool {
			s, ok := object.(*core.Service)
			return ok && labels.SelectorFromSet(m.Spec.Selector.MatchLabels).Matches(labels.Set(s.Labels)) &&
				slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == e.Port })
		})
		if !found {
			t.Errorf("%s: no Service has the labels and the port %q of the ServiceMonitor", b.Name, e.Port)
		}
	}
}

func TestK3_EverySelectorFindsThePod(t *testing.T) {
	for _, b := range bundles(t) {
		pod := labels.Set(b.deployment.Spec.Template.Labels)
		if !labels.SelectorFromSet(b.deployment.Spec.Selector.MatchLabels).Matches(pod) {
			t.Errorf("%s: the Deployment does not select its pods", b.Name)
		}
		for _, object := range b.objects {
			if s, ok := object.(*core.Service); ok && !labels.SelectorFromSet(s.Spec.Selector).Matches(pod) {
				t.Errorf("%s: Service %s does not select the pods", b.Name, s.Name)
			}
		}
	}
}

func TestK3_EveryMountHasItsVolume(t *testing.T) {
	for _, b := range bundles(t) {
		mounted := map[string]bool{}
		for _, c := range b.containers {
			for _, m := range c.VolumeMounts {
				mounted[m.Name] = true
				if !slices.ContainsFunc(b.pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
					t.Errorf("%s: %s mounts %s, which is no volume", b.Name, c.Name, m.Name)
				}
			}
		}
		for _, v := range b.pod.Volumes {
			if !mounted[v.Name] {
				t.Errorf("%s: nobody mounts the volume %s", b.Name, v.Name)
			}
		}
	}
}

func TestK4_NothingIsMountedBySubPath(t *testing.T) {
	for _, b := range bundles(t) {
		for _, c := range b.containers {
			for _, m := range c.VolumeMounts {
				if m.SubPath != "" || m.SubPathExpr != "" {
					t.Errorf("%s: %s mounts %s by a subPath, which never changes", b.Name, c.Name, m.MountPath)
				}
			}
		}
	}
}

func TestK5_NoContainerCanDoMoreThanItMust(t *testing.T) {
	for _, b := range bundles(t) {
		if on := b.pod.AutomountServiceAccountToken; on == nil || *on {
			t.Errorf("%s: the pod is given a token of its service account", b.Name)
		}
		for _, object := range b.objects {
			if a, ok := object.(*core.ServiceAccount); ok && (a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken) {
				t.Errorf("%s: the service account hands out its token", b.Name)
			}
		}
		if on := b.pod.EnableServiceLinks; on == nil || *on {
			t.Errorf("%s: the environment has the address of every Service", b.Name)
		}
		if p := b.pod.SecurityContext.SeccompProfile; p == nil || p.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: no seccomp profile", b.Name)
		}
		for _, c := range b.containers {
			s := c.SecurityContext
			if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
				s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
				s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
				t.Errorf("%s: %s may do more than it must: %+v", b.Name, c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: %s has no limit of memory, or asks for no processor", b.Name, c.Name)
			}
		}
	}
}

func TestK6_VariablesAreOnesThatTheGatewayKnows(t *testing.T) {
	settings, err := os.ReadFile(clone + "/cmd/gateway/settings.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bundles(t) {
		for _, e := range b.containers[0].Env {
			if short, ours := strings.CutPrefix(e.Name, "HOOKGATE_"); ours && !strings.Contains(string(settings), `env:"`+short+`"`) {
				t.Errorf("%s: %s is no variable of the gateway", b.Name, e.Name)
			}
		}
	}
}

// gone returns how long a replica takes to stop, according to its variables and
// its preStop hook.
func (b *bundle) gone(t *testing.T) (delay, drain int64) {
	t.Helper()
	c := b.containers[0]
	for _, e := range c.Env {
		switch e.Name {
		case "HOOKGATE_DRAIN_DELAY":
			delay = seconds(t, e.Value)
		case "HOOKGATE_DRAIN_TIMEOUT":
			drain = seconds(t, e.Value)
		}
	}
	if c.Lifecycle != nil {
		delay += c.Lifecycle.PreStop.Sleep.Seconds
	}
	return delay, drain
}

func TestAReplicaHasTimeToDrainBeforeItIsKilled(t *testing.T) {
	for _, b := range bundles(t) {
		delay, drain := b.gone(t)
		if delay < 1 || drain < 1 {
			t.Errorf("%s: callers are given %d s to hear that a replica goes, and %d s to be answered", b.Name, delay, drain)
		}
		if *b.pod.TerminationGracePeriodSeconds <= delay+drain {
			t.Errorf("%s: killed after %d s, needs %d", b.Name, *b.pod.TerminationGracePeriodSeconds, delay+drain)
		}
	}
}

func TestASidecarIsThereAsLongAsTheGateway(t *testing.T) {
	var sidecars int
	for _, b := range bundles(t) {
		for _, c := range b.pod.InitContainers {
			sidecars++
			if c.RestartPolicy == nil || *c.RestartPolicy != core.ContainerRestartPolicyAlways {
				t.Errorf("%s: %s ends before the gateway starts", b.Name, c.Name)
			}
		}
		if len(b.pod.Containers) != 1 {
			t.Errorf("%s: a container beside the gateway is told to stop with it", b.Name)
		}
	}
	if sidecars == 0 {
		t.Error("no values have a sidecar")
	}
}
