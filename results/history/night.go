package history

import (
	"fmt"
	"math"
	"time"

	"kbench/results"
)

// FormatVersion is the version of a line of the file. A reader refuses newer
// ones and reads all older ones.
const FormatVersion = 1

// kinds of lines.
const (
	kindRun    = "run"
	kindAccept = "accept"
)

// Night is one run, as the history keeps it. Its fields must not be written to
// once it is in a Log.
type Night struct {
	At      time.Time `json:"at"` // the instant of the start, in UTC: lines sort by it
	Format  int       `json:"kbenchHistory"`
	Kind    string    `json:"kind"`
	Run     string    `json:"run"`     // the run folder's name
	Digest  string    `json:"digest"`  // of what it measured: two machines may name a run alike
	Started time.Time `json:"started"` // as the run's machine wrote it, with its offset

	Spec     string          `json:"spec"` // the spec's name
	SpecHash string          `json:"specHash"`
	EnvHash  string          `json:"environmentHash"`
	Commit   string          `json:"commit,omitempty"` // of the kbench that ran
	Dirty    bool            `json:"dirty,omitempty"`
	Version  string          `json:"version,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Verdict  results.Verdict `json:"verdict"`
	Load1    float64         `json:"load1"`             // run queue when it began, -1 where unknown
	FsyncNs  int64           `json:"fsyncNs,omitempty"` // median of the probe, 0 where not probed
	Warnings []string        `json:"warnings,omitempty"`

	Environment results.Environment `json:"environment"`
	Cells       []Cell              `json:"cells"`
}

// Cell is one cluster of a night.
type Cell struct {
	ID         string               `json:"id"`
	Target     string               `json:"target"`
	Variant    string               `json:"variant"`
	Point      []results.Coordinate `json:"point,omitempty"`
	Partitions int                  `json:"partitions"`
	Store      string               `json:"store,omitempty"`
	Comparable string               `json:"comparable"` // equal where two nights' cells may be compared
	Verdict    results.Verdict      `json:"verdict"`
	Reasons    []string             `json:"reasons,omitempty"` // why not valid
	Figures    []Figure             `json:"figures"`
}

// Figure is one phase of one metric, described in Unit.
type Figure struct {
	Workload    string             `json:"workload"`
	Metric      string             `json:"metric"` // without the phase
	Phase       string             `json:"phase"`
	Headline    bool               `json:"headline,omitempty"`
	Unit        results.Unit       `json:"unit"`
	N           int64              `json:"n"`
	Invalid     int64              `json:"invalid,omitempty"` // values of invalid trials, not in the figures
	Min         float64            `json:"min"`
	Median      float64            `json:"median"`
	Max         float64            `json:"max"`
	MedianLo    *float64           `json:"medianLo,omitempty"` // 95 % interval of the median
	MedianHi    *float64           `json:"medianHi,omitempty"`
	Percentiles map[string]float64 `json:"percentiles,omitempty"`
	Repeats     []Repeat           `json:"repeats,omitempty"`
}

// Repeat is what one repeat of the cell gave of a figure. Two repeats of one
// cell in one night are an A/A pair.
type Repeat struct {
	N      int64     `json:"n"`
	Median float64   `json:"median"`
	Values []float64 `json:"values,omitempty"` // valid trials in their order, at most MaxValues over all repeats

	Histogram *Histogram `json:"histogram,omitempty"` // of all values, where they are too many to list
}

// MaxValues is how many values of a figure are listed one by one; of more the
// histogram is kept.
const MaxValues = 200

// Name is metric.phase.
func (f *Figure) Name() string { return f.Metric + "." + f.Phase }

// Values are the valid trials of all repeats in their order. ok is false where
// histograms are kept in their stead. The slice is the caller's.
func (f *Figure) Values() (values []float64, ok bool) {
	for _, r := range f.Repeats {
		values = append(values, r.Values...)
	}
	return values, f.N > 0 && int64(len(values)) == f.N
}

// Usable reports whether a figure may enter comparisons; why says why not.
func (c *Cell) Usable(f *Figure) (ok bool, why string) {
	switch {
	case c.Verdict != results.Valid && len(c.Reasons) > 0:
		return false, fmt.Sprintf("%s: %s", c.Verdict, c.Reasons[0])
	case c.Verdict != results.Valid:
		return false, string(c.Verdict)
	case f.N == 0:
		return false, "no valid sample"
	}
	return true, ""
}

// Find returns a night's figure; both are nil where it has none.
func (n *Night) Find(cell, workload, name string) (*Cell, *Figure) {
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.ID != cell {
			continue
		}
		for j := range c.Figures {
			if f := &c.Figures[j]; f.Workload == workload && f.Name() == name {
				return c, f
			}
		}
	}
	return nil, nil
}

// identity tells one run from every other.
type identity struct{ run, digest string }

func (n *Night) identity() identity { return identity{n.Run, n.Digest} }

// check refuses what no kbench writes, so that a damaged line cannot become a
// verdict.
func (n *Night) check() error {
	switch {
	case n.Run == "":
		return fmt.Errorf("a run without a name")
	case n.Started.IsZero() || !n.At.Equal(n.Started):
		return fmt.Errorf("run %s: \"at\" %s and \"started\" %s are not one instant", n.Run, n.At.Format(time.RFC3339), n.Started.Format(time.RFC3339))
	}
	for i := range n.Cells {
		c := &n.Cells[i]
		for j := range c.Figures {
			if err := c.Figures[j].check(); err != nil {
				return fmt.Errorf("run %s, cell %q: %s: %w", n.Run, c.ID, c.Figures[j].Name(), err)
			}
		}
	}
	return nil
}

func (f *Figure) check() error {
	if f.N < 0 || f.Invalid < 0 {
		return fmt.Errorf("n is %d and invalid %d", f.N, f.Invalid)
	}
	if f.N == 0 {
		return nil
	}
	for name, v := range map[string]float64{"min": f.Min, "median": f.Median, "max": f.Max} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("%s is %v", name, v)
		}
	}
	if f.Min > f.Median || f.Median > f.Max {
		return fmt.Errorf("min %v, median %v and max %v are out of order", f.Min, f.Median, f.Max)
	}
	for _, r := range f.Repeats {
		for _, v := range append([]float64{r.Median}, r.Values...) {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return fmt.Errorf("a repeat holds the value %v", v)
			}
		}
	}
	return nil
}
