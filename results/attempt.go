package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Attempt is one cluster that was built for a cell and a repeat of it, in the
// order in which they ran. The attempts of one repeat but the last were
// dropped.
type Attempt struct {
	Repeat  int       `json:"repeat"`  // from 1
	Number  int       `json:"attempt"` // of this repeat, from 1
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Verdict Verdict   `json:"verdict"`
	Reasons []string  `json:"reasons,omitempty"` // why not valid
	// Dropped says why nothing of the attempt is counted, valid as it may be;
	// empty where it is counted. Its samples stay in trials.csv, as invalid.
	Dropped string `json:"dropped,omitempty"`
}

// Retried counts the attempts of the cell that were dropped and made again.
func (c Cell) Retried() int {
	n := 0
	for _, a := range c.Attempts {
		if a.Number > 1 {
			n++
		}
	}
	return n
}

type cellRepeat struct {
	cell   string
	repeat int
}

// uncounted finds the repeats of which no attempt was meant to count: they
// warmed the machine up, and nothing in them was found invalid.
func uncounted(cells []Cell) map[cellRepeat]bool {
	out := make(map[cellRepeat]bool)
	for _, c := range cells {
		for _, a := range c.Attempts {
			out[cellRepeat{c.ID, a.Repeat}] = a.Dropped != ""
		}
	}
	return out
}

// Comparison is what an interleaved comparison fixed before it measured
// anything, so that its folder can be judged again.
type Comparison struct {
	Base    ComparedSide  `json:"base"`
	Variant ComparedSide  `json:"variant"`
	Matches []MatchedCell `json:"matches"` // the first ones decide where they measure Metric
	Metric  string        `json:"metric"`  // the primary one, metric.phase; the first of several
	// Metrics are the primary ones where there are several.
	Metrics []string `json:"metrics,omitempty"`
	Margin  float64  `json:"margin"` // within which the sides are the same: 0.05 is 5 %
	Pairs   int      `json:"pairs"`  // counted pairs of each match; their repeats follow the warm-up's
	Warmup  int      `json:"warmupPairs"`
}

// Primary are all primary metrics.
func (c *Comparison) Primary() []string {
	if len(c.Metrics) > 0 {
		return c.Metrics
	}
	return []string{c.Metric}
}

// ComparedSide is one side of a comparison.
type ComparedSide struct {
	Name     string `json:"name"`
	SpecHash string `json:"specHash"`
	SpecYAML string `json:"specYaml"` // normalised
}

// MatchedCell names the cells of both sides that are compared at one point.
type MatchedCell struct {
	Point   string `json:"point"`
	Base    string `json:"base"`    // a cell's ID
	Variant string `json:"variant"` // a cell's ID
}

// Mark is a place in what a Writer has written; see Drop.
type Mark struct {
	rows  int // of trials.csv, without its header
	hlogs int
}

// droppedRows are samples that Commit marks as invalid.
type droppedRows struct {
	from, to int
	reason   string
}

// Mark is where the writer is now.
func (w *Writer) Mark() Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Mark{w.rows, len(w.hlogs)}
}

// Drop takes what was written between two marks out of the figures: its
// samples stay in trials.csv as invalid ones, with the reason, and its
// histograms stay as raw material under a name that ends in label, which must
// be unique and no number.
func (w *Writer) Drop(from, to Mark, label, reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if from.rows < to.rows {
		w.dropped = append(w.dropped, droppedRows{from.rows, to.rows, reason})
	}
	for i, name := range w.hlogs[from.hlogs:to.hlogs] {
		to := strings.TrimSuffix(name, ".hlog") + "." + label + ".hlog"
		if err := os.Rename(filepath.Join(w.dir, name), filepath.Join(w.dir, to)); err != nil {
			return fmt.Errorf("drop %s: %w", name, err)
		}
		w.hlogs[from.hlogs+i] = to
	}
	return nil
}

// Samples reads back what was written between two marks.
func (w *Writer) Samples(from, to Mark) ([]Sample, error) {
	if err := w.Flush(); err != nil {
		return nil, err
	}
	all, err := readAt(w.dir, trialsName, readSamples)
	if err != nil {
		return nil, err
	}
	return slices.Clone(all[from.rows:to.rows]), nil
}

// markDropped writes trials.csv anew with the samples of dropped attempts as
// invalid. The writer is closed: nobody else has the file.
func (w *Writer) markDropped() error {
	if len(w.dropped) == 0 {
		return nil
	}
	samples, err := readAt(w.dir, trialsName, readSamples)
	if err != nil {
		return err
	}
	for _, d := range w.dropped {
		for i := range samples[d.from:d.to] {
			s := &samples[d.from+i]
			if s.Valid {
				s.Valid, s.Reason = false, d.reason
			}
		}
	}
	return writeSamples(filepath.Join(w.dir, trialsName), filepath.Join(w.dir, journalTrials), samples)
}

// writeSamples replaces the file at path, which is kept under another name until
// the folder is finished.
func writeSamples(path, kept string, samples []Sample) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	cw, err := sampleWriter(f)
	for i := 0; i < len(samples) && err == nil; i++ {
		err = cw.Write(samples[i].row())
	}
	if err == nil {
		cw.Flush()
		err = cw.Error()
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(path, kept)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return nil
}
