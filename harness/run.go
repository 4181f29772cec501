package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"kbench/results"
)

// Run runs every cell of the spec and writes one run folder. The end of ctx
// ends the current trial; what was measured until then is kept and written,
// the cluster is torn down and the manifest says that the run was interrupted.
// The error is for what kept a run folder from being written; a cell that
// failed is in the manifest, as invalid and with the reason.
func Run(ctx context.Context, o Options) (Outcome, error) {
	o.Name = cmp.Or(o.Name, o.Spec.Name)
	r := &runner{Options: o, started: time.Now()}
	r.runCell = r.cell
	if err := r.begin(); err != nil {
		return Outcome{}, err
	}
	w := r.w
	units := o.Units
	if units == nil {
		units = Matrix(o.Spec)
	}
	m := r.manifest()
	m.Cells = r.units(ctx, m, units)
	m.Ended, m.Interrupted = time.Now(), ctx.Err() != nil && r.finished < r.total
	if r.unkept != nil {
		m.Warnings = append(m.Warnings, r.unkept.Error())
	}
	m.Verdict = m.Overall()
	if m.Interrupted {
		m.Reasons = append(m.Reasons, fmt.Sprintf("interrupted: %d of %d cells finished", r.finished, r.total))
	}
	for _, c := range m.Cells {
		for _, reason := range c.Reasons {
			m.Reasons = append(m.Reasons, c.ID+": "+reason)
		}
	}
	m.Differences = contrasts(matrixOf(units), m.Cells)
	dir, err := w.Commit(m)
	if err != nil {
		return Outcome{}, r.unfinished(err)
	}
	return Outcome{Dir: dir, Manifest: m}, nil
}

// runner is one run under way.
type runner struct {
	Options
	w       *results.Writer
	started time.Time
	book    book
	done    int // units that the run which is resumed had finished
	total   int // clusters to measure, each repeat of a cell being one
	// finished counts those of total that were measured before an interrupt.
	finished int
	resumed  []string // how the run was taken up, for readers
	kept     *int     // units after which the run can be resumed; nil where it cannot
	unkept   error    // why a checkpoint could not be written
	runCell  func(ctx context.Context, t Turn, attempt, n, total int) results.Cell
}

func (r *runner) manifest() results.Manifest {
	env, seen := results.Describe(r.DataDir)
	m := results.Manifest{
		Name: r.Name, Started: r.started, EstimateNs: int64(r.Estimate), CommandLine: r.CommandLine, Tool: r.Tool,
		SpecHash: r.Spec.Hash(), SpecYAML: string(r.Spec.YAML()), Seed: r.Spec.Seed,
		Provider: r.Provider, ProviderWhy: r.ProviderWhy, Environment: env, Comparison: r.Comparison,
	}
	if probe, err := results.ProbeFsync(r.DataDir, 50); err == nil {
		seen.FsyncP50 = probe
	} else {
		m.Warnings = append(m.Warnings, err.Error())
	}
	m.Observed = seen
	for _, t := range r.Spec.Thresholds {
		if r.Comparison != nil {
			break // they bound a run, not the difference of two sides
		}
		m.Bounds = append(m.Bounds, t.Text)
	}
	if env.OnMemory() {
		m.Warnings = append(m.Warnings, fmt.Sprintf("the data directory is on %s: fsync costs nothing there and nothing is durable", env.FileSystem))
	}
	m.Warnings = append(append(m.Warnings, r.Warnings...), r.resumed...)
	for _, warning := range m.Warnings {
		r.say("warning: " + warning)
	}
	return m
}

// cell runs one cell from nothing to nothing and judges it.
func (r *runner) cell(ctx context.Context, t Turn, attempt, n, total int) results.Cell {
	c := t.Cell
	run := &cellRun{
		runner: r, spec: c, repeat: t.Repeat, attempt: attempt, n: n,
		rec: newRecorder(r.w, c.ID, t.Repeat), monitor: newMonitor(newProgress(c, n, total), r.progress),
		out: results.Cell{
			ID: c.ID, Target: string(c.Target), Variant: c.Variant, Partitions: c.Config.Cluster.Partitions,
			Config: c.Config.Map(), Hash: c.Hash, Started: time.Now(),
		},
	}
	for _, a := range c.Point {
		run.out.Point = append(run.out.Point, results.Coordinate{Axis: a.Path, Value: a.Value})
	}
	err := run.live(ctx)
	run.judge(ctx, err)
	run.out.Ended = time.Now()
	return run.out
}

// judge gives the verdict by rules fixed beforehand: an error, a failed check, an
// invalid trial or an interrupt makes the cell invalid; no trial at all leaves it
// inconclusive.
func (run *cellRun) judge(ctx context.Context, err error) {
	valid, invalid, slipped, written := run.rec.tally()
	fault := errors.Join(append(run.faults, err, written)...)
	switch {
	case ctx.Err() != nil:
		run.out.Verdict = results.Invalid
		run.out.Reasons = append(run.out.Reasons, "interrupted")
		if run.left != nil { // of the other errors the interrupt is the cause
			run.out.Reasons = append(run.out.Reasons, run.left.Error())
		}
	case fault != nil:
		run.out.Verdict = results.Invalid
		run.out.Reasons = append(run.out.Reasons, fault.Error())
	case valid == 0 && invalid == 0 && slipped == 0:
		run.out.Verdict = results.Inconclusive
		run.out.Reasons = append(run.out.Reasons, "nothing was measured")
	default:
		run.out.Verdict = results.Valid
	}
	if invalid > 0 && run.out.Verdict == results.Valid {
		run.out.Verdict = results.Invalid
		run.out.Reasons = append(run.out.Reasons, fmt.Sprintf("%d of %d trials are invalid", invalid, valid+invalid))
	}
	if slipped > 0 {
		trials := "1 trial was"
		if slipped > 1 {
			trials = fmt.Sprintf("%d trials were", slipped)
		}
		run.out.Notes = append(run.out.Notes, fmt.Sprintf("%s: %s run again, since the generator slipped", run.spec.ID, trials))
	}
	for _, check := range run.out.Checks {
		if !check.OK {
			run.out.Verdict = results.Invalid
			run.out.Reasons = append(run.out.Reasons, "check failed: "+check.Name)
		}
	}
	for _, reason := range run.out.Reasons {
		run.say(fmt.Sprintf("%s: %s", run.spec.ID, reason))
	}
}
