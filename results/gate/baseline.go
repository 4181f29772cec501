package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/stat"
)

// reach is how many nights back, in windows, baseline nights are looked for. A
// change that nobody accepted becomes what is usual after that.
const reach = 3

// baselines finds what tonight may be compared with.
type baselines struct {
	night *history.Night
	log   *history.Log // nil where there is no history
	o     Options
}

func newBaselines(run *results.Run, log *history.Log, o Options) (*baselines, error) {
	b := &baselines{log: log, o: o}
	if log == nil {
		return b, nil
	}
	var err error
	b.night, err = history.FromRun(run)
	return b, err
}

// baseline is the nights that stand for what is usual, of one figure.
type baseline struct {
	points   []history.Point // newest last
	left     int             // nights that were regressions themselves
	outliers []string        // runs that take no part in mean and spread
	other    int             // nights under other settings or in another environment

	mean, sd float64 // of the medians on the scale of transform, without outliers
	n        int     // nights in them
	scale    scale
}

// scale is logarithmic, since noise of latencies is multiplicative, or linear
// where a value is zero.
type scale func(float64) float64

func scaleFor(values ...float64) scale {
	if slices.Min(values) > 0 {
		return math.Log
	}
	return func(v float64) float64 { return v }
}

// of gives the baseline of a figure of tonight.
func (b *baselines) of(c *history.Cell, f *history.Figure) baseline {
	if b.log == nil {
		return baseline{}
	}
	out := baseline{other: b.log.Incomparable(b.night, c, f)}
	for _, p := range b.log.Before(b.night, c, f, reach*b.o.Window) {
		if len(out.points) >= MinNights && b.worse(out.points, p.Figure) {
			out.left++
			continue
		}
		out.points = append(out.points, p)
		if len(out.points) > b.o.Window {
			out.points = out.points[1:]
		}
	}
	out.fit(f.Median)
	return out
}

// worse reports whether a night was surely a regression, by its median alone.
// The level is a tenth of the gate's: leaving out every night that noise alone
// makes a regression would make the others look steadier than nights are.
func (b *baselines) worse(points []history.Point, f *history.Figure) bool {
	old := baseline{points: points}
	m, _, _ := results.FindMetric(f.Name())
	if !matters(f.Median, old.median(results.StatMedian), m, &b.o) {
		return false
	}
	old.fit(f.Median)
	return old.predict(f.Median, m.Better) < Alpha/10
}

// enough reports whether there are nights to compare with.
func (b *baseline) enough() bool { return len(b.points) >= MinNights }

// fit describes the nights' medians for a comparison with v.
func (b *baseline) fit(v float64) {
	if len(b.points) == 0 {
		return
	}
	medians := make([]float64, len(b.points))
	for i, p := range b.points {
		medians[i] = p.Figure.Median
	}
	b.scale = scaleFor(append(medians, v)...)
	for i := range medians {
		medians[i] = b.scale(medians[i])
	}
	rest := medians
	if out := stat.GESD(medians, max(len(medians)/10, 1), 0.01); len(out) > 0 {
		rest = nil
		for i, x := range medians {
			if slices.Contains(out, i) {
				b.outliers = append(b.outliers, b.points[i].Night.Run)
			} else {
				rest = append(rest, x)
			}
		}
	}
	b.n = len(rest)
	b.mean, b.sd = stats.Mean(rest), 0
	if b.n > 1 {
		b.sd = stats.StdDev(rest)
	}
}

// width is the standard error of predicting one further night.
func (b *baseline) width() float64 { return b.sd * math.Sqrt(1+1/float64(b.n)) }

// predict is the probability that a further night is as much worse as v, or
// more, where nothing has changed.
func (b *baseline) predict(v float64, better results.Direction) float64 {
	d := b.scale(v) - b.mean
	if better == results.Higher {
		d = -d
	}
	// Equal nights differ by rounding alone.
	if width := b.width(); width > 1e-12*max(math.Abs(b.mean), 1) {
		return 1 - stats.TDist{V: float64(b.n - 1)}.CDF(d/width)
	}
	switch {
	case d > 1e-12*max(math.Abs(b.mean), 1):
		return 0
	case d < -1e-12*max(math.Abs(b.mean), 1):
		return 1
	}
	return 0.5
}

// limit is the value beyond which predict is under alpha.
func (b *baseline) limit(alpha float64, better results.Direction) float64 {
	d := stats.InvCDF(stats.TDist{V: float64(b.n - 1)})(1-alpha) * b.width()
	if better == results.Higher {
		d = -d
	}
	if b.scale(math.E) == 1 {
		return math.Exp(b.mean + d)
	}
	return b.mean + d
}

// median is the median over the nights of a statistic; NaN where a night does
// not have it.
func (b *baseline) median(s results.Stat) float64 {
	values := make([]float64, len(b.points))
	for i, p := range b.points {
		v, ok := valueOf(p.Figure, s)
		if !ok {
			return math.NaN()
		}
		values[i] = v
	}
	return stat.Median(values)
}

func valueOf(f *history.Figure, s results.Stat) (float64, bool) {
	described := results.Figure{N: f.N, Min: f.Min, Median: f.Median, Max: f.Max, Percentiles: f.Percentiles}
	return described.Value(s)
}

// trials pools the trials of all nights; ok is false where a night keeps only
// a histogram.
func (b *baseline) trials() (values []float64, ok bool) {
	for _, p := range b.points {
		v, ok := p.Figure.Values()
		if !ok {
			return nil, false
		}
		values = append(values, v...)
	}
	return values, len(values) > 0
}

// matters reports whether v is worse than the baseline by more than the
// smallest effect and by more than the floor.
func matters(v, baseline float64, m results.Metric, o *Options) bool {
	worse := v - baseline
	if m.Better == results.Higher {
		worse = -worse
	}
	return worse > o.MinEffect*baseline && worse > o.floor(m.Unit)
}

// missing says why there is no baseline.
func (b *baseline) missing(log *history.Log) string {
	switch {
	case log == nil:
		return "no history was given; name one with --against"
	case b.other > 0:
		return fmt.Sprintf("no baseline yet: %d comparable nights of the %d that are needed; %d more were measured under other settings or in another environment", len(b.points), MinNights, b.other)
	}
	return fmt.Sprintf("no baseline yet: %d comparable nights of the %d that are needed", len(b.points), MinNights)
}

// source says which nights the baseline is.
func (b *baseline) source() string {
	out := fmt.Sprintf("the median of %d nights", len(b.points))
	if b.left > 0 {
		out += fmt.Sprintf(", %d regressed ones left out", b.left)
	}
	if n := len(b.outliers); n > 0 {
		out += fmt.Sprintf(", %d outliers not in the spread", n)
	}
	return out
}

// order sorts checks: what is missed first, then as they were made.
func order(checks []Check) []Check {
	rank := []State{NoData, Missed, NoBaseline, Improved, Passed}
	out := slices.Clone(checks)
	slices.SortStableFunc(out, func(a, b Check) int {
		return cmp.Compare(slices.Index(rank, a.State), slices.Index(rank, b.State))
	})
	return out
}
