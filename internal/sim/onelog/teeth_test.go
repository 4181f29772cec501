//go:build teeth

package onelog

import (
	"testing"

	"kbench/internal/sim/plant"
)

// TestTeeth builds the simulation once for each planted bug and requires that a
// named invariant breaks on a seed that passes without the bug.
func TestTeeth(t *testing.T) {
	plant.Teeth(t, sourceDir, plantedBugs, 1000, func(_ plant.Bug, seed uint64) string {
		if v := Run(Options{Seed: seed, Events: events}).Violation; v != nil {
			return v.String()
		}
		return ""
	})
}
