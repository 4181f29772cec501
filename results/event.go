package results

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Event is one line of events.jsonl: what the harness did or saw. It is the
// raw truth of a run; figures are derived from it.
type Event struct {
	MonoNs   int64          `json:"monoNs"` // CLOCK_MONOTONIC
	Wall     time.Time      `json:"wall"`
	Cell     string         `json:"cell,omitempty"`
	Repeat   int            `json:"repeat,omitempty"`
	Workload string         `json:"workload,omitempty"`
	Trial    int            `json:"trial,omitempty"`
	Kind     string         `json:"kind"` // dotted, such as fault.injected
	Node     string         `json:"node,omitempty"`
	Data     map[string]any `json:"data,omitempty"`
}

// maxLine bounds one line of a JSONL file on reading.
const maxLine = 16 << 20

// eachLine decodes the lines of a JSONL file one by one.
func eachLine[T any](r io.Reader, f func(T) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var v T
		err := json.Unmarshal(sc.Bytes(), &v)
		if err == nil {
			err = f(v)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return sc.Err()
}

// readLines decodes a JSONL file into values, one per line.
func readLines[T any](r io.Reader) (out []T, err error) {
	err = eachLine(r, func(v T) error {
		out = append(out, v)
		return nil
	})
	return out, err
}
