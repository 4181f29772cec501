package plan

import (
	"math"
	"strconv"
	"strings"

	"kbench/results"
)

// format writes a value with its unit.
func format(v float64, u results.Unit) string {
	if u != results.Bytes {
		return results.FormatValue(v, u)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	for _, unit := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if math.Abs(v) >= 0.9995*unit.size {
			return threeDigits(v/unit.size) + " " + unit.name
		}
	}
	return threeDigits(v) + " B"
}

func threeDigits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// count writes partitions for people: 61k, 1.5M, 640.
func count(n float64) string {
	switch {
	case math.IsInf(n, 1):
		return "any number of"
	case n >= 1e6:
		return trim(n/1e6) + "M"
	case n >= 1e3:
		return trim(n/1e3) + "k"
	}
	return trim(n)
}

// specCount writes partitions as specs and flags take them: whole numbers.
func specCount(n float64) string {
	switch n = math.Round(n); {
	case n >= 1e6 && math.Mod(n, 1e6) == 0:
		return trim(n/1e6) + "M"
	case n >= 1e3 && math.Mod(n, 1e3) == 0:
		return trim(n/1e3) + "k"
	}
	return trim(n)
}

func trim(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// round keeps two digits of partitions, downwards or upwards: a capacity is
// never rounded up, the upper end of its interval never down.
func round(n float64, up bool) float64 {
	if n < 1 || math.IsInf(n, 0) || math.IsNaN(n) {
		return n
	}
	step := math.Pow(10, max(math.Floor(math.Log10(n))-1, 0))
	// What is a hair under a step by rounding is that step.
	if up {
		return math.Ceil(n/step-1e-9) * step
	}
	return math.Floor(n/step+1e-9) * step
}

// percent writes a share.
func percent(v float64) string { return strconv.FormatFloat(v*100, 'f', 0, 64) + " %" }

// times writes a factor: 2.4 times.
func times(v float64) string {
	digits := 1
	if v >= 10 {
		digits = 0
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', digits, 64), ".0") + " times"
}
