package history

import (
	"fmt"
	"time"

	"kbench/results"
)

// ToRun makes a run of what the history keeps of a night, held in memory: its
// valid values, its environment and its cells. Exports of runs work on it.
// Settings of the cells, invalid values and phases that are raw material are
// not there.
func (n *Night) ToRun() (*results.Run, error) {
	m := results.Manifest{
		ID: n.Run, Name: n.Spec, Started: n.Started, Ended: n.Started, SpecHash: n.SpecHash, Provider: n.Provider, Environment: n.Environment,
		Tool:     results.Tool{Version: n.Version, Commit: n.Commit, Dirty: n.Dirty},
		Observed: results.Observed{Load1: n.Load1, FsyncP50: time.Duration(n.FsyncNs)}, Warnings: n.Warnings,
	}
	var samples []results.Sample
	logs := make(map[string]*results.Hlog)
	var order []string
	for i := range n.Cells {
		c := &n.Cells[i]
		m.Cells = append(m.Cells, results.Cell{
			ID: c.ID, Target: c.Target, Variant: c.Variant, Point: c.Point, Partitions: c.Partitions, Store: c.Store,
			Verdict: c.Verdict, Reasons: c.Reasons,
		})
		for j := range c.Figures {
			f := &c.Figures[j]
			for k, rep := range f.Repeats {
				samples = append(samples, rep.samples(c, f, k+1)...)
				if rep.Histogram == nil {
					continue
				}
				d, err := rep.Histogram.Distribution()
				if err != nil {
					return nil, fmt.Errorf("run %s of the history, %s of %s: %w; restore its line from git, or remove it and add the run again", n.Run, f.Name(), c.ID, err)
				}
				name := results.HlogFigure(f.Workload, f.Metric, k+1)
				key := c.ID + "." + name
				if logs[key] == nil {
					logs[key] = &results.Hlog{Cell: c.ID, Name: name}
					order = append(order, key)
				}
				logs[key].Intervals = append(logs[key].Intervals, results.Interval{Tag: f.Phase, Start: n.Started, End: n.Started, Dist: d})
			}
		}
	}
	hlogs := make([]results.Hlog, len(order))
	for i, key := range order {
		hlogs[i] = *logs[key]
	}
	r, err := results.NewRun(m, samples, hlogs...)
	if err != nil {
		return nil, fmt.Errorf("run %s of the history: %w", n.Run, err)
	}
	return r, nil
}

func (r *Repeat) samples(c *Cell, f *Figure, repeat int) []results.Sample {
	var out []results.Sample
	for i, v := range r.Values {
		out = append(out, results.Sample{
			Cell: c.ID, Workload: f.Workload, Repeat: repeat, Trial: i + 1, Metric: f.Name(), Value: v, Unit: f.Unit, Valid: true,
		})
	}
	return out
}
