package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kbench/harness/spec"
	"kbench/results"
)

// warmupReason marks the turns of pairs that warm the machine up.
const warmupReason = "warm-up pair"

// Side is one side of an interleaved comparison.
type Side struct {
	Name  string // for people, such as linger-5ms
	Spec  *spec.Spec
	Cells []spec.Cell // those to compare, with IDs that no cell of the other side has
}

// Interleave orders the pairs of two sides as A B, B A, A B and so on, point
// by point, so that what drifts in the machine hurts both alike. The first
// warmup pairs are not counted. It is an error, meant for the user, where the
// sides have no cells that belong together.
func Interleave(base, variant Side, pairs, warmup int) ([]Unit, []results.MatchedCell, error) {
	matched, labels, err := matchCells(base, variant)
	if err != nil {
		return nil, nil, err
	}
	var out []Unit
	for pair := 1; pair <= warmup+pairs; pair++ {
		why := ""
		if pair <= warmup {
			why = warmupReason
		}
		for _, m := range matched {
			u := Unit{{m[0], pair, why}, {m[1], pair, why}}
			if pair%2 == 0 {
				slices.Reverse(u)
			}
			out = append(out, u)
		}
	}
	cells := make([]results.MatchedCell, len(matched))
	for i, m := range matched {
		cells[i] = results.MatchedCell{Point: labels[i], Base: m[0].ID, Variant: m[1].ID}
	}
	return out, cells, nil
}

// matchCells finds the cells of both sides that stand at the same point of the
// sweep and, where a side has several targets, have the same target. One cell
// against one always matches: two targets, or two sizes.
func matchCells(base, variant Side) (matched [][2]spec.Cell, labels []string, err error) {
	if len(base.Cells) == 1 && len(variant.Cells) == 1 {
		a, b := pointOf(base.Cells[0]), pointOf(variant.Cells[0])
		if a != b {
			a += " against " + b
		}
		return [][2]spec.Cell{{base.Cells[0], variant.Cells[0]}}, []string{a}, nil
	}
	several := len(targetsOf(base.Cells)) > 1 || len(targetsOf(variant.Cells)) > 1
	label := func(c spec.Cell) string {
		if several {
			return string(c.Target) + " " + pointOf(c)
		}
		return pointOf(c)
	}
	var left []string
	rest := slices.Clone(variant.Cells)
	for _, a := range base.Cells {
		i := slices.IndexFunc(rest, func(b spec.Cell) bool { return label(a) == label(b) })
		if i < 0 {
			left = append(left, fmt.Sprintf("%s of %s", label(a), base.Name))
			continue
		}
		matched, labels = append(matched, [2]spec.Cell{a, rest[i]}), append(labels, label(a))
		rest = slices.Delete(rest, i, i+1)
	}
	for _, b := range rest {
		left = append(left, fmt.Sprintf("%s of %s", label(b), variant.Name))
	}
	switch {
	case len(left) > 0:
		return nil, nil, fmt.Errorf("nothing stands beside %s; give both sides the same points, and the same targets or one each, such as with --partitions and --targets", strings.Join(left, ", "))
	case len(matched) == 0:
		return nil, nil, errors.New("the sides have no cells")
	}
	return matched, labels, nil
}

func targetsOf(cells []spec.Cell) []spec.Target {
	var out []spec.Target
	for _, c := range cells {
		if !slices.Contains(out, c.Target) {
			out = append(out, c.Target)
		}
	}
	return out
}

// pointOf labels a cell's point of the sweep as reports do.
func pointOf(c spec.Cell) string {
	r := results.Cell{Partitions: c.Config.Cluster.Partitions}
	for _, a := range c.Point {
		r.Point = append(r.Point, results.Coordinate{Axis: a.Path, Value: a.Value})
	}
	return r.PointLabel()
}
