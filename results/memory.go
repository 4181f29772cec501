package results

import (
	"errors"
	"fmt"
	"slices"
)

// Hlog is the histograms of one cell under one name, as Writer.Hlog takes
// them.
type Hlog struct {
	Cell      string
	Name      string // of HlogFigure where it enters the figures
	Intervals []Interval
}

// errNoFolder answers what only a folder could.
var errNoFolder = errors.New("the run is held in memory: it has no events")

// NewRun makes a run that no folder holds, judged as Commit judges one: for
// simulations of thousands of nights. Its Dir is empty, its events are not
// there. The samples and histograms are the run's afterwards.
func NewRun(m Manifest, samples []Sample, hlogs ...Hlog) (*Run, error) {
	m.Format, m.SchemaVersion = "kbench-run", SchemaVersion
	m.EnvHash = m.Environment.Hash()
	if m.ID == "" {
		m.ID = runID(m.Name, m.Started)
	}
	r := &Run{Samples: samples, hlogs: make(map[string][]Interval, len(hlogs))}
	for i, s := range samples {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("sample %d of %d: %w", i+1, len(samples), err)
		}
		if !slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.ID == s.Cell }) {
			return nil, fmt.Errorf("sample %d of %d is of cell %q, which the manifest does not list", i+1, len(samples), s.Cell)
		}
	}
	for _, h := range hlogs {
		r.hlogs[hlogName(h.Cell, h.Name)] = h.Intervals
	}
	r.Manifest = m
	if err := m.judgeBy(r); err != nil {
		return nil, err
	}
	r.Manifest = m
	return r, nil
}
