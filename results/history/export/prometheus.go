package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"kbench/results"
	"kbench/results/history"
)

// gauge is one metric family of the exposition.
type gauge struct {
	name, help string
	unit       results.Unit // of the series that it shows; empty: all
	value      func(r *history.Reading) (v float64, ok bool)
}

var gauges = []gauge{
	{"kbench_night_median_seconds", "Median of the last night, by cell, metric and phase.", results.Nanoseconds, func(r *history.Reading) (float64, bool) {
		return r.Median / 1e9, r.N > 0
	}},
	{"kbench_night_median_per_second", "Median rate of the last night, by cell, metric and phase.", results.PerSecond, func(r *history.Reading) (float64, bool) {
		return r.Median, r.N > 0
	}},
	{"kbench_night_samples", "Valid values of the last night.", "", func(r *history.Reading) (float64, bool) {
		return float64(r.N), true
	}},
	{"kbench_night_valid", "Whether the last night may be compared (1) or not (0).", "", func(r *history.Reading) (float64, bool) {
		if r.Why != "" || r.N == 0 {
			return 0, true
		}
		return 1, true
	}},
	{"kbench_night_start_time_seconds", "When the last night began, since 1970.", "", func(r *history.Reading) (float64, bool) {
		return float64(r.At.UnixNano()) / 1e9, true
	}},
}

// Prometheus writes the last night of each series in the text exposition
// format 0.0.4, without timestamps, as a textfile collector wants it.
func Prometheus(w io.Writer, series []history.Series) error {
	var b strings.Builder
	for _, g := range gauges {
		head := false
		for i := range series {
			s := &series[i]
			if len(s.Readings) == 0 || g.unit != "" && g.unit != s.Unit {
				continue
			}
			v, ok := g.value(&s.Readings[len(s.Readings)-1])
			if !ok {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", g.name, g.help, g.name)
				head = true
			}
			fmt.Fprintf(&b, "%s{%s} %s\n", g.name, labels(s), strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("export the history: %w", err)
	}
	return nil
}

// labels tell one series from every other.
func labels(s *history.Series) string {
	pairs := [][2]string{
		{"cell", s.Cell},
		{"target", s.Target},
		{"variant", s.Variant},
		{"partitions", strconv.Itoa(s.Partitions)},
		{"workload", s.Workload},
		{"metric", s.Metric},
		{"phase", s.Phase},
		{"comparable", s.Comparable},
	}
	out := make([]string, len(pairs))
	for i, p := range pairs {
		out[i] = p[0] + `="` + labelEscapes.Replace(strings.ToValidUTF8(p[1], "\uFFFD")) + `"`
	}
	return strings.Join(out, ",")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
