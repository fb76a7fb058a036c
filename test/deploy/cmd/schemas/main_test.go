package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const swagger = `{"definitions": {
  "io.k8s.api.apps.v1.Deployment": {
    "type": "object", "x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}],
    "properties": {"spec": {"$ref": "#/definitions/Spec"}}},
  "Spec": {"type": "object", "properties": {"self": {"items": {"$ref": "#/definitions/Spec"}}, "q": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity"}}},
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
  "Options": {"x-kubernetes-group-version-kind": [{"group": "", "kind": "DeleteOptions", "version": "v1"}, {"group": "apps", "kind": "DeleteOptions", "version": "v1"}]},
  "Unused": {"type": "object"}
}}`

func TestASchemaHasWhatItsKindNeedsAndNoRoomForMore(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "swagger.json")
	if err := os.WriteFile(from, []byte(swagger), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := write(from, dir)
	if err != nil || n != 1 {
		t.Fatalf("wrote %d schemas: %v", n, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "deployment-apps-v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Definitions map[string]map[string]any }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	rooms := map[string]any{}
	for name, d := range got.Definitions {
		rooms[name] = d["additionalProperties"]
	}
	want := map[string]any{"io.k8s.api.apps.v1.Deployment": false, "Spec": false, "io.k8s.apimachinery.pkg.api.resource.Quantity": nil}
	if diff := cmp.Diff(want, rooms); diff != "" {
		t.Errorf("types and their room for other fields (-want +got):\n%s", diff)
	}
}

func TestAFileThatDescribesNothingIsAnError(t *testing.T) {
	from := filepath.Join(t.TempDir(), "swagger.json")
	for _, text := range []string{"{", "{}"} {
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := write(from, t.TempDir()); err == nil {
			t.Errorf("%s is taken for a description", text)
		}
	}
	if _, err := write(from+".absent", t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}
