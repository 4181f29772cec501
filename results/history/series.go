package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"kbench/results"
	"kbench/results/stat"
)

// Series is one figure over the nights that may be compared with each other.
type Series struct {
	SeriesKey
	Target     string
	Variant    string
	Partitions int
	Headline   bool
	Unit       results.Unit
	Readings   []Reading // by instant
}

// SeriesKey tells one series from every other.
type SeriesKey struct {
	Cell       string
	Workload   string
	Metric     string // without the phase
	Phase      string
	Comparable string
}

// Name is metric.phase.
func (k *SeriesKey) Name() string { return k.Metric + "." + k.Phase }

// last is the instant of the newest reading.
func (s *Series) last() time.Time {
	if len(s.Readings) == 0 {
		return time.Time{}
	}
	return s.Readings[len(s.Readings)-1].At
}

// Reading is what one night gave.
type Reading struct {
	Run     string
	Digest  string
	At      time.Time // UTC
	Commit  string
	Median  float64 // in the series' unit, 0 where N is 0
	N       int64
	Invalid int64
	Why     string // why it may not be compared; empty where it may

	// Apart is by how much the night's repeats of the cell, which are equal in
	// all that is known, differ: the largest median over the smallest, less 1.
	// 0 where there was one repeat.
	Apart float64
	// Chance is the probability that trials of one and the same cell differ as
	// much as those two repeats (Mann-Whitney), -1 where they are too few to say.
	Chance float64
}

// Noisy reports whether the night's repeats differ by more than limit, such as
// 0.025, and not by the chance of their few trials: the machine was not the
// same from one to the other.
func (r *Reading) Noisy(limit float64) bool {
	return r.Apart > limit && r.Chance < stat.Alpha
}

// Series lists every figure over the nights: by partitions, by cell, then in
// the catalogue's order.
func (l *Log) Series() []Series {
	var c collector
	for _, n := range l.Nights {
		c.add(n)
	}
	sortSeries(c.series)
	return c.series
}

// collector gathers series night by night.
type collector struct {
	series []Series
	index  map[SeriesKey]int
}

func (c *collector) add(n *Night) {
	for i := range n.Cells {
		cell := &n.Cells[i]
		for j := range cell.Figures {
			f := &cell.Figures[j]
			s := c.at(seriesOf(cell, f))
			s.Readings = append(s.Readings, reading(n, cell, f))
		}
	}
}

// at finds the series of a key or begins it.
func (c *collector) at(s Series) *Series {
	if c.index == nil {
		c.index = make(map[SeriesKey]int)
	}
	i, ok := c.index[s.SeriesKey]
	if !ok {
		i = len(c.series)
		c.index[s.SeriesKey] = i
		c.series = append(c.series, s)
	}
	return &c.series[i]
}

func seriesOf(c *Cell, f *Figure) Series {
	return Series{
		SeriesKey: SeriesKey{c.ID, f.Workload, f.Metric, f.Phase, c.Comparable},
		Target:    c.Target, Variant: c.Variant, Partitions: c.Partitions, Headline: f.Headline, Unit: f.Unit,
	}
}

func reading(n *Night, c *Cell, f *Figure) Reading {
	r := Reading{Run: n.Run, Digest: n.Digest, At: n.At, Commit: n.Commit, Median: f.Median, N: f.N, Invalid: f.Invalid, Chance: -1}
	if f.N == 0 {
		r.Median = 0
	}
	_, r.Why = c.Usable(f)
	r.Apart, r.Chance = f.apart()
	return r
}

// apart compares the repeat of the largest with that of the smallest median.
func (f *Figure) apart() (apart, chance float64) {
	if len(f.Repeats) < 2 {
		return 0, -1
	}
	byMedian := func(a, b Repeat) int { return cmp.Compare(a.Median, b.Median) }
	lo, hi := slices.MinFunc(f.Repeats, byMedian), slices.MaxFunc(f.Repeats, byMedian)
	switch {
	case hi.Median == lo.Median:
		return 0, -1
	case lo.Median == 0:
		apart = math.MaxFloat64
	default:
		apart = hi.Median/lo.Median - 1
	}
	if needs := stat.MannWhitneyNeeds(stat.Alpha); len(lo.Values) < needs || len(hi.Values) < needs {
		return apart, -1
	}
	p, err := stat.MannWhitney(lo.Values, hi.Values)
	if err != nil {
		return apart, -1
	}
	return apart, p
}
