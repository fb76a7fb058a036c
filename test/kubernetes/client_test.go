package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// all selects everything.
var all = metav1.ListOptions{}

// client is the API server's administrator.
type client struct {
	typed    *kubernetes.Clientset
	dynamic  dynamic.Interface
	mapper   meta.ResettableRESTMapper // as discovered from the API server
	warnings *warnings
}

// warnings collects the API server's warnings.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader records a warning.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// taken returns the warnings since its last call.
func (w *warnings) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

func newClient(t *testing.T, config *rest.Config) *client {
	t.Helper()
	c := &client{warnings: &warnings{}}
	config.WarningHandler = c.warnings
	var err error
	if c.typed, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.typed.Discovery()))
	return c
}

func named(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: labels}
}

// place returns the resource interface for a kind.
func (c *client) place(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.dynamic.Resource(mapping.Resource), nil
	}
	return c.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// apply applies the text of one object unchanged, with strict validation.
func (c *client) apply(ctx context.Context, namespace, text string, dryRun ...string) (*unstructured.Unstructured, error) {
	var head metav1.PartialObjectMetadata
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return nil, err
	}
	place, err := c.place(head.GroupVersionKind(), namespace)
	if err != nil {
		return nil, err
	}
	return place.Patch(ctx, head.Name, types.ApplyPatchType, []byte(text), metav1.PatchOptions{
		FieldManager: "chart", FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	})
}

// applyAll applies texts and returns the resulting objects. Deployments come
// last, as with helm and kustomize, because their pods need the others.
func (c *client) applyAll(ctx context.Context, namespace string, texts []string, dryRun ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var failed error
	last := func(text string) int { return strings.Count(text, "\nkind: Deployment\n") }
	texts = slices.SortedStableFunc(slices.Values(texts), func(a, b string) int { return last(a) - last(b) })
	for _, text := range texts {
		object, err := c.apply(ctx, namespace, text, dryRun...)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		objects = append(objects, object)
	}
	return objects, failed
}

// create creates an object.
func (c *client) create(t *testing.T, namespace string, object runtime.Object) {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	place, err := c.place(kinds[0], namespace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Create(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("%s: %v", kinds[0].Kind, err)
	}
}

// available returns an error unless a Deployment is rolled out with that many
// replicas.
func (c *client) available(ctx context.Context, namespace, name string, replicas int32) error {
	d, err := c.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	s := d.Status
	if s.ObservedGeneration == d.Generation && s.UpdatedReplicas == replicas && s.Replicas == replicas && s.AvailableReplicas == replicas {
		return nil
	}
	var why []string
	for _, condition := range s.Conditions {
		why = append(why, fmt.Sprintf("%s=%s: %s", condition.Type, condition.Status, condition.Message))
	}
	pods, err := c.typed.CoreV1().Pods(namespace).List(ctx, all)
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Status != core.ConditionTrue {
				why = append(why, fmt.Sprintf("%s %s=%s: %s", pod.Name, condition.Type, condition.Status, condition.Message))
			}
		}
	}
	slices.Sort(why)
	return fmt.Errorf("%d replicas, %d updated, %d available, want %d: %s", s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, replicas, strings.Join(why, "; "))
}
