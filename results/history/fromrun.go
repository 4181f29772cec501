package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"kbench/results"
)

// FromRun makes the night of a run folder. Invalid and interrupted runs have a
// night too: they are shown, never compared.
func FromRun(r *results.Run) (*Night, error) {
	m := &r.Manifest
	if m.ID == "" || m.Started.IsZero() {
		return nil, fmt.Errorf("%s: the manifest has no id or no start; a history orders runs by them", r.Dir)
	}
	figs, err := r.Figures()
	if err != nil {
		return nil, fmt.Errorf("describe run %s: %w", m.ID, err)
	}
	n := &Night{
		At: m.Started.UTC(), Format: FormatVersion, Kind: kindRun, Run: m.ID, Digest: digest(r), Started: m.Started.Round(0),
		Spec: m.Name, SpecHash: m.SpecHash, EnvHash: m.EnvHash,
		Commit: m.Tool.Commit, Dirty: m.Tool.Dirty, Version: m.Tool.Version, Provider: m.Provider, Verdict: m.Verdict,
		Environment: m.Environment, Load1: m.Observed.Load1, FsyncNs: int64(m.Observed.FsyncP50),
		Warnings: warnings(m),
	}
	reps := newRepeats(r)
	for i := range m.Cells {
		c := cell(m, &m.Cells[i])
		for _, f := range figs {
			if f.Cell != c.ID {
				continue
			}
			out, err := reps.figure(f)
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", m.ID, err)
			}
			c.Figures = append(c.Figures, out)
		}
		n.Cells = append(n.Cells, c)
	}
	return n, nil
}

func cell(m *results.Manifest, c *results.Cell) Cell {
	out := Cell{
		ID: c.ID, Target: c.Target, Variant: c.Variant, Point: c.Point, Partitions: c.Partitions, Store: c.Store,
		Comparable: comparableKey(m, c), Verdict: c.Verdict, Reasons: c.Reasons,
	}
	if m.Interrupted && c.Verdict == results.Valid {
		out.Verdict, out.Reasons = results.Invalid, []string{"the run was interrupted"}
	}
	return out
}

// comparableKey is equal for the same cell in two nights where nothing but the
// measured program differs: settings, load, store, provider and environment are equal.
// The cell's own hash covers its settings and workloads; a folder without one
// is known by its settings.
func comparableKey(m *results.Manifest, c *results.Cell) string {
	settings := c.Hash
	if settings == "" {
		b, err := json.Marshal(c.Config) // keys are sorted
		if err != nil {
			panic("history: a map of strings: " + err.Error())
		}
		settings = string(b)
	}
	return shortHash(settings, c.Target, c.Variant, c.Store, m.Provider, strconv.Itoa(c.Partitions), m.EnvHash)
}

// digest identifies what a run measured: the files as they were written, or
// the samples of a run that no folder holds.
func digest(r *results.Run) string {
	parts := []string{r.Manifest.ID, r.Manifest.Started.UTC().Format(time.RFC3339Nano), r.Manifest.SpecHash}
	if len(r.Manifest.Files) > 0 {
		for _, f := range r.Manifest.Files {
			parts = append(parts, f.Name, f.SHA256)
		}
		return shortHash(parts...)
	}
	for _, s := range r.Samples {
		parts = append(parts, s.Cell, s.Workload, s.Metric, strconv.Itoa(s.Repeat), strconv.Itoa(s.Trial), strconv.FormatFloat(s.Value, 'g', -1, 64))
	}
	return shortHash(parts...)
}

// shortHash is 16 hexadecimal digits over the parts and their borders.
func shortHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, strconv.Itoa(len(p))+":"+p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// warnings are the run's own and what else makes a night's numbers doubtful.
func warnings(m *results.Manifest) []string {
	out := slices.Clone(m.Warnings)
	if m.Environment.OnMemory() && !slices.ContainsFunc(out, func(w string) bool { return strings.Contains(w, "fsync costs nothing") }) {
		out = append(out, fmt.Sprintf("the data directory was on %s: fsync costs nothing there", m.Environment.FileSystem))
	}
	if load, cores := m.Observed.Load1, m.Environment.Cores; cores > 0 && load > float64(cores) {
		out = append(out, fmt.Sprintf("the machine was busy when the run began: load %.1f on %d cores", load, cores))
	}
	if m.Interrupted {
		out = append(out, "the run was interrupted")
	}
	return out
}

// repeats finds what each repeat gave of a figure.
type repeats struct {
	run     *results.Run
	samples map[figureKey][]results.Sample // valid ones

	// The logs of the metric at hand, by repeat: its phases follow each other,
	// and those of a whole run would fill the memory.
	metric figureKey
	hlogs  map[int][]results.Interval
}

type figureKey struct{ cell, workload, name string }

func newRepeats(r *results.Run) *repeats {
	rs := &repeats{run: r, samples: make(map[figureKey][]results.Sample)}
	for _, s := range r.Samples {
		if s.Valid {
			key := figureKey{s.Cell, s.Workload, s.Metric}
			rs.samples[key] = append(rs.samples[key], s)
		}
	}
	return rs
}

func (rs *repeats) figure(f results.Figure) (Figure, error) {
	out := Figure{
		Workload: f.Workload, Metric: f.Metric, Phase: f.Phase, Headline: f.Headline, Unit: f.Unit,
		N: f.N, Invalid: f.Invalid, Min: f.Min, Median: f.Median, Max: f.Max,
		MedianLo: f.MedianLo, MedianHi: f.MedianHi, Percentiles: f.Percentiles,
	}
	if f.N == 0 {
		return out, nil
	}
	if f.Histogram {
		return out, rs.fromHistograms(f, &out)
	}
	return out, rs.fromSamples(f, &out)
}

// fromSamples splits the samples by repeat. More than MaxValues become a
// histogram.
func (rs *repeats) fromSamples(f results.Figure, out *Figure) error {
	samples := rs.samples[figureKey{f.Cell, f.Workload, f.Metric + "." + f.Phase}]
	slices.SortStableFunc(samples, func(a, b results.Sample) int {
		return cmp.Or(cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.Trial, b.Trial))
	})
	listed := len(samples) <= MaxValues || f.Unit != results.Nanoseconds
	for len(samples) > 0 {
		var values []float64
		for first := samples[0].Repeat; len(samples) > 0 && samples[0].Repeat == first; samples = samples[1:] {
			values = append(values, samples[0].Value)
		}
		s, err := results.Summarize(values)
		if err != nil {
			return err
		}
		r := Repeat{N: int64(s.N), Median: s.Median}
		if listed {
			r.Values = values
		} else {
			rec := results.NewRecorder(1)
			for _, v := range values {
				rec.Shard(0).Record(time.Duration(v))
			}
			if r.Histogram, err = pack(rec.Merged()); err != nil {
				return err
			}
		}
		out.Repeats = append(out.Repeats, r)
	}
	return nil
}

// fromHistograms takes each repeat's log.
func (rs *repeats) fromHistograms(f results.Figure, out *Figure) error {
	var n int64
	for repeat := 1; n < f.N && repeat <= maxRepeats; repeat++ {
		d := results.NewDistribution()
		intervals, err := rs.hlog(f, repeat)
		if err != nil {
			return err
		}
		for _, iv := range intervals {
			if iv.Tag == f.Phase {
				if err := d.Merge(iv.Dist); err != nil {
					return err
				}
			}
		}
		median, ok := d.Quantile(50)
		if !ok {
			continue
		}
		packed, err := pack(d)
		if err != nil {
			return err
		}
		out.Repeats = append(out.Repeats, Repeat{N: d.Count(), Median: float64(median), Histogram: packed})
		n += d.Count()
	}
	if n != f.N {
		return fmt.Errorf("%s.%s of %s: the repeats hold %d values, the figure %d", f.Metric, f.Phase, f.Cell, n, f.N)
	}
	return nil
}

// maxRepeats bounds the search for a repeat's log: an interrupted one has none.
const maxRepeats = 10_000

func (rs *repeats) hlog(f results.Figure, repeat int) ([]results.Interval, error) {
	if metric := (figureKey{f.Cell, f.Workload, f.Metric}); rs.hlogs == nil || rs.metric != metric {
		rs.metric, rs.hlogs = metric, make(map[int][]results.Interval)
	}
	if intervals, ok := rs.hlogs[repeat]; ok {
		return intervals, nil
	}
	intervals, err := rs.run.Hlog(f.Cell, results.HlogFigure(f.Workload, f.Metric, repeat))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rs.hlogs[repeat] = intervals // a repeat that was interrupted has none
	return intervals, nil
}
