package harness

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"kbench/results"
)

// headline gathers the values of a workload's headline metric for people to
// watch. What a report says is summed up from the run folder.
type headline struct {
	metric string
	unit   results.Unit
	hist   *hdrhistogram.Histogram
	max    float64
}

// newHeadline picks the first metric of the catalogue that the kind of
// workload measures; without one it takes no values.
func newHeadline(kind string) headline {
	for _, m := range results.Metrics() {
		if m.Workload == kind {
			return headline{
				metric: m.Name + "." + m.Headline, unit: m.Unit,
				hist: hdrhistogram.New(1, int64(time.Hour), 3),
			}
		}
	}
	return headline{}
}

// perUnit scales a rate so that its fractions survive in whole numbers.
func (h *headline) perUnit() float64 {
	if h.unit == results.PerSecond {
		return 1000
	}
	return 1
}

func (h *headline) add(metric string, v float64) {
	if h.hist == nil || metric != h.metric || math.IsNaN(v) {
		return
	}
	h.max = max(h.max, v)
	at := min(max(v*h.perUnit(), 1), float64(h.hist.HighestTrackableValue()))
	_ = h.hist.RecordValue(int64(at)) // in range by the line above
}

func (h *headline) sum() Headline {
	if h.hist == nil {
		return Headline{}
	}
	s := Headline{Metric: h.metric, Unit: h.unit, N: h.hist.TotalCount(), Max: h.max, P99: math.NaN()}
	if s.N == 0 {
		return s
	}
	// The histogram gives the upper end of a bucket, which may lie over the max.
	s.P50 = min(float64(h.hist.ValueAtQuantile(50))/h.perUnit(), h.max)
	if results.Supports(s.N, 99) {
		s.P99 = min(float64(h.hist.ValueAtQuantile(99))/h.perUnit(), h.max)
	}
	return s
}
