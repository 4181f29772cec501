package compare

import (
	"fmt"
	"slices"

	"kbench/results"
)

// fsyncTolerance is by which factor the fsync probes of two runs may differ:
// they are values of the moment, not part of the environment.
const fsyncTolerance = 2

// warn names what makes the numbers doubtful and is no reason to refuse them.
func (b *builder) warn() {
	say := func(format string, args ...any) {
		b.out.Warnings = append(b.out.Warnings, fmt.Sprintf(format, args...))
	}
	first := &b.inputs[0].Run.Manifest
	for run, in := range b.inputs {
		m, name := &in.Run.Manifest, b.runName(run)
		if m.Interrupted {
			say("%s was interrupted: what it measured until then is compared", name)
		}
		if cores := m.Environment.Cores; cores > 0 && m.Observed.Load1 > float64(cores) {
			say("%s began on a busy machine: load %.1f on %d cores", name, m.Observed.Load1, cores)
		}
		if m.Environment.OnMemory() {
			say("%s kept its data on %s: fsync costs nothing there", name, m.Environment.FileSystem)
		}
		if run == 0 {
			continue
		}
		x, y := first.Observed.FsyncP50, m.Observed.FsyncP50
		if x > 0 && y > 0 && max(x, y) > fsyncTolerance*min(x, y) {
			say("the disk was not the same: an fsync took %s before %s and %s before %s", results.FormatValue(float64(x), results.Nanoseconds), b.runName(0), results.FormatValue(float64(y), results.Nanoseconds), name)
		}
		for earlier := range run {
			if sameRun(b.inputs[earlier].Run, in.Run) {
				say("%s and %s are the same run", b.runName(earlier), name)
			}
		}
	}
}

// sameRun reports whether two inputs are one folder or copies of it.
func sameRun(a, b *results.Run) bool {
	return a == b || len(a.Manifest.Files) > 0 && a.Manifest.ID == b.Manifest.ID && slices.Equal(a.Manifest.Files, b.Manifest.Files)
}

// runName names a run as its sides do.
func (b *builder) runName(run int) string {
	if len(b.inputs) == 1 {
		return "the run"
	}
	return letters(run)
}
