//go:build teeth

package zkcluster

import (
	"testing"

	"kbench/internal/sim/plant"
)

// huntSeeds is how many seeds a planted bug may take to be found: those that
// run without it in every test.
const huntSeeds = 2000

// TestTeeth builds the simulation once for each planted bug and requires that a
// named invariant breaks on a seed that passes without the bug.
func TestTeeth(t *testing.T) {
	plant.Teeth(t, sourceDir, plantedBugs, huntSeeds, func(_ plant.Bug, seed uint64) string {
		if v := Run(Options{Seed: seed, Events: events}).Violation; v != nil {
			return v.String()
		}
		return ""
	})
}
