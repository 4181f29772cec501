package results

import (
	"math"
	"testing"
)

func TestSummarize(t *testing.T) {
	s, err := Summarize([]float64{4, 1, 3, 2})
	if err != nil || s.N != 4 || s.Min != 1 || s.Median != 2.5 || s.Max != 4 || s.HasCI {
		t.Errorf("%+v, %v", s, err)
	}
	if _, ok := s.Percentile(99); ok {
		t.Error("p99 of four samples")
	}
	s, _ = Summarize([]float64{1, 2, 3, 4, 5, 6})
	if !s.HasCI || s.Lo != 1 || s.Hi != 6 {
		t.Errorf("six samples bound the median by their extremes: %+v", s)
	}
	if s, err := Summarize(nil); err != nil || s.N != 0 {
		t.Errorf("nothing: %+v, %v", s, err)
	}
	if s, _ := Summarize([]float64{7, 7, 7, 7, 7, 7, 7}); s.Min != 7 || s.Median != 7 || s.Lo != 7 || s.Hi != 7 {
		t.Errorf("equal samples: %+v", s)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := Summarize([]float64{1, bad}); err == nil {
			t.Errorf("%v accepted", bad)
		}
	}
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(1000 - i)
	}
	s, _ = Summarize(values)
	if v, ok := s.Percentile(99); !ok || v != 990 {
		t.Errorf("p99 %v, %v", v, ok)
	}
	if v, ok := s.Value("p95"); !ok || v != 950 {
		t.Errorf("p95 %v, %v", v, ok)
	}
	if _, ok := s.Percentile(99.9); ok {
		t.Error("p99.9 of 1000 samples")
	}
}

func TestSupports(t *testing.T) {
	for _, c := range []struct {
		n    int64
		p    float64
		want bool
	}{{58, 95, false}, {59, 95, true}, {298, 99, false}, {299, 99, true}, {4, 50, false}, {5, 50, true}, {58, 5, false}, {59, 5, true}, {0, 50, false}, {1 << 40, 100, false}, {10, math.NaN(), false}} {
		if got := Supports(c.n, c.p); got != c.want {
			t.Errorf("Supports(%d, %v) = %v", c.n, c.p, got)
		}
	}
}

func TestFindMetric(t *testing.T) {
	m, phase, err := FindMetric("recovery.controller")
	if err != nil || m.Name != "recovery.controller" || phase != "first-admin" {
		t.Errorf("%v %q %v", m.Name, phase, err)
	}
	if _, phase, err := FindMetric("propagation.median"); err != nil || phase != "median" {
		t.Errorf("%q %v", phase, err)
	}
	for _, bad := range []string{"", "recovery", "recovery.controller.", "propagation.median.x"} {
		if _, _, err := FindMetric(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || !m.hasPhase(m.Headline) || m.Workload == "" || m.Doc == "" {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
	}
}
