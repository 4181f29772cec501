package gate

import (
	"math/rand/v2"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/history"
	"kbench/results/simulated"
)

// calendar makes nights with known truths.
type calendar struct {
	metrics []string
	targets []string
	trials  int
	within  simulated.Noise // of the trials of one night
	nightly simulated.Noise // of whole nights
	seed    uint64
	bounds  []string
	change  func(night int, metric string) float64 // 1 where nil
	edit    func(night int, m *results.Manifest)

	factors map[string][]float64
	nights  int
}

func newCalendar(c calendar, nights int) *calendar {
	if c.targets == nil {
		c.targets = []string{"zk"}
	}
	if c.metrics == nil {
		c.metrics = []string{"controlled-shutdown.moved"}
	}
	if c.trials == 0 {
		c.trials = 10
	}
	c.nights, c.factors = nights, make(map[string][]float64)
	for i, t := range c.targets {
		for j, m := range c.metrics {
			c.factors[t+m] = c.nightly.Series(rand.New(rand.NewPCG(c.seed, uint64(i*100+j))), nights)
		}
	}
	return &c
}

// run makes the run of one night, from 0.
func (c *calendar) run(t testing.TB, night int) *results.Run {
	t.Helper()
	r, err := simulated.New(simulated.Truth{
		Name: "nightly", Targets: c.targets, Partitions: []int{1000}, Metrics: c.metrics, Trials: c.trials,
		Seed: c.seed<<20 + uint64(night), Started: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, night),
		Bounds: c.bounds, Noise: &c.within,
		Value: func(p simulated.Point) float64 {
			v := 100e6 * c.factors[p.Target+p.Metric][night]
			if c.change != nil {
				v *= c.change(night, p.Metric)
			}
			return v
		},
		Edit: func(m *results.Manifest) {
			if c.edit != nil {
				c.edit(night, m)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// log is the history of the nights from first to before.
func (c *calendar) log(t testing.TB, first, before int) *history.Log {
	t.Helper()
	var l history.Log
	for night := first; night < before; night++ {
		add(t, &l, c.run(t, night))
	}
	return &l
}

func add(t testing.TB, l *history.Log, r *results.Run) {
	t.Helper()
	n, err := history.FromRun(r)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Insert(n) {
		t.Fatalf("%s twice", n.Run)
	}
}

// judge judges the last night by all before it.
func (c *calendar) judge(t testing.TB, o Options) *Report {
	t.Helper()
	r, err := Judge(c.run(t, c.nights-1), c.log(t, 0, c.nights-1), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
