//go:build teeth

package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// huntSeeds is how many seeds a planted bug may take to be found: no more than
// what CI runs without it.
const huntSeeds = 2000

// TestTeeth builds the simulation once for each planted bug and requires that a
// named invariant breaks on a seed that passes without the bug.
func TestTeeth(t *testing.T) {
	gobin, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("the planted bugs are compiled in: %v", err)
	}
	for _, b := range plantedBugs {
		t.Run(b.name, func(t *testing.T) {
			seed, invariant, text := hunt(t, build(t, gobin, b), b.metadata)
			if invariant == "" {
				t.Fatalf("not found in %d seeds", huntSeeds)
			}
			t.Logf("found: %s", text)
			if !slices.Contains(b.invariants, invariant) {
				t.Errorf("found by %s, not by one of %v", invariant, b.invariants)
			}
			if v := Run(huntOptions(seed, b.metadata)).Violation; v != nil {
				t.Errorf("the seed does not pass without the bug: %v", v)
			}
		})
	}
}

// build compiles this test with the bug in place of the source.
func build(t *testing.T, gobin string, b planted) string {
	dir := t.TempDir()
	files, err := b.plant()
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, src := range files {
		from, err := filepath.Abs(filepath.Join(sourceDir, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(to, src, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[from] = to
	}
	j, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, j, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "sim.test")
	cmd := exec.Command(gobin, "test", "-c", "-overlay", list, "-o", bin, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// hunt runs a binary until the first violation; invariant is empty if there is
// none.
func hunt(t *testing.T, bin string, metadata bool) (seed uint64, invariant, text string) {
	out, err := exec.Command(bin, "-test.run=^TestHunt$", fmt.Sprintf("-hunt=%d", huntSeeds), fmt.Sprintf("-hunt-metadata=%v", metadata)).CombinedOutput()
	if err != nil {
		t.Fatalf("hunt: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		rest, ok := strings.CutPrefix(line, "HUNT ")
		if !ok || strings.HasPrefix(rest, "none") {
			continue
		}
		if _, err := fmt.Sscan(rest, &seed, &invariant); err != nil {
			t.Fatalf("hunt: %q: %v", line, err)
		}
		return seed, invariant, strings.TrimSpace(rest)
	}
	return 0, "", ""
}
