package plan

import (
	"fmt"
	"math"

	"kbench/results/plan/curve"
)

// BackTest is the largest rung, held out: what a fit of the others says of it.
type BackTest struct {
	Partitions int         `json:"partitions"`
	Model      curve.Model `json:"model"` // chosen without the rung
	Predicted  float64     `json:"predicted"`
	Interval   Range       `json:"interval"` // of the next measurement
	Measured   float64     `json:"measured"`
	Error      float64     `json:"error"`  // predicted/measured - 1
	Beyond     float64     `json:"beyond"` // times the largest rung that was fitted
	Inside     bool        `json:"inside"` // the interval holds what was measured
}

// farOff is the error of a back-test from which an answer warns of it: the
// intervals hold more than that in ladders of few rungs.
const farOff = 0.25

// warning is what a reader of an answer must know of the back-test; empty where
// it came near.
func (bt *BackTest) warning() string {
	where := "inside"
	switch {
	case bt == nil, bt.Inside && math.Abs(bt.Error) <= farOff:
		return ""
	case !bt.Inside:
		where = "OUTSIDE"
	}
	return fmt.Sprintf("WARNING: without its largest rung (%s) the fit was off by %+.0f %% there, %s its 95 %% interval: beyond the ladder the answer may be as wrong",
		count(float64(bt.Partitions)), bt.Error*100, where)
}

// backTest holds out the top rung; nil where fewer than four rungs leave too
// little.
func (l *ladder) backTest() *BackTest {
	if l.fit == nil || len(l.rungs) <= curve.Least {
		return nil
	}
	rest := *l
	rest.rungs, rest.fit = l.rungs[:len(l.rungs)-1], nil
	rest.doFit()
	if rest.err != nil {
		return nil
	}
	held := l.rungs[len(l.rungs)-1]
	p := rest.at(float64(held.Partitions))
	return &BackTest{
		Partitions: held.Partitions, Model: rest.fit.Chosen, Predicted: p.Value, Interval: p.Next, Measured: held.Value,
		Error: p.Value/held.Value - 1, Beyond: p.Beyond,
		Inside: held.Value >= p.Next.Lo && held.Value <= p.Next.Hi && !math.IsNaN(p.Value),
	}
}
