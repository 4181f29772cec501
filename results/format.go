package results

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// FormatValue writes a value with its unit and three digits: 1.23 ms, 2.050 s,
// 12300/s, 25.3 MB. Seconds have one digit more: most of a recovery is its timer.
func FormatValue(v float64, u Unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	switch u {
	case PerSecond:
		return digits(v) + "/s"
	case Number:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return digits(v)
	case Bytes:
		return formatBytes(v)
	}
	if s := v / float64(time.Second); math.Abs(s) >= 0.9995 {
		switch a := math.Abs(s); {
		case a < 9.9995:
			return strconv.FormatFloat(s, 'f', 3, 64) + " s"
		case a < 99.995:
			return strconv.FormatFloat(s, 'f', 2, 64) + " s"
		}
		return digits(s) + " s"
	}
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		// 999.6 µs would round to 1000 µs: it is 1.00 ms.
		if math.Abs(v) >= 0.9995*float64(unit.size) {
			return digits(v/float64(unit.size)) + " " + unit.name
		}
	}
	return digits(v) + " ns"
}

// formatBytes writes 25.3 MB.
func formatBytes(v float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if math.Abs(v) >= 0.9995*unit.size {
			return digits(v/unit.size) + " " + unit.name
		}
	}
	return digits(v) + " B"
}

// digits writes three significant digits and, up to 15, never fewer than the
// whole part.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// count writes 10k for 10,000.
func count(n int) string {
	switch {
	case n != 0 && n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n != 0 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return strconv.Itoa(n)
}
