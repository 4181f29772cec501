package compare

import (
	"math"

	"kbench/results"
	"kbench/results/stat"
)

// judge tests every row. Headline tests against the base are one family, those
// for the best side another.
func (c *Comparison) judge() {
	var family []*Change
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.Values[0] == nil {
			continue
		}
		for side := 1; side < len(row.Values); side++ {
			if row.Values[side] != nil {
				row.Changes = append(row.Changes, changeOf(row.Values[0], row.Values[side], side))
			}
		}
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		for j := range row.Changes {
			if ch := &row.Changes[j]; row.Headline && ch.P != nil {
				family = append(family, ch)
			}
		}
	}
	c.HeadlineTests = len(family)
	for i, p := range stat.Holm(raw(family)) {
		family[i].Adjusted = &p
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		for j := range row.Changes {
			tests := 1
			if row.Headline {
				tests = max(c.HeadlineTests, 1)
			}
			row.Changes[j].conclude(row.Better, row.Values[0], row.Values[row.Changes[j].Side], tests)
		}
	}
	if len(c.Sides) > 2 {
		c.markBest()
	}
}

func raw(family []*Change) []float64 {
	p := make([]float64, len(family))
	for i, ch := range family {
		p[i] = *ch.P
	}
	return p
}

// changeOf compares b with a. Where no values could be significant there is a
// ratio and no test.
func changeOf(a, b *Value, side int) Change {
	ch := Change{Side: side}
	ratio, iv, ok := stat.ShiftRatio(a.independent, b.independent, results.Confidence)
	if min(a.N, b.N) == 0 {
		// A percentile that all repeats together support, but none alone.
		ratio = b.Center / a.Center
	}
	if !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
		ch.Ratio = &ratio
	}
	if ok {
		ch.Lo, ch.Hi = &iv.Lo, &iv.Hi
	}
	if p, err := stat.MannWhitney(a.independent, b.independent); err == nil && leastP(a.N, b.N) <= stat.Alpha {
		ch.P = &p
	}
	return ch
}

// conclude gives the verdict. tests is how many the correction counts: with
// too few values none of them could be significant.
func (ch *Change) conclude(better results.Direction, a, b *Value, tests int) {
	ch.Verdict = None
	level := stat.Alpha / float64(tests)
	if ch.P == nil || leastP(a.N, b.N) > level {
		ch.Verdict, ch.Needs = Untested, stat.MannWhitneyNeeds(level)
		return
	}
	p := *ch.P
	if ch.Adjusted != nil {
		p = *ch.Adjusted
	}
	if p > stat.Alpha || ch.Lo != nil && *ch.Lo < 1 && 1 < *ch.Hi {
		return
	}
	larger := b.Center > a.Center
	if ch.Ratio != nil {
		if *ch.Ratio == 1 {
			return
		}
		larger = *ch.Ratio > 1
	}
	if ch.Verdict = Worse; larger == (better == results.Higher) {
		ch.Verdict = Better
	}
}

// leastP is the smallest p that Mann-Whitney can give for two sizes: two of
// all ways to split the values.
func leastP(n, m int) float64 {
	p := 2.0
	for i := 1; i <= min(n, m); i++ {
		p *= float64(i) / float64(n+m-min(n, m)+i)
	}
	return p
}

// markBest marks the side of a row that is better than every other, where all
// sides measured it. All tests of headline rows are corrected together, those
// of another row among themselves.
func (c *Comparison) markBest() {
	var family []*Change
	best := make(map[int]int)        // by row: the side with the best center
	tests := make(map[int][]*Change) // by row
	for i := range c.Rows {
		row := &c.Rows[i]
		side, ok := row.leader()
		if !ok {
			continue
		}
		best[i] = side
		for other, v := range row.Values {
			if other == side {
				continue
			}
			ch := changeOf(v, row.Values[side], side)
			if ch.P == nil {
				delete(best, i)
				break
			}
			tests[i] = append(tests[i], &ch)
		}
		if _, ok := best[i]; ok && row.Headline {
			family = append(family, tests[i]...)
		}
	}
	for i, p := range stat.Holm(raw(family)) {
		family[i].Adjusted = &p
	}
	for i := range c.Rows {
		side, ok := best[i]
		if !ok {
			continue
		}
		row := &c.Rows[i]
		if !row.Headline {
			for j, p := range stat.Holm(raw(tests[i])) {
				tests[i][j].Adjusted = &p
			}
		}
		for j, ch := range tests[i] {
			other := j
			if other >= side {
				other++
			}
			ch.conclude(row.Better, row.Values[other], row.Values[side], 1)
			ok = ok && ch.Verdict == Better
		}
		if ok {
			row.Best = &side
		}
	}
}

// leader is the side with the best center; ok is false where a side is absent
// or two share the place.
func (r *Row) leader() (side int, ok bool) {
	for i, v := range r.Values {
		if v == nil {
			return 0, false
		}
		if d := v.Center - r.Values[side].Center; i > 0 && (d < 0) == (r.Better == results.Lower) && d != 0 {
			side = i
		}
	}
	for i, v := range r.Values {
		if i != side && v.Center == r.Values[side].Center {
			return 0, false
		}
	}
	return side, true
}
