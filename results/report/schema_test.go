package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf describes a type as encoding/json writes it. Structs become
// definitions; only fields that are always written are required, and fields of
// later versions are allowed.
func schemaOf(t reflect.Type, defs map[string]any) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t.Elem(), defs), map[string]any{"type": "null"}}}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		out := map[string]any{"type": "array", "items": schemaOf(t.Elem(), defs)}
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	case reflect.Map:
		out := map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), defs)}
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return map[string]any{"type": "string", "format": "date-time"}
		}
		name := t.String() // with its package: two have a Comparison
		if _, ok := defs[name]; !ok {
			defs[name] = nil // a type may hold itself
			defs[name] = structSchema(t, defs)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	default: // integers
		return map[string]any{"type": "integer"}
	}
}

func structSchema(t reflect.Type, defs map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		properties[name] = schemaOf(f.Type, defs)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// TestSchema keeps the documented contract and the struct the same, and the
// reports within it.
func TestSchema(t *testing.T) {
	defs := map[string]any{}
	root := schemaOf(reflect.TypeFor[Report](), defs)
	properties := defs["report.Report"].(map[string]any)["properties"].(map[string]any)
	properties["format"] = map[string]any{"const": "kbench-report"}
	properties["schemaVersion"] = map[string]any{"const": SchemaVersion}
	root["$schema"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", defs
	root["title"], root["description"] = "kbench report", "report.json of a run folder. Durations are nanoseconds, rates per second. Fields are added within a schema version, never changed in meaning."
	want, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *rewrite {
		if err := os.WriteFile("report.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		schema = want
	}
	if !bytes.Equal(Schema(), want) {
		t.Error("report.schema.json is not that of Report; run with -rewrite, and raise SchemaVersion where a meaning changed")
	}
	checkAgainstSchema(t, mustJSON(t, mustReport(t, mustOpen(t, comparison(t)))))
	folders, err := filepath.Glob("../testdata/readme/*/manifest.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no real run folder: %v", err)
	}
	checkAgainstSchema(t, mustJSON(t, mustReport(t, mustOpen(t, filepath.Dir(folders[0])))))
}

func mustJSON(t *testing.T, rep *Report) []byte {
	t.Helper()
	b, err := rep.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func checkAgainstSchema(t *testing.T, b []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); err != nil {
		t.Error(err)
	}
}
