package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kbench/results"
)

// Report is what every form of report shows: report.json is this struct, a
// documented contract. Fields are added, never changed in meaning, within a
// schema version.
type Report struct {
	Format        string           `json:"format"` // "kbench-report"
	SchemaVersion int              `json:"schemaVersion"`
	Run           results.Manifest `json:"run"`
	Sides         []string         `json:"sides"`  // targets and variants, in the order of reports
	Points        []string         `json:"points"` // of the sweep
	CellPoint     []CellPlace      `json:"cellPlaces"`
	Figures       []results.Figure `json:"figures"`
}

// CellPlace says in which column and row group a cell's figures stand.
type CellPlace struct {
	Cell  string `json:"cell"`
	Side  string `json:"side"`
	Point string `json:"point"`
}

// New describes a run.
func New(r *results.Run) (*Report, error) {
	figs, err := r.Figures()
	if err != nil {
		return nil, err
	}
	cells := r.Manifest.Cells
	rep := &Report{
		Format: "kbench-report", SchemaVersion: results.SchemaVersion, Run: r.Manifest,
		Sides: results.Sides(cells), Points: results.Points(cells), Figures: figs,
	}
	for _, c := range cells {
		rep.CellPoint = append(rep.CellPoint, CellPlace{c.ID, c.Side(), c.PointLabel()})
	}
	return rep, nil
}

// JSON is the machine-readable form.
func (rep *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(rep, "", "  ")
	return append(b, '\n'), err
}

// block is one metric as a table: rows of phase and point, a group of columns
// for each side.
type block struct {
	metric   results.Metric
	workload string
	rows     []blockRow
}

// title names the metric, and the workload where it is not the metric's own.
func (b block) title() string {
	if b.workload == b.metric.Workload {
		return b.metric.Name
	}
	return b.metric.Name + " during " + b.workload
}

type blockRow struct {
	phase    results.Phase
	headline bool
	point    string
	cells    []*results.Figure // by side; nil where nothing was measured
}

// blocks arranges the figures, metrics and phases in the catalogue's order.
func (rep *Report) blocks() []block {
	place := make(map[string]CellPlace)
	for _, p := range rep.CellPoint {
		place[p.Cell] = p
	}
	at := make(map[[5]string]*results.Figure)
	var order [][2]string // metric and workload
	for i := range rep.Figures {
		f := &rep.Figures[i]
		p := place[f.Cell]
		at[[5]string{f.Metric, f.Workload, f.Phase, p.Point, p.Side}] = f
		if k := [2]string{f.Metric, f.Workload}; !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	// Cells may have measured different workloads: the catalogue's order holds.
	slices.SortStableFunc(order, func(a, b [2]string) int { return cmp.Compare(metricIndex(a[0]), metricIndex(b[0])) })
	var out []block
	for _, k := range order {
		m, _, _ := results.FindMetric(k[0])
		b := block{metric: m, workload: k[1]}
		for _, ph := range m.Phases {
			for _, point := range rep.Points {
				row := blockRow{phase: ph, headline: ph.Name == m.Headline, point: point}
				found := false
				for _, s := range rep.Sides {
					f := at[[5]string{k[0], k[1], ph.Name, point, s}]
					found = found || f != nil
					row.cells = append(row.cells, f)
				}
				if found {
					b.rows = append(b.rows, row)
				}
			}
		}
		out = append(out, b)
	}
	return out
}

func metricIndex(name string) int {
	return slices.IndexFunc(results.Metrics(), func(m results.Metric) bool { return m.Name == name })
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
// given by target; a variant has its target's.
func (rep *Report) contrasts() []results.Contrast {
	out := rep.stores()
	for _, d := range rep.Run.Differences {
		if d.What == out[0].What {
			continue
		}
		c := results.Contrast{What: d.What, Values: make(map[string]string)}
		for i, cell := range rep.Run.Cells {
			c.Values[rep.CellPoint[i].Side] = d.Values[cell.Target]
		}
		out = append(out, c)
	}
	return out
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
		}
		for _, note := range c.Notes {
			add("note: %s", note)
		}
	}
	told := slices.ContainsFunc(rep.Run.Warnings, func(w string) bool { return strings.Contains(w, "data directory is on") })
	if rep.Run.Environment.OnMemory() && !told {
		add("warning: the data directory is on %s, a memory file system: fsync costs nothing there and nothing is durable", rep.Run.Environment.FileSystem)
	}
	for _, w := range rep.Run.Warnings {
		add("warning: %s", w)
	}
	for _, o := range rep.Run.Thresholds {
		add("threshold %s", o)
	}
	var invalid int64
	for _, f := range rep.Figures {
		if f.Headline {
			invalid += f.Invalid
		}
	}
	if invalid > 0 {
		add("%d invalid trials are not in the figures; trials.csv has their reasons", invalid)
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
