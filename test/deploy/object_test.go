package deploy

import (
	"testing"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// decoder decodes objects strictly: unknown and duplicate fields are errors.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoring.AddToScheme, certmanager.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
}

// objects returns the objects of a rendering (K2).
func objects(t *testing.T, o Option) []runtime.Object {
	t.Helper()
	d := decoder(t)
	var all []runtime.Object
	for _, text := range Documents(o.Rendered) {
		object, _, err := d.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Errorf("%s: %v:\n%s", o.Name, err, text)
			continue
		}
		all = append(all, object)
	}
	return all
}

func TestK2_EveryObjectDecodesStrictlyAsItsType(t *testing.T) {
	for _, o := range options(t) {
		if len(objects(t, o)) < 4 {
			t.Errorf("%s renders next to nothing", o.Name)
		}
	}
}

func TestK2_AMisspeltFieldWouldBeFound(t *testing.T) {
	_, _, err := decoder(t).Decode([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {prots: []}\n"), nil, nil)
	if err == nil {
		t.Error("spec.prots of a Service is taken for something")
	}
}
