package main

import (
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/simulated"
)

// nightTruth is one night of a nightly job, whose value is changed by a factor.
func nightTruth(night int, factor float64) simulated.Truth {
	return simulated.Truth{
		Name: "nightly", Targets: []string{"zk"}, Partitions: []int{1000}, Trials: 10, Seed: uint64(night) + 1,
		Metrics: []string{"controlled-shutdown.moved"}, Noise: &simulated.Noise{Sigma: 0.02},
		Started: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, night),
		Value:   func(simulated.Point) float64 { return 100e6 * factor },
	}
}

func number(ts *testscript.TestScript, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	ts.Check(err)
	return v
}

// makeNight writes the run folder of one night: mknight OUT NIGHT FACTOR.
// With a fourth word it is invalid, and the word is why.
func makeNight(ts *testscript.TestScript, _ bool, args []string) {
	t := nightTruth(int(number(ts, args[1])), number(ts, args[2]))
	if len(args) > 3 {
		t.Edit = func(m *results.Manifest) {
			m.Cells[0].Verdict = results.Invalid
			m.Reasons = append(m.Reasons, args[3])
		}
	}
	_, err := simulated.Write(ts.MkAbs(args[0]), t)
	ts.Check(err)
}

// makeHistory adds nights 0 to N-1 to a history: mkhistory HISTORY N. A third
// word names another spec, of other cells.
func makeHistory(ts *testscript.TestScript, _ bool, args []string) {
	for night := range int(number(ts, args[1])) {
		truth := nightTruth(night, 1)
		if len(args) > 2 {
			truth.Name, truth.Partitions = args[2], []int{2000}
			truth.Started = truth.Started.Add(time.Hour)
		}
		r, err := simulated.New(truth)
		ts.Check(err)
		n, err := history.FromRun(r)
		ts.Check(err)
		_, err = history.Add(ts.MkAbs(args[0]), n)
		ts.Check(err)
	}
}

// makePairs writes the folder of an interleaved comparison in which the second
// side is changed by a factor: mkpairs OUT PAIRS FACTOR.
func makePairs(ts *testscript.TestScript, _ bool, args []string) {
	pairs, factor := int(number(ts, args[1])), number(ts, args[2])
	t := nightTruth(0, 1)
	t.Name, t.Variants, t.Trials, t.Repeats = "ab base vs linger", []string{"base", "linger"}, 3, pairs+1
	t.Value = func(p simulated.Point) float64 {
		if p.Variant == "base" {
			return 100e6
		}
		return 100e6 * factor
	}
	t.Edit = func(m *results.Manifest) {
		m.Comparison = &results.Comparison{
			Base: results.ComparedSide{Name: "base"}, Variant: results.ComparedSide{Name: "linger"},
			Matches: []results.MatchedCell{{Point: "1k", Base: m.Cells[0].ID, Variant: m.Cells[1].ID}},
			Metric:  "controlled-shutdown.moved", Margin: 0.05, Pairs: pairs, Warmup: 1,
		}
	}
	_, err := simulated.Write(ts.MkAbs(args[0]), t)
	ts.Check(err)
}
