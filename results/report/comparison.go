package report

import (
	"fmt"
	"math"

	"kbench/results"
	"kbench/results/stat"
)

// Comparison is how a side's headline compares with the first side's at one
// point of the sweep.
type Comparison struct {
	Metric     string       `json:"metric"`
	Phase      string       `json:"phase"`
	Workload   string       `json:"workload"`
	Point      string       `json:"point"`
	Base       string       `json:"base"` // the first side
	Side       string       `json:"side"`
	Unit       results.Unit `json:"unit"`
	BaseN      int64        `json:"baseN"` // independent values: valid trials, or repeats of a histogram
	N          int64        `json:"n"`
	BaseMedian float64      `json:"baseMedian"`
	Median     float64      `json:"median"`
	Ratio      *float64     `json:"ratio"`  // of the side to the base; null where there is none
	Lo         *float64     `json:"lo"`     // 95 % interval of the ratio, null where n bounds none
	Hi         *float64     `json:"hi"`     //
	P          *float64     `json:"p"`      // Mann-Whitney, Holm over the point's headlines; null where no test was made
	Shown      Difference   `json:"shown"`  // what may be said
	Method     string       `json:"method"` // how, or why nothing may be said
}

// Difference is what a Comparison shows.
type Difference string

// NoDifference does not say that the sides are equal: it says that these
// values do not show otherwise.
const (
	Better       Difference = "better"
	Worse        Difference = "worse"
	NoDifference Difference = "no difference shown"
	NotCompared  Difference = "not compared"
)

// compare fills in the comparisons of all headlines.
func (rep *Report) compare() {
	for _, point := range rep.Points {
		var tests []int // comparisons of this point that were tested
		var p []float64
		for _, bl := range rep.blocks() {
			for _, row := range bl.rows {
				if !row.headline || row.point != point {
					continue
				}
				for i := 1; i < len(row.cells); i++ {
					if row.cells[0] == nil || row.cells[i] == nil {
						continue
					}
					c := rep.compareFigures(bl, row, i)
					if c.P != nil {
						tests, p = append(tests, len(rep.Comparisons)), append(p, *c.P)
					}
					rep.Comparisons = append(rep.Comparisons, c)
				}
			}
		}
		for i, adjusted := range stat.Holm(p) {
			rep.Comparisons[tests[i]].P = &adjusted
			rep.Comparisons[tests[i]].judge()
		}
	}
}

func (rep *Report) compareFigures(bl block, row blockRow, i int) Comparison {
	a, b := row.cells[0], row.cells[i]
	c := Comparison{
		Metric: bl.metric.Name, Phase: row.phase.Name, Workload: bl.workload, Point: row.point,
		Base: rep.Sides[0], Side: rep.Sides[i], Unit: a.Unit, BaseN: a.N, N: b.N, BaseMedian: a.Median, Median: b.Median,
		Shown: NotCompared,
	}
	if rep.Run.Verdict != results.Valid {
		c.Method = "the run is " + string(rep.Run.Verdict)
		return c
	}
	if rep.Run.Comparison != nil {
		c.Method = "these are interleaved pairs: kbench ab judges them as pairs"
		return c
	}
	if bad := rep.notValid(a.Cell, b.Cell); bad != "" {
		c.Method = bad
		return c
	}
	if a.N == 0 || b.N == 0 {
		c.Method = "a side has no valid value"
		return c
	}
	if ratio := b.Median / a.Median; a.Median > 0 && ratio > 0 {
		c.Ratio = &ratio
	}
	va, vb := rep.values[figureKey{a.Cell, a.Workload, a.Metric, a.Phase}], rep.values[figureKey{b.Cell, b.Workload, b.Metric, b.Phase}]
	switch {
	case a.Histogram != b.Histogram:
		c.Method = "one side recorded every value, the other one a trial"
	case a.Histogram:
		c.byValues(va, vb, "repeats")
	default:
		c.byValues(va, vb, "trials")
	}
	return c
}

// notValid names a cell that is not valid: its figures may not be compared.
func (rep *Report) notValid(ids ...string) string {
	for _, cell := range rep.Run.Cells {
		for _, id := range ids {
			if cell.ID == id && cell.Verdict != results.Valid {
				return fmt.Sprintf("%s is %s", id, cell.Verdict)
			}
		}
	}
	return ""
}

// byValues compares values that are independent of each other: those of trials,
// or the medians of repeats where a trial has many values.
func (c *Comparison) byValues(a, b []float64, what string) {
	c.BaseN, c.N = int64(len(a)), int64(len(b))
	p, err := stat.MannWhitney(a, b)
	need := stat.MannWhitneyNeeds(stat.Alpha)
	if ratio, iv, ok := stat.ShiftRatio(a, b, results.Confidence); ok && iv.Lo > 0 {
		c.Ratio, c.Lo, c.Hi = &ratio, &iv.Lo, &iv.Hi
	}
	switch {
	case min(len(a), len(b)) < need:
		c.Shown, c.Method = NoDifference, fmt.Sprintf("%d and %d %s: fewer than %d a side can show no difference", len(a), len(b), what, need)
	case err != nil:
		c.Shown, c.Method = NoDifference, "all values are equal"
	default:
		c.P, c.Method = &p, what+" by Mann-Whitney, Holm over the headlines of this point; Hodges-Lehmann ratio and interval"
	}
}

// judge says what a tested comparison shows: something only where the test and
// the interval agree.
func (c *Comparison) judge() {
	c.Shown = NoDifference
	if *c.P < stat.Alpha && c.Lo != nil && (*c.Lo > 1 || *c.Hi < 1) {
		c.Shown = c.direction()
	}
}

func (c *Comparison) direction() Difference {
	m, _, _ := results.FindMetric(c.Metric)
	if (*c.Ratio > 1) == (m.Better == results.Higher) {
		return Better
	}
	return Worse
}

// strength orders comparisons by what they show at the least: how far the
// nearer end of the interval is from 1.
func (c *Comparison) strength() float64 {
	if c.Shown != Better && c.Shown != Worse {
		return 0
	}
	return min(math.Abs(math.Log(*c.Lo)), math.Abs(math.Log(*c.Hi)))
}
