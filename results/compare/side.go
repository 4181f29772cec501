package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kbench/results"
)

// Input is one run to compare. Label is what the user called it.
type Input struct {
	Label string
	Run   *results.Run
}

// Options say what stands side by side.
type Options struct {
	// By makes targets or variants sides too: "target", "variant" or both.
	// Runs always are sides where there are several. Empty for one run means
	// its variants where it has any, else its targets.
	By []string
	// Ignore lists settings and fields of the environment that may differ, by
	// path; a path covers all under it.
	Ignore []string
}

// The dimensions that can be sides beside runs.
const (
	byTarget  = "target"
	byVariant = "variant"
)

// Dimensions lists what Options.By takes.
func Dimensions() []string { return []string{byTarget, byVariant} }

// maxRuns bounds the runs of one comparison.
const maxRuns = 64

// sideKey tells sides apart.
type sideKey struct {
	run             int
	target, variant string // empty where they are no side
}

// layout decides what is a side and what a row.
type layout struct {
	inputs  []Input
	targets bool // targets are sides
	variant bool // variants are sides
	axes    []string
}

func newLayout(inputs []Input, by []string) (*layout, error) {
	l := &layout{inputs: inputs, axes: []string{"cluster.partitions"}}
	if len(inputs) == 0 {
		return nil, errors.New("nothing to compare: name a run folder")
	}
	if len(inputs) > maxRuns {
		return nil, fmt.Errorf("%d runs are too many for one comparison; at most %d", len(inputs), maxRuns)
	}
	for _, d := range by {
		switch d {
		case byTarget:
			l.targets = true
		case byVariant:
			l.variant = true
		default:
			return nil, fmt.Errorf("%q is nothing to compare by; there are %s", d, strings.Join(Dimensions(), ", "))
		}
	}
	var targets, variants []string
	for _, in := range inputs {
		if in.Run.Manifest.Comparison != nil {
			return nil, fmt.Errorf("%s holds the interleaved pairs of `kbench ab`, which belong together: give it to `kbench ab` again", in.Label)
		}
		for _, c := range in.Run.Manifest.Cells {
			targets, variants = with(targets, c.Target), with(variants, c.Variant)
			for _, p := range c.Point {
				l.axes = with(l.axes, p.Axis)
			}
		}
	}
	if len(inputs) > 1 || len(by) > 0 {
		return l, nil
	}
	switch {
	case len(variants) > 1:
		l.variant = true
	case len(targets) > 1:
		l.targets = true
	default:
		return nil, fmt.Errorf("%s has one target and no variants: nothing to compare; name a second run", inputs[0].Label)
	}
	return l, nil
}

func with(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (l *layout) key(run int, c *results.Cell) sideKey {
	k := sideKey{run: run}
	if l.targets {
		k.target = c.Target
	}
	if l.variant {
		k.variant = c.Variant
	}
	return k
}

// sides lists the sides in the order of runs and cells.
func (l *layout) sides() ([]sideKey, []Side) {
	var keys []sideKey
	var out []Side
	for run, in := range l.inputs {
		m := &in.Run.Manifest
		found := false
		for i := range m.Cells {
			k := l.key(run, &m.Cells[i])
			if found = true; !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
		if !found {
			keys = append(keys, sideKey{run: run})
		}
	}
	for _, k := range keys {
		m := &l.inputs[k.run].Run.Manifest
		out = append(out, Side{
			Name: l.name(k), Label: l.inputs[k.run].Label, Run: m.ID, Target: k.target, Variant: k.variant,
			Spec: m.Name, Started: m.Started, Version: m.Tool.Version, Commit: m.Tool.Commit, Dirty: m.Tool.Dirty,
		})
	}
	return keys, out
}

// name is short: runs are letters, which the legend explains.
func (l *layout) name(k sideKey) string {
	var parts []string
	if len(l.inputs) > 1 {
		parts = append(parts, letters(k.run))
	}
	if k.target != "" {
		parts = append(parts, k.target)
	}
	if k.variant != "" {
		parts = append(parts, k.variant)
	}
	if len(parts) == 0 {
		return letters(k.run)
	}
	return strings.Join(parts, " ")
}

// letters names the runs A to Z, then AA and on.
func letters(n int) string {
	if n < 26 {
		return string(rune('A' + n))
	}
	return letters(n/26-1) + letters(n%26)
}

// point labels a cell's place in the sweep by the axes of all runs, so that a
// run that did not sweep stands beside one that did.
func (l *layout) point(c *results.Cell) string {
	bare := results.Cell{Partitions: c.Partitions}
	for _, axis := range l.axes {
		if v := axisValue(c, axis); v != "" {
			bare.Point = append(bare.Point, results.Coordinate{Axis: axis, Value: v})
		}
	}
	return bare.PointLabel()
}

func axisValue(c *results.Cell, axis string) string {
	for _, p := range c.Point {
		if p.Axis == axis {
			return p.Value
		}
	}
	return c.Config[axis]
}
