// Command schemas generates JSON schemas of the kinds of Kubernetes, one file
// each, from the API description in the module k8s.io/kubernetes. With them
// kubeconform needs no network. The schemas permit no fields that are not
// described.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	from := flag.String("from", "", "the file api/openapi-spec/swagger.json")
	to := flag.String("to", "", "the directory to write to")
	flag.Parse()
	n, err := write(*from, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
	fmt.Printf("schemas of %d kinds\n", n)
}

// definitions maps the names of types to their schemas.
type definitions map[string]map[string]any

func write(from, to string) (int, error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return 0, err
	}
	var api struct{ Definitions definitions }
	if err := json.Unmarshal(text, &api); err != nil {
		return 0, fmt.Errorf("%s: %w", from, err)
	}
	for name, d := range api.Definitions {
		api.Definitions[name] = strict(name, d)
	}
	written := 0
	for name, d := range api.Definitions {
		for _, file := range kinds(d) {
			schema, err := json.Marshal(map[string]any{
				"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/" + name,
				"definitions": api.Definitions.reachable(name),
			})
			if err != nil {
				return 0, err
			}
			if err := os.WriteFile(filepath.Join(to, file), schema, 0o600); err != nil {
				return 0, err
			}
			written++
		}
	}
	if written == 0 {
		return 0, fmt.Errorf("%s describes no kind", from)
	}
	return written, nil
}

// strict returns a type that permits no additional fields. Two types deviate
// from their description: a quantity may also be a number, and an int-or-string
// is either.
func strict(name string, d map[string]any) map[string]any {
	switch {
	case strings.HasSuffix(name, ".resource.Quantity"):
		return map[string]any{"type": []string{"string", "number"}}
	case strings.HasSuffix(name, ".intstr.IntOrString"):
		return map[string]any{"type": []string{"string", "integer"}}
	}
	if _, ok := d["properties"]; ok {
		d["additionalProperties"] = false
	}
	return d
}

// kinds returns the names of the files in which kubeconform looks for a type.
func kinds(d map[string]any) []string {
	list, _ := d["x-kubernetes-group-version-kind"].([]any)
	if len(list) != 1 { // a type of many groups, like DeleteOptions, is not an object
		return nil
	}
	k, _ := list[0].(map[string]any)
	kind, _ := k["kind"].(string)
	group, _ := k["group"].(string)
	version, _ := k["version"].(string)
	name := strings.ToLower(kind) + "-"
	if group != "" {
		group, _, _ = strings.Cut(group, ".")
		name += strings.ToLower(group) + "-"
	}
	return []string{name + strings.ToLower(version) + ".json"}
}

// reachable returns the types that a type needs, including itself.
func (all definitions) reachable(name string) definitions {
	found := definitions{}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if reference, ok := value["$ref"].(string); ok {
				name := strings.TrimPrefix(reference, "#/definitions/")
				if _, seen := found[name]; !seen {
					found[name] = all[name]
					visit(all[name])
				}
			}
			for _, inner := range value {
				visit(inner)
			}
		case []any:
			for _, inner := range value {
				visit(inner)
			}
		}
	}
	visit(map[string]any{"$ref": "#/definitions/" + name})
	return found
}
