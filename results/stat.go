package results

import (
	"fmt"
	"strconv"
	"strings"
)

// Stat names a statistic of a set of samples: n, min, median, max or a
// percentile p0.1 to p99.999.
type Stat string

// The statistics that are not percentiles.
const (
	StatN      Stat = "n"
	StatMin    Stat = "min"
	StatMedian Stat = "median"
	StatMax    Stat = "max"
)

// ParseStat reads the name of a statistic.
func ParseStat(s string) (Stat, error) {
	switch Stat(s) {
	case StatN, StatMin, StatMedian, StatMax:
		return Stat(s), nil
	}
	if _, ok := Stat(s).Percentile(); ok {
		return Stat(s), nil
	}
	return "", fmt.Errorf("unknown statistic %q; there are n, min, median, max and percentiles such as p99", s)
}

// Percentile returns 99 for p99. ok is false for other statistics.
func (s Stat) Percentile() (p float64, ok bool) {
	text, ok := strings.CutPrefix(string(s), "p")
	if !ok || strings.ContainsAny(text, "+-eExX_iIpP") {
		return 0, false
	}
	p, err := strconv.ParseFloat(text, 64)
	return p, err == nil && p > 0 && p < 100
}
