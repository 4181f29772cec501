package paired

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"kbench/results"
	"kbench/results/stat"
)

// Verdict is what a comparison of two sides says of the second one.
type Verdict string

// Same means that the whole interval lies within the margin. Inconclusive is
// not the same: too little was measured to say. Invalid means that a pair that
// was planned is missing or a rule was broken. Mixed is for points that have
// different verdicts, all of them conclusive.
const (
	Faster       Verdict = "faster"
	Slower       Verdict = "slower"
	Same         Verdict = "same"
	Inconclusive Verdict = "inconclusive"
	Invalid      Verdict = "invalid"
	Mixed        Verdict = "mixed"
)

const (
	maxPairs   = 2000 // that are read; an interval looks at every two of them
	confidence = 0.95
	power      = 0.80 // of the number of pairs that is proposed
	seed       = 1    // of the bootstrap
)

// Options change what the folder says of its own comparison.
type Options struct {
	Metric string  // the primary metrics, as Primary reads them; empty: the folder's
	Margin float64 // 0: the folder's
}

// SchemaVersion is the version of the JSON form.
const SchemaVersion = 1

// Analysis is a comparison, judged: the documented contract of its JSON form.
type Analysis struct {
	Format        string   `json:"format"` // "kbench-ab"
	SchemaVersion int      `json:"schemaVersion"`
	Run           string   `json:"run"`
	Machine       string   `json:"machine"` // where both sides ran, in words
	Base          string   `json:"base"`    // names of the sides
	Variant       string   `json:"variant"` // it is the one that is faster or slower
	Metric        string   `json:"metric"`  // primary, metric.phase; the first of several
	Metrics       []string `json:"metrics"` // all primary ones
	Margin        float64  `json:"margin"`
	Pairs         int      `json:"pairs"` // planned at each point
	Warmup        int      `json:"warmupPairs"`
	Verdict       Verdict  `json:"verdict"` // of all points
	Reasons       []string `json:"reasons,omitempty"`
	Notes         []string `json:"notes,omitempty"`
	Points        []Result `json:"points"`    // of the primary metric
	Secondary     []Result `json:"secondary"` // everything else that was measured
}

// Result is one metric at one point.
type Result struct {
	Point    string       `json:"point"`
	Workload string       `json:"workload"`
	Metric   string       `json:"metric"` // metric.phase, and .p99 where it is not the median
	Unit     results.Unit `json:"unit"`
	N        int          `json:"n"`        // pairs
	Base     float64      `json:"base"`     // median of the cell-runs
	Variant  float64      `json:"variant"`  // the same
	Ratio    *float64     `json:"ratio"`    // variant / base, Hodges-Lehmann; null where it cannot be had
	Lo       *float64     `json:"lo"`       // 95 % interval of Ratio; null where n is too small
	Hi       *float64     `json:"hi"`       //
	P        *float64     `json:"p"`        // signed-rank, two-sided
	Adjusted *float64     `json:"adjusted"` // P by Holm within its family
	Median   *float64     `json:"medianRatio"`
	Boot     *[2]float64  `json:"bootstrap"` // 95 % interval of Median
	Verdict  Verdict      `json:"verdict"`
	Why      string       `json:"why,omitempty"`         // there is no ratio
	Needed   int          `json:"pairsNeeded,omitempty"` // to tell the margin with 80 % power at this spread
	Values   []Pair       `json:"values"`

	series series
	better results.Direction
}

// Pair is the values of two cell-runs that stood side by side.
type Pair struct {
	Repeat  int     `json:"repeat"`
	First   string  `json:"first,omitempty"` // base or variant
	Base    float64 `json:"base"`
	Variant float64 `json:"variant"`
}

// Analyse judges the comparison that a run folder holds. It is an error where
// the folder holds none or never measured the primary metric.
func Analyse(r *results.Run, o Options) (*Analysis, error) {
	c := r.Manifest.Comparison
	if c == nil {
		return nil, fmt.Errorf("%s holds no interleaved comparison; `kbench ab` writes them, `kbench compare` compares other runs", r.Manifest.ID)
	}
	a := &Analysis{
		Format: "kbench-ab", SchemaVersion: SchemaVersion, Run: r.Manifest.ID, Machine: machine(r.Manifest),
		Base: c.Base.Name, Variant: c.Variant.Name, Margin: cmp.Or(o.Margin, c.Margin),
		Pairs: c.Pairs, Warmup: c.Warmup,
	}
	if a.Pairs < 1 || a.Pairs > maxPairs || a.Warmup < 0 || a.Warmup > maxPairs {
		return nil, fmt.Errorf("%s says that it holds %d pairs and %d to warm up; the manifest is damaged", a.Run, a.Pairs, a.Warmup)
	}
	var err error
	if a.Metrics, err = Primary(cmp.Or(o.Metric, strings.Join(c.Primary(), ","))); err != nil {
		return nil, fmt.Errorf("primary metric: %w", err)
	}
	a.Metric = a.Metrics[0]
	if !(a.Margin > 0 && a.Margin < 1) {
		return nil, fmt.Errorf("the margin is %v; it must be over 0 and under 1", a.Margin)
	}
	figs, err := r.Figures()
	if err != nil {
		return nil, err
	}
	for _, match := range c.Matches {
		if err := a.match(r, figs, match); err != nil {
			return nil, err
		}
	}
	for _, name := range a.Metrics {
		if r.Manifest.Verdict == results.Valid && !slices.ContainsFunc(a.Points, func(p Result) bool { return p.Metric == name }) {
			return nil, fmt.Errorf("%s was not measured by any pair of %s; it has %s", name, a.Run, a.measured())
		}
	}
	a.inOrder()
	a.correctPrimary()
	a.correct(a.Secondary)
	a.judge(r)
	return a, nil
}

// match compares the two cells of one point.
func (a *Analysis) match(r *results.Run, figs []results.Figure, match results.MatchedCell) error {
	base, ok1 := cellOf(r, match.Base)
	variant, ok2 := cellOf(r, match.Variant)
	if !ok1 || !ok2 {
		return nil // an interrupt or a loss came first
	}
	b, err1 := pairsOf(r, figs, base)
	v, err2 := pairsOf(r, figs, variant)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, s := range order(b, v) {
		res := Result{Point: match.Point, Workload: s.workload, Metric: s.name(), series: s}
		m, _, _ := results.FindMetric(s.metric)
		res.Unit, res.better = m.Unit, m.Better
		for repeat := a.Warmup + 1; repeat <= a.Warmup+a.Pairs; repeat++ {
			x, ok1 := b[s][repeat]
			if y, ok2 := v[s][repeat]; ok1 && ok2 {
				res.Values = append(res.Values, Pair{repeat, firstOf(base, variant, repeat), x, y})
			}
		}
		res.compare()
		if a.isPrimary(s) {
			a.Points = append(a.Points, res)
		} else {
			a.Secondary = append(a.Secondary, res)
		}
	}
	return nil
}

func cellOf(r *results.Run, id string) (results.Cell, bool) {
	i := slices.IndexFunc(r.Manifest.Cells, func(c results.Cell) bool { return c.ID == id })
	if i < 0 {
		return results.Cell{}, false
	}
	return r.Manifest.Cells[i], true
}

// order lists the series of both sides as the catalogue does.
func order(a, b measured) []series {
	rank := func(s series) (metric, phase int) {
		all := results.Metrics()
		metric = slices.IndexFunc(all, func(x results.Metric) bool { return x.Name == s.metric })
		return metric, slices.IndexFunc(all[metric].Phases, func(p results.Phase) bool { return p.Name == s.phase })
	}
	var out []series
	for s := range a {
		out = append(out, s)
	}
	for s := range b {
		if a[s] == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y series) int {
		m1, p1 := rank(x)
		m2, p2 := rank(y)
		return cmp.Or(cmp.Compare(m1, m2), cmp.Compare(x.workload, y.workload), cmp.Compare(p1, p2), cmp.Compare(x.stat, y.stat))
	})
	return out
}

// compare fills in the statistics.
func (r *Result) compare() {
	r.Verdict = Inconclusive
	var base, variant, logs []float64
	for _, p := range r.Values {
		base, variant = append(base, p.Base), append(variant, p.Variant)
	}
	if r.N = len(base); r.N == 0 {
		r.Why = "no pair is whole"
		return
	}
	r.Base, r.Variant = stat.Median(base), stat.Median(variant)
	p, err := stat.PairedLogRatio(base, variant, confidence, seed)
	if err != nil {
		r.Why = err.Error()
		return
	}
	for i := range base {
		logs = append(logs, math.Log(variant[i])-math.Log(base[i]))
	}
	center, iv, ok := stat.Walsh(logs, 1-stat.Alpha)
	if ratio := math.Exp(center); ratio == 0 || math.IsInf(ratio, 0) {
		r.Why = fmt.Sprintf("%v and %v are too far apart for a ratio", r.Base, r.Variant)
		return
	}
	r.Ratio, r.P, r.Median = pointer(math.Exp(center)), pointer(p.P), pointer(p.Ratio)
	if !math.IsInf(p.Interval.Hi, 0) {
		r.Boot = &[2]float64{p.Interval.Lo, p.Interval.Hi}
	}
	if ok {
		r.Lo, r.Hi = pointer(math.Exp(iv.Lo)), pointer(math.Exp(iv.Hi))
	}
}

func pointer(v float64) *float64 { return &v }

// measured lists what could have been the primary metric.
func (a *Analysis) measured() string {
	var names []string
	for _, r := range slices.Concat(a.Points, a.Secondary) {
		if !slices.Contains(names, r.Metric) {
			names = append(names, r.Metric)
		}
	}
	if len(names) == 0 {
		return "no whole pair"
	}
	return fmt.Sprint(names)
}
