package spec

import (
	"encoding/json"
	"strings"
)

// Patterns of scalars in the schema; the decoder's parse functions are the
// truth, a test keeps them equal.
const (
	countPattern     = `^(0|[1-9](_?[0-9])*)[kM]?$`
	durationPattern  = `^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	ratePattern      = `^[0-9_]+(\.[0-9]+)?/[smh]$`
	thresholdPattern = `^([^:<>]+:)?[^<>]+(<|<=|>|>=)[^<>=]+$`
)

// object is a JSON Schema node.
type object = map[string]any

// Schema is the JSON Schema (draft 2020-12) of a spec, for editors: shapes,
// names, units. Contradictions between values are the decoder's alone.
func Schema() []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema()); err != nil {
		panic("spec: schema: " + err.Error())
	}
	return []byte(b.String())
}

func schema() object {
	top := object{
		"name":    object{"type": "string", "minLength": 1, "maxLength": maxName, "description": "names the run folder and reports"},
		"targets": listOf(object{"type": "string", "pattern": targetPattern}, 20, true, "what is measured side by side"),
		"cluster": closed(clusterProperties(), "shape of each cluster"),
		"set":     object{"type": "object", "description": "settings of every cell, by dotted path", "properties": settingProperties(false), "additionalProperties": object{"type": "object"}},
		"sweep":   object{"type": "object", "description": "axes: each combination of values is a cell", "properties": settingProperties(true), "additionalProperties": false},
		"workloads": listOf(object{"oneOf": workloadSchemas()}, 50, false,
			"what is done to each cell, in this order"),
		"faults": timelineSchema(),
		"variants": listOf(closed(object{
			"name": object{"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
			"set":  object{"type": "object", "properties": settingProperties(false), "additionalProperties": object{"type": "object"}},
			"only": object{"type": "object", "properties": settingProperties(true), "additionalProperties": false, "description": "points of the sweep at which it is measured; left out, all"},
		}, "a named change of settings", "name", "set"), maxVariants, false, "cells beside the base"),
		"thresholds": listOf(object{"type": "string", "pattern": thresholdPattern}, 200, false, "bounds of a valid run, such as kraft: recovery.controller.median < 4s"),
		"trials":     described(countSchema(1, maxTrials), "injected events of each workload and cell"),
		"repeats":    described(countSchema(1, maxRepeats), "times that each cell is run on a new cluster"),
		"retries":    described(countSchema(0, maxRetries), "times that an invalid cell is run again on a new cluster; what was invalid is kept and not counted"),
		"seed":       described(countSchema(0, 1<<62), "of everything random"),
		"attach":     attachSchema(),
		"provider":   object{"enum": []string{string(ProviderAuto), string(ProviderProcess), string(ProviderDocker)}, "description": "where nodes run"},
	}
	out := closed(top, "A kbench spec: which clusters are built and what is measured on them.", "workloads")
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = "kbench spec"
	return out
}

func closed(properties object, doc string, required ...string) object {
	out := object{"type": "object", "properties": properties, "additionalProperties": false, "description": doc}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func listOf(item object, most int, unique bool, doc string) object {
	out := object{"type": "array", "items": item, "minItems": 1, "maxItems": most, "description": doc}
	if unique {
		out["uniqueItems"] = true
	}
	return out
}

func described(o object, doc string) object {
	o["description"] = doc
	return o
}

func countSchema(lo, hi float64) object {
	return object{"anyOf": []object{
		{"type": "integer", "minimum": lo, "maximum": hi},
		{"type": "string", "pattern": countPattern},
	}}
}

// schemaOf is the schema of one scalar.
func schemaOf[T any](p param[T]) object {
	var out object
	switch p.kind {
	case kindCount:
		out = countSchema(p.min, p.max)
	case kindControllers:
		out = countSchema(p.min, p.max)
		out["anyOf"] = append(out["anyOf"].([]object), object{"const": "colocated"})
	case kindDuration:
		out = object{"type": "string", "pattern": durationPattern}
	case kindRate:
		out = object{"type": "string", "pattern": ratePattern}
	case kindBool:
		out = object{"type": "boolean"}
	case kindEnum:
		out = object{"enum": enumValues(p.enum)}
	case kindText:
		out = object{"type": "string"}
	}
	doc := p.doc
	if p.kind == kindDuration || p.kind == kindRate || p.kind == kindCount {
		doc += " (" + p.format(p.min) + " to " + p.format(p.max) + ")"
	}
	return described(out, doc)
}

// enumValues lets numbers be written with and without quotes.
func enumValues(names []string) []any {
	var out []any
	for _, n := range names {
		out = append(out, n)
		if v, err := parseCount(n); err == nil {
			out = append(out, v)
		}
	}
	return out
}

func clusterProperties() object {
	out := object{}
	for _, s := range settings {
		if name, ok := strings.CutPrefix(s.path, "cluster."); ok {
			out[name] = schemaOf(s)
		}
	}
	return out
}

// settingProperties lists settings by dotted path and by short form. A nested
// mapping is let through by the schema and judged by the decoder.
func settingProperties(list bool) object {
	out := object{}
	for _, s := range settings {
		one := schemaOf(s)
		if list {
			one = listOf(one, maxAxis, true, s.doc)
		}
		out[s.path] = one
		if name, ok := strings.CutPrefix(s.path, "cluster."); ok {
			out[name] = one
		}
	}
	return out
}

func workloadSchemas() []object {
	var out []object
	for _, k := range workloadKinds {
		properties := object{"kind": object{"const": k.name}}
		for _, p := range k.params {
			head, name, nested := strings.Cut(p.path, ".")
			if !nested {
				properties[p.path] = schemaOf(p)
				continue
			}
			if properties[head] == nil {
				properties[head] = closed(object{}, head)
			}
			properties[head].(object)["properties"].(object)[name] = schemaOf(p)
		}
		out = append(out, closed(properties, k.doc, "kind"))
	}
	return out
}
