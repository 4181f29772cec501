package results

import (
	"encoding/json"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// distributionJSON is a distribution in one line of text: the histogram as
// every HdrHistogram library reads it, and what it has no room for.
type distributionJSON struct {
	V2    string `json:"v2"` // HdrHistogram V2, deflated, base64
	Below int64  `json:"below,omitempty"`
	Above int64  `json:"above,omitempty"`
	Min   int64  `json:"min"` // exact, ns; 0 where there is no value
	Max   int64  `json:"max"`
}

// MarshalJSON keeps every count and the exact extremes.
func (d *Distribution) MarshalJSON() ([]byte, error) {
	text, err := d.hist.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encode a histogram: %w", err)
	}
	out := distributionJSON{V2: string(text), Below: d.below, Above: d.above}
	if d.Count() > 0 {
		out.Min, out.Max = d.min, d.max
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Distribution) UnmarshalJSON(b []byte) error {
	var in distributionJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	h, err := hdrhistogram.Decode([]byte(in.V2))
	if err != nil {
		return fmt.Errorf("decode a histogram: %w", err)
	}
	read := NewDistribution()
	if dropped := read.hist.Merge(h); dropped != 0 {
		return fmt.Errorf("decode a histogram: %d values lie outside the range of %v to %v", dropped, LowestLatency, HighestLatency)
	}
	read.below, read.above = in.Below, in.Above
	switch n := read.Count(); {
	case in.Below < 0 || in.Above < 0:
		return fmt.Errorf("a histogram counts %d values below and %d above its range", in.Below, in.Above)
	case n > 0 && in.Min > in.Max:
		return fmt.Errorf("a histogram has the minimum %d over the maximum %d", in.Min, in.Max)
	case n > 0:
		read.min, read.max = in.Min, in.Max
	}
	*d = *read
	return nil
}
