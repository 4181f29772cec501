package plan

import (
	"errors"
	"fmt"
	"strings"

	"kbench/results"
)

// SLO is a bound that the cluster is to keep: a threshold of a spec, whose
// statistic may be left out and is then the median.
type SLO struct {
	results.Threshold
	metric results.Metric
}

// ParseSLO reads one objective, such as recovery.controller < 10s,
// zk: p95(propagation.last) < 50ms or creation.rate.min > 2000/s. The error
// says what is wrong and how to mend it.
func ParseSLO(text string) (SLO, error) {
	t, err := results.ParseThreshold(withStat(text))
	if err != nil {
		return SLO{}, err
	}
	t.Text = text
	m, _, err := results.FindMetric(t.Metric)
	if err != nil {
		return SLO{}, err
	}
	switch {
	case t.Relative():
		return SLO{}, errors.New("a plan has no baseline; write an absolute bound, such as recovery.controller < 10s")
	case t.Stat == results.StatN:
		return SLO{}, errors.New("n is no cost; bound a median, a max or a percentile")
	case t.Point["partitions"] != "" || t.Point[partitionsAxis] != "":
		return SLO{}, errors.New("partitions are what is asked for; leave them out before the colon")
	case strings.HasPrefix(t.Op, "<") != (m.Better == results.Lower):
		return SLO{}, fmt.Errorf("%s is better the %s it is: turn the comparison round", m.Name, m.Better)
	case t.Value <= 0:
		return SLO{}, fmt.Errorf("a bound of %s is met by nothing or by everything", results.FormatValue(t.Value, m.Unit))
	}
	return SLO{t, m}, nil
}

// withStat puts the median where an objective names a metric alone.
func withStat(text string) string {
	head, body, found := strings.Cut(text, ":")
	if !found {
		head, body = "", text
	}
	op := strings.IndexAny(body, "<>")
	if op < 0 {
		return text
	}
	name := strings.TrimSpace(body[:op])
	if _, _, err := results.FindMetric(name); err != nil {
		return text
	}
	if found {
		head += ":"
	}
	return fmt.Sprintf("%s median(%s) %s", head, name, body[op:])
}

// meant reports whether the objective's target and point are those of a
// series.
func (s SLO) meant(se *series) bool {
	if s.Target != "" && s.Target != se.target {
		return false
	}
	for axis, want := range s.Point {
		if got, ok := se.config[axisPath(axis)]; !ok || got != want {
			return false
		}
	}
	return true
}

const partitionsAxis = "cluster.partitions"

// axisPath is the setting that a short name means.
func axisPath(axis string) string {
	if strings.Contains(axis, ".") {
		return axis
	}
	return "cluster." + axis
}
