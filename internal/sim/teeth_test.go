//go:build teeth

package sim

import (
	"slices"
	"testing"

	"kbench/internal/sim/plant"
)

// huntSeeds is how many seeds a planted bug may take to be found: no more than
// what CI runs without it.
const huntSeeds = 2000

// TestTeeth builds the simulation once for each planted bug and requires that a
// named invariant breaks on a seed that passes without the bug.
func TestTeeth(t *testing.T) {
	plant.Teeth(t, sourceDir, plantedBugs, huntSeeds, func(b plant.Bug, seed uint64) string {
		if v := Run(huntOptions(seed, slices.Contains(b.Args, withMetadata))).Violation; v != nil {
			return v.String()
		}
		return ""
	})
}
