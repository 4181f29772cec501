package report

import (
	_ "embed"
	"slices"
)

//go:embed report.schema.json
var schema []byte

// Schema is the JSON Schema of report.json (draft 2020-12).
func Schema() []byte { return slices.Clone(schema) }
