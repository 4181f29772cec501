package history

import (
	"bytes"
	"encoding/json"
	"fmt"

	"kbench/results"
)

// Histogram is a distribution as a line holds it. A history has thousands of
// them, each of which takes 270 KB when it is unpacked.
type Histogram struct {
	packed json.RawMessage
}

func pack(d *results.Distribution) (*Histogram, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("pack a histogram: %w", err)
	}
	return &Histogram{b}, nil
}

// Distribution unpacks the histogram. It is an error where the line was
// damaged.
func (h *Histogram) Distribution() (*results.Distribution, error) {
	d := results.NewDistribution()
	if err := json.Unmarshal(h.packed, d); err != nil {
		return nil, err
	}
	return d, nil
}

// MarshalJSON writes what was read.
func (h *Histogram) MarshalJSON() ([]byte, error) { return h.packed, nil }

// UnmarshalJSON keeps the text.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	h.packed = bytes.Clone(b)
	return nil
}
