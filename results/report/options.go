package report

import (
	"maps"
	"slices"

	"kbench/results"
)

// options lists, by path, the settings that the variants of a target have with
// other values than its base, so that a report names what each of them is.
// Settings that are swept are points, not sides.
func (rep *Report) options() []results.Contrast {
	bySide := make(map[string]results.Cell)
	byTarget := make(map[string][]string) // sides
	swept := make(map[string]bool)
	paths := make(map[string]bool)
	for i, c := range rep.Run.Cells {
		for _, p := range c.Point {
			swept[p.Axis] = true
		}
		side := rep.CellPoint[i].Side
		if _, had := bySide[side]; had {
			continue
		}
		bySide[side] = c
		byTarget[c.Target] = append(byTarget[c.Target], side)
		for path := range c.Config {
			paths[path] = true
		}
	}
	var out []results.Contrast
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if swept[path] {
			continue
		}
		row := results.Contrast{What: path, Values: make(map[string]string)}
		for _, sides := range byTarget {
			first := bySide[sides[0]].Config[path]
			if !slices.ContainsFunc(sides, func(s string) bool { return bySide[s].Config[path] != first }) {
				continue
			}
			for _, s := range sides {
				row.Values[s] = bySide[s].Config[path]
			}
		}
		if len(row.Values) > 0 {
			out = append(out, row)
		}
	}
	return out
}
