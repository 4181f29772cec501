package unplug

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kbench/internal/sim/plant"
	"kbench/internal/testtable"
)

// bench holds the test binaries with their handlers to be taken out, and what
// the tests did with all handlers in.
type bench struct {
	overlay, dir string
	mu           sync.Mutex
	binaries     map[string]func() (string, error) // by the directory of the package
	whole        map[testtable.Test]func() outcome
}

// outcome is one run of a test.
type outcome struct {
	passed bool
	output []byte
	took   time.Duration
}

// Bite compiles the packages of the cases' tests once, and then runs each test
// with nothing taken out, where it must pass, and with the handlers of its case,
// where it must fail.
func Bite(t *testing.T, p Plan) {
	b := newBench(t, p)
	for _, c := range p.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range b.try(c) {
				t.Error(fault)
			}
		})
	}
}

func newBench(t *testing.T, p Plan) *bench {
	t.Helper()
	edited, err := p.sources()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{
		overlay: plant.Overlay(t, p.Root, edited), dir: t.TempDir(),
		binaries: map[string]func() (string, error){}, whole: map[testtable.Test]func() outcome{},
	}
}

// try runs the tests of a case and gives what is wrong with it.
func (b *bench) try(c Case) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	missed := map[string]bool{}
	for _, test := range c.Tests {
		whole := b.runWhole(test)
		if !whole.passed {
			fault("%s %s does not pass with all handlers in:\n%s", test.Package, test.Run, whole.output)
			continue
		}
		bites := false
		for _, handler := range c.Handlers {
			if bites && missed[handler] {
				continue
			}
			if o := b.run(test, handler, limit(whole.took)); !o.passed {
				bites, missed[handler] = true, true
			}
		}
		if !bites {
			fault("%s %s passes without %s: name a test that does not, or make it stricter", test.Package, test.Run, strings.Join(c.Handlers, ", without "))
		}
	}
	for _, handler := range c.Handlers {
		if !missed[handler] {
			fault("no test of the row misses %s", handler)
		}
	}
	return faults
}

// longest bounds a test with all handlers in.
const longest = 2 * time.Minute

// limit is how long a test may take that waits for what never comes.
func limit(whole time.Duration) time.Duration { return max(3*whole, 5*time.Second) }

// binary compiles the tests of a package, once.
func (b *bench) binary(pkg string) (string, error) {
	b.mu.Lock()
	f, ok := b.binaries[pkg]
	if !ok {
		bin := filepath.Join(b.dir, fmt.Sprintf("%d.test", len(b.binaries)))
		f = sync.OnceValues(func() (string, error) {
			build := exec.Command("go", "test", "-c", "-overlay", b.overlay, "-o", bin, ".")
			build.Dir = pkg
			if out, err := build.CombinedOutput(); err != nil {
				return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
			}
			return bin, nil
		})
		b.binaries[pkg] = f
	}
	b.mu.Unlock()
	return f()
}

// wholeTries is how often a test may fail with all handlers in before it counts:
// many run at once here, and whether it is a good one is judged elsewhere.
const wholeTries = 3

// runWhole runs a test with all handlers in, until it passes.
func (b *bench) runWhole(test testtable.Test) outcome {
	b.mu.Lock()
	f, ok := b.whole[test]
	if !ok {
		f = sync.OnceValue(func() (o outcome) {
			for i := 0; i < wholeTries && !o.passed; i++ {
				o = b.run(test, "", longest)
			}
			return o
		})
		b.whole[test] = f
	}
	b.mu.Unlock()
	return f()
}

// run runs a test in a process of its own. One that is skipped has not passed.
func (b *bench) run(test testtable.Test, handler string, timeout time.Duration) outcome {
	bin, err := b.binary(test.Package)
	if err != nil {
		return outcome{output: []byte(err.Error())}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	pattern := regexp.MustCompile(`[^/]+`).ReplaceAllString(test.Run, "^$0$$")
	args := []string{"-test.run=" + pattern, "-test.v", "-test.failfast"}
	if usesRapid(test.Package) {
		args = append(args, "-rapid.nofailfile") // a failure is meant here, and not to be tried again
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	// What a test leaves that is killed goes with the directory.
	cmd.Dir, cmd.Env = test.Package, append(os.Environ(), variable+"="+handler, "TMPDIR="+b.dir)
	cmd.WaitDelay = time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	passed := err == nil && bytes.Contains(out, []byte("--- PASS: "+test.Run+" "))
	return outcome{passed, out, time.Since(began)}
}

// usesRapid reports whether tests of a package take flags of rapid.
func usesRapid(pkg string) bool {
	files, _ := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		src, err := os.ReadFile(file)
		return err == nil && bytes.Contains(src, []byte(`"pgregory.net/rapid"`))
	})
}
