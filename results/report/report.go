package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kbench/results"
	"kbench/results/paired"
)

// Report is what every form of report shows: report.json is this struct, a
// documented contract (see Schema). Fields are added, never changed in meaning,
// within a schema version. Timelines of faults and resources are not in it: they
// are drawn from events.jsonl and metrics.jsonl, which hold every value.
type Report struct {
	Format        string            `json:"format"` // "kbench-report"
	SchemaVersion int               `json:"schemaVersion"`
	Run           results.Manifest  `json:"run"`
	Sides         []string          `json:"sides"`  // targets and variants, in the order of reports
	Points        []string          `json:"points"` // of the sweep
	CellPoint     []CellPlace       `json:"cellPlaces"`
	Figures       []results.Figure  `json:"figures"`
	How           map[string]string `json:"how,omitempty"` // by workload: kill, pause, resign; absent where there is one way only
	Comparisons   []Comparison      `json:"comparisons"`   // of headlines, each side with the first
	Curves        []Curve           `json:"curves"`        // of every phase that has a histogram
	Brokers       []BrokerFigure    `json:"brokers"`       // each broker's own propagation
	Operations    []Operations      `json:"operations"`    // what became of what the generators sent
	Outages       []Outages         `json:"outages"`       // of workloads that produce to probed partitions
	Resources     []NodeUse         `json:"resources"`     // what each node used
	Excluded      []Excluded        `json:"excluded"`      // invalid trials, the first of them
	ExcludedMore  int               `json:"excludedMore"`  // invalid trials beyond those listed
	Outliers      []Outlier         `json:"outliers"`      // flagged, not dropped

	Availability     []Availability `json:"availability"`     // of workloads that produce while they work on the cluster, by valid trial
	AvailabilityMore int            `json:"availabilityMore"` // valid trials beyond those listed

	pairs     *paired.Analysis        // of an interleaved comparison
	values    map[figureKey][]float64 // of valid trials, or the medians of repeats
	timelines []*timeline
	excluded  map[trialKey]bool // every invalid trial
	invalid   int               // those of them that were meant to count
}

// CellPlace says in which column and row group a cell's figures stand.
type CellPlace struct {
	Cell  string `json:"cell"`
	Side  string `json:"side"`
	Point string `json:"point"`
}

// figureKey names the values of a phase in a cell.
type figureKey struct{ cell, workload, metric, phase string }

// SchemaVersion is the version of report.json.
const SchemaVersion = 1

// New describes a run. It reads the folder's histograms, events and metrics
// once, piece by piece; what it keeps is bounded by the number of cells.
func New(r *results.Run) (*Report, error) {
	cells := r.Manifest.Cells
	rep := &Report{
		Format: "kbench-report", SchemaVersion: SchemaVersion, Run: r.Manifest,
		Sides: results.Sides(cells), Points: results.Points(cells),
		Comparisons: []Comparison{}, Curves: []Curve{}, Brokers: []BrokerFigure{}, Operations: []Operations{}, Outages: []Outages{},
		Resources: []NodeUse{}, Excluded: []Excluded{}, Outliers: []Outlier{}, Availability: []Availability{}, values: make(map[figureKey][]float64), excluded: make(map[trialKey]bool),
	}
	for _, c := range cells {
		rep.CellPoint = append(rep.CellPoint, CellPlace{c.ID, c.Side(), c.PointLabel()})
	}
	var err error
	if rep.Figures, err = r.FiguresAndEach(rep.takeHistogram); err != nil {
		return nil, err
	}
	rep.takeSamples(r.Samples)
	if len(rep.Sides) > 1 && r.Manifest.Comparison == nil {
		if err := rep.takeRepeats(r); err != nil {
			return nil, err
		}
	}
	if err := rep.takeStory(r); err != nil {
		return nil, err
	}
	if r.Manifest.Comparison != nil && r.Manifest.Verdict == results.Valid {
		if rep.pairs, err = paired.Analyse(r, paired.Options{}); err != nil {
			return nil, err
		}
	}
	rep.compare()
	return rep, nil
}

// JSON is the machine-readable form.
func (rep *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(rep, "", "  ")
	return append(b, '\n'), err
}

// pointHeader names the column of points.
func (rep *Report) pointHeader() string {
	for _, c := range rep.Run.Cells {
		if len(c.Point) > 1 || len(c.Point) == 1 && c.Point[0].Axis != "cluster.partitions" {
			return "point"
		}
	}
	return "partitions"
}

// stores lists, for each side, where its metadata was.
func (rep *Report) stores() []results.Contrast {
	c := results.Contrast{What: "metadata store", Values: make(map[string]string)}
	for i, cell := range rep.Run.Cells {
		s := rep.CellPoint[i].Side
		if had := c.Values[s]; had == "" {
			c.Values[s] = cell.Store
		} else if cell.Store != "" && !strings.Contains(had, cell.Store) {
			c.Values[s] = had + "; " + cell.Store
		}
	}
	return []results.Contrast{c}
}

// contrasts is what differs between the sides, the store first. Contrasts are
// given by target; a variant has its target's, and then its own settings.
func (rep *Report) contrasts() []results.Contrast {
	out := rep.stores()
	for _, d := range rep.Run.Differences {
		if d.What == out[0].What {
			continue
		}
		c := results.Contrast{What: d.What, Values: make(map[string]string)}
		for i, cell := range rep.Run.Cells {
			c.Values[rep.CellPoint[i].Side] = d.Of(cell)
		}
		out = append(out, c)
	}
	return append(out, rep.options()...)
}

// remarks are what a reader must know beside the figures: cells that do not
// count, notes, warnings, failed thresholds.
func (rep *Report) remarks() []string {
	var out []string
	add := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if rep.Run.Interrupted {
		add("interrupted: what was measured until then is here")
	}
	for _, reason := range rep.Run.Reasons {
		add("%s: %s", rep.Run.Verdict, reason)
	}
	for _, c := range rep.Run.Cells {
		for _, reason := range c.Reasons {
			add("%s: %s: %s", c.Verdict, c.ID, reason)
		}
		for _, ch := range c.Checks {
			for _, f := range ch.Faults {
				add("%s: check %s: %s", c.ID, ch.Name, f)
			}
			if ch.Note != "" {
				add("note: %s: check %s: %s", c.ID, ch.Name, ch.Note)
			}
		}
		for _, note := range c.Notes {
			add("note: %s", note)
		}
	}
	told := slices.ContainsFunc(rep.Run.Warnings, func(w string) bool { return strings.Contains(w, "data directory is on") })
	if rep.Run.Environment.OnMemory() && !told {
		add("warning: the data directory is on %s, a memory file system: fsync costs nothing there and nothing is durable", rep.Run.Environment.FileSystem)
	}
	if load, cores := rep.Run.Observed.Load1, rep.Run.Environment.Cores; cores > 0 && load > float64(cores) {
		add("warning: the machine was busy when the run began: load %.1f on %d cores", load, cores)
	}
	for _, w := range rep.Run.Warnings {
		add("warning: %s", w)
	}
	for _, o := range rep.Run.Thresholds {
		add("threshold %s", o)
	}
	if rep.invalid > 0 {
		add("%s not in the figures; trials.csv and events.jsonl have their reasons", plural(rep.invalid, "invalid trial is", "invalid trials are"))
	}
	return out
}

// Write makes report.json, report.md and report.html in dir, each replaced
// whole. dir may be the run folder.
func Write(r *results.Run, dir string) error {
	rep, err := New(r)
	if err != nil {
		return err
	}
	j, err := rep.JSON()
	if err != nil {
		return err
	}
	h, err := rep.HTML()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write reports: %w", err)
	}
	for i, b := range [][]byte{j, []byte(rep.Markdown()), h} {
		if err := replaceFile(filepath.Join(dir, results.ReportNames[i]), b); err != nil {
			return fmt.Errorf("write reports: %w", err)
		}
	}
	return nil
}

func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), results.PartialPrefix+"report-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
