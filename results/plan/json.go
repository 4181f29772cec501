package plan

import (
	"encoding/json"
	"strings"

	"kbench/results"
)

// markdownCode is a code span that holds s, backticks and all (CommonMark,
// section 6.1: the fence is longer than any run inside).
func markdownCode(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence != "`" {
		return fence + " " + results.OneLine(s) + " " + fence
	}
	return fence + results.OneLine(s) + fence
}

// JSON is the plan as documented by its types.
func (p *Plan) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(p, "", "  ")
	return append(b, '\n'), err
}
