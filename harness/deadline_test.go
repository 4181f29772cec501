package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
	"kbench/results"
	"kbench/workloads"
)

// stuckProvider has a ZooKeeper that never comes up and nodes that run and never
// answer.
type stuckProvider struct {
	provider.Provider
	closed bool
}

func (p *stuckProvider) Name() string { return "stuck" }

func (p *stuckProvider) Reserve(_ context.Context, _ string, n int) (string, []uint16, error) {
	ports := make([]uint16, n)
	for i := range ports {
		ports[i] = uint16(1 + i) // nobody listens there
	}
	return "127.0.0.1", ports, nil
}

func (p *stuckProvider) ZooKeeper(ctx context.Context, _ provider.ZooKeeper) (provider.Ensemble, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("wait until it serves: %w", context.Cause(ctx))
}

func (p *stuckProvider) Launch(_ context.Context, cfg nodeconfig.Config) (provider.Node, error) {
	return &stuckNode{hurtNode{name: cfg.Name}}, nil
}

func (p *stuckProvider) Close(context.Context) error { p.closed = true; return nil }

type stuckNode struct{ hurtNode }

// Collect has nothing.
func (n *stuckNode) Collect(context.Context, string) error { return nil }

// TestWhatNeverComesUp: a cell ends at its stated deadline, torn down, invalid and
// with the reason. Its clock is the test's, so that nobody waits for it.
func TestWhatNeverComesUp(t *testing.T) {
	for name, c := range map[string]struct{ target, want string }{
		"a ZooKeeper":           {"zk", "start ZooKeeper: wait until it serves: not within 3m0s"},
		"a target that is deaf": {"kraft", "start the cluster: wait until the cluster is healthy: not within 3m0s; last seen: "},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := spec.Parse("s.yaml", fmt.Appendf(nil, "name: s\ntargets: [%s]\ncluster: {partitions: 1, store: zookeeper}\nworkloads: [{kind: controlled-shutdown}]\n", c.target))
			if err != nil {
				t.Fatal(err)
			}
			run := newCellRun(t)
			synctest.Test(t, func(t *testing.T) {
				p := &stuckProvider{}
				run.runner.Options = Options{Spec: s, Open: func(context.Context, string) (provider.Provider, error) { return p, nil }}
				run.spec, run.n = s.Cells()[0], 1
				run.monitor = newMonitor(newProgress(run.spec, 1, 1), run.progress)
				began := time.Now()
				run.judge(t.Context(), run.live(t.Context()))
				if took := time.Since(began); took > upTimeout+downTimeout {
					t.Errorf("it took %v", took)
				}
				if run.out.Verdict != results.Invalid || !strings.Contains(strings.Join(run.out.Reasons, "; "), c.want) {
					t.Errorf("%s: %q", run.out.Verdict, run.out.Reasons)
				}
				if !p.closed {
					t.Error("it was not torn down")
				}
			})
		})
	}
}

// TestResultsOnAFullDisk: what was measured until then is kept, the cell is
// invalid and says why, and no folder claims to be whole; with room again, it goes
// on from its last checkpoint.
func TestResultsOnAFullDisk(t *testing.T) {
	out := t.TempDir()
	if err := unix.Mount("kbench", out, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") == "1" {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("SKIPPED: a small file system needs root: %v", err)
	}
	defer func() {
		if err := unix.Unmount(out, unix.MNT_DETACH); err != nil { // the folder is locked still
			t.Error(err)
		}
	}()
	w, err := results.Create(out, "full", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	run := &cellRun{runner: &runner{w: w}, spec: spec.Cell{ID: "zk.base"}, rec: newRecorder(w, "zk.base", 1)}
	run.rec.Trial(trial(true))
	if err := w.Checkpoint(1, struct{}{}); err != nil || !run.rec.flush() {
		t.Fatalf("while there is room: %v", err)
	}
	for range 5_000 {
		run.rec.Trial(trial(true))
		run.rec.Event(workloads.Event{Kind: workloads.EventNote, Detail: strings.Repeat("x", 100)})
	}
	run.judge(t.Context(), nil)
	if run.out.Verdict != results.Invalid || !strings.Contains(strings.Join(run.out.Reasons, "; "), "no space left on device") {
		t.Errorf("%s: %.300q", run.out.Verdict, run.out.Reasons)
	}
	if run.rec.flush() {
		t.Error("the folder is said to take more")
	}
	if _, err := w.Commit(results.Manifest{Name: "full", Cells: []results.Cell{run.out}}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("committed: %v", err)
	}
	kept, _ := filepath.Glob(filepath.Join(out, results.PartialPrefix+"*", "trials.csv"))
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || strings.Count(string(b), "\n") < 10 {
		t.Errorf("%d bytes of trials are kept: %v", len(b), err)
	}
	if err := unix.Mount("kbench", out, "tmpfs", unix.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	u, err := results.FindUnfinished(out)
	if err != nil || u.Done != 1 {
		t.Fatalf("%+v, %v", u, err)
	}
	if w, err = u.Resume(); err != nil {
		t.Fatal(err)
	}
	dir, err := w.Commit(results.Manifest{Name: "full", Cells: []results.Cell{{ID: "zk.base", Verdict: results.Valid}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := results.Open(dir)
	if err != nil || r.Manifest.Verdict != results.Valid {
		t.Fatalf("%v: %v", r, err)
	}
	for _, s := range r.Samples {
		if s.Trial != 1 {
			t.Errorf("a sample came after the checkpoint: %+v", s)
		}
	}
}

// TestUnfinishedRunSaysHowToGoOn.
func TestUnfinishedRunSaysHowToGoOn(t *testing.T) {
	w, err := results.Create(t.TempDir(), "full", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Abandon() }()
	one := 1
	full := &os.PathError{Op: "write", Path: "events.jsonl", Err: unix.ENOSPC}
	for name, c := range map[string]struct {
		kept *int
		err  error
		want string
	}{
		"full":         {&one, full, "1 of its units are kept, and once there is room `kbench run --resume " + w.Dir() + "` goes on after them"},
		"broken":       {&one, unix.EIO, "and once that is mended `kbench run --resume "},
		"no resumable": {nil, full, "what was written until then stays there"},
	} {
		err := (&runner{w: w, kept: c.kept}).unfinished(c.err)
		if !errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), "the run is invalid: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
