package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"kbench/results"
)

// Curve is a phase's distribution by percentile, where it has a histogram.
type Curve struct {
	Cell     string       `json:"cell"`
	Workload string       `json:"workload"`
	Metric   string       `json:"metric"`
	Phase    string       `json:"phase"`
	N        int64        `json:"n"`
	Points   []CurvePoint `json:"points"` // by rising percentile; the last is the maximum
}

// CurvePoint is one percentile of a Curve.
type CurvePoint struct {
	Percentile float64 `json:"percentile"` // 0 for the minimum, 100 for the maximum
	Value      float64 `json:"value"`      // ns
	Supported  bool    `json:"supported"`  // n values can describe this percentile
}

// BrokerFigure is how long changes took to be served by one broker.
type BrokerFigure struct {
	Cell        string             `json:"cell"`
	Workload    string             `json:"workload"`
	Broker      string             `json:"broker"`
	N           int64              `json:"n"`
	Min         float64            `json:"min"` // ns, as all that follow
	Median      float64            `json:"median"`
	Max         float64            `json:"max"`
	Percentiles map[string]float64 `json:"percentiles,omitempty"` // p99: value, those that n supports
}

// curvePercentiles are those of a curve, denser towards the tail: four in each
// halving of what lies above, down to one in a million.
var curvePercentiles = func() []float64 {
	out := []float64{}
	for i := 1.0; i <= 80; i++ {
		out = append(out, 100*(1-math.Exp2(-i/4)))
	}
	return append(out, 90, 95, 99, 99.9, 99.99)
}()

// takeHistogram makes a curve, or what one broker took.
func (rep *Report) takeHistogram(h results.Histogram) error {
	if h.Dist.Count() == 0 {
		return nil
	}
	if broker, ok := strings.CutPrefix(h.Tag, "broker."); ok && h.Metric == "propagation" {
		rep.Brokers = append(rep.Brokers, brokerFigure(h, broker))
		return nil
	}
	if m, phase, err := results.FindMetric(h.Metric + "." + h.Tag); err == nil && m.Unit == results.Nanoseconds {
		rep.Curves = append(rep.Curves, curve(h, phase))
	}
	return nil
}

func curve(h results.Histogram, phase string) Curve {
	c := Curve{Cell: h.Cell, Workload: h.Workload, Metric: h.Metric, Phase: phase, N: h.Dist.Count()}
	lo, _ := h.Dist.Min()
	hi, _ := h.Dist.Max()
	c.Points = append(c.Points, CurvePoint{0, float64(lo), true})
	for _, p := range slices.Sorted(slices.Values(curvePercentiles)) {
		// Above this only the greatest value is left.
		if (100-p)/100*float64(c.N) < 1 {
			break
		}
		v, _ := h.Dist.Quantile(p)
		c.Points = append(c.Points, CurvePoint{p, float64(v), results.Supports(c.N, p)})
	}
	c.Points = append(c.Points, CurvePoint{100, float64(hi), false})
	return c
}

func brokerFigure(h results.Histogram, broker string) BrokerFigure {
	f := BrokerFigure{Cell: h.Cell, Workload: h.Workload, Broker: broker, N: h.Dist.Count(), Percentiles: map[string]float64{}}
	lo, _ := h.Dist.Min()
	mid, _ := h.Dist.Quantile(50)
	hi, _ := h.Dist.Max()
	f.Min, f.Median, f.Max = float64(lo), float64(mid), float64(hi)
	for _, p := range []float64{90, 99, 99.9} {
		if v, ok := h.Dist.Quantile(p); ok && results.Supports(f.N, p) {
			f.Percentiles["p"+strconv.FormatFloat(p, 'f', -1, 64)] = float64(v)
		}
	}
	return f
}
