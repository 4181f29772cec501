package plant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Edit replaces in a file, the first, the only occurrence of the second by the
// third. The file's path is below the root that Check and Teeth are given.
type Edit [3]string

// Bug is a mistake that a simulation must find.
type Bug struct {
	Name       string
	Edits      []Edit
	Invariants []string // any of them finds it
	Args       []string // more flags of the hunt
}

// Sources gives the edited content of each file that edits touch, by its path
// below root. Edits of one file follow each other.
func Sources(root string, edits []Edit) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range edits {
		file, before, after := e[0], []byte(e[1]), []byte(e[2])
		src, ok := out[file]
		if !ok {
			var err error
			if src, err = os.ReadFile(filepath.Join(root, file)); err != nil {
				return nil, err
			}
		}
		if n := bytes.Count(src, before); n != 1 {
			return nil, fmt.Errorf("%s has %d times %q, not once: write the edit anew", file, n, before)
		}
		out[file] = bytes.Replace(src, before, after, 1)
	}
	return out, nil
}

// Check keeps bugs up with the source below root, and each another's: in its name
// and in the source that it makes.
func Check(t *testing.T, root string, bugs []Bug) {
	t.Helper()
	named, made := map[string]bool{}, map[string]string{}
	for _, b := range bugs {
		if named[b.Name] {
			t.Errorf("two planted bugs are named %s", b.Name)
		}
		named[b.Name] = true
		sources, err := Sources(root, b.Edits)
		if err != nil {
			t.Errorf("planted bug %s: %v", b.Name, err)
			continue
		}
		source := fmt.Sprintf("%q", sources) // maps print in the order of their keys
		if twin := made[source]; twin != "" {
			t.Errorf("planted bugs %s and %s are the same", twin, b.Name)
		}
		made[source] = b.Name
	}
}

// Teeth builds the test of the calling package once for each bug and requires
// that one of its invariants breaks within seeds, on a seed that passes without
// the bug; passes gives what is wrong with it, "" for nothing.
func Teeth(t *testing.T, root string, bugs []Bug, seeds int, passes func(b Bug, seed uint64) string) {
	gobin, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("the planted bugs are compiled in: %v", err)
	}
	for _, b := range bugs {
		t.Run(b.Name, func(t *testing.T) {
			seed, invariant, text := hunt(t, build(t, gobin, root, b), seeds, b.Args)
			if invariant == "" {
				t.Fatalf("not found in %d seeds", seeds)
			}
			t.Logf("found: %s", text)
			if !slices.Contains(b.Invariants, invariant) {
				t.Errorf("found by %s, not by one of %v", invariant, b.Invariants)
			}
			if wrong := passes(b, seed); wrong != "" {
				t.Errorf("the seed does not pass without the bug: %s", wrong)
			}
		})
	}
}

// build compiles the test in the working directory with the bug in place of the
// source.
func build(t *testing.T, gobin, root string, b Bug) string {
	sources, err := Sources(root, b.Edits)
	if err != nil {
		t.Fatalf("planted bug %s: %v", b.Name, err)
	}
	bin := filepath.Join(t.TempDir(), "sim.test")
	if out, err := exec.Command(gobin, "test", "-c", "-overlay", Overlay(t, root, sources), "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// Overlay writes what the flag -overlay of go takes: sources, by their paths
// below root, in place of the files or beside them.
func Overlay(t *testing.T, root string, sources map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, src := range sources {
		from, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, strings.ReplaceAll(filepath.ToSlash(name), "/", "_"))
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
	return list
}

// hunt runs a binary until the first violation; invariant is empty if there is
// none.
func hunt(t *testing.T, bin string, seeds int, args []string) (seed uint64, invariant, text string) {
	args = append([]string{"-test.run=^TestHunt$", fmt.Sprintf("-hunt=%d", seeds)}, args...)
	out, err := exec.Command(bin, args...).CombinedOutput()
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
