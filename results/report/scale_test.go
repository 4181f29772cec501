package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"kbench/results"
)

// What a report of a run with ten million recorded operations may take.
const (
	largeOperations = 10_000_000
	mostTime        = 20 * time.Second
	mostMemoryKB    = 500_000
	mostHTML        = 5_000_000
)

// reportDirEnv has this test's program make the reports of a folder and end,
// so that its memory is measured alone.
const reportDirEnv = "KBENCH_TEST_REPORT_DIR"

func TestLargeRun(t *testing.T) {
	if dir := os.Getenv(reportDirEnv); dir != "" {
		if err := Write(mustOpen(t, dir), dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	if testing.Short() {
		t.Skip("SKIPPED: writes and reads ten million operations; left out with -short")
	}
	dir := writeLarge(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLargeRun$")
	cmd.Env = append(os.Environ(), reportDirEnv+"="+dir)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wall := time.Since(start)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	// Maxrss counts kilobytes on Linux.
	memory := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	info, err := os.Stat(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("reports of %d operations: %v (%v of CPU), %d MB, HTML %.2f MB", largeOperations, wall.Round(time.Millisecond), cpu.Round(time.Millisecond), memory/1024, float64(info.Size())/1e6)
	// A busy machine makes the clock on the wall say more than the work took.
	if min(wall, cpu) > mostTime {
		t.Errorf("the reports took %v, want at most %v", wall, mostTime)
	}
	if memory > mostMemoryKB {
		t.Errorf("the reports took %d kB of memory, want at most %d", memory, mostMemoryKB)
	}
	if info.Size() > mostHTML {
		t.Errorf("the page has %d bytes, want at most %d", info.Size(), mostHTML)
	}
}

// writeLarge writes a long run: two targets at six rungs for twenty minutes
// each, with histograms of a second each, thousands of events and a line of metrics
// of each node each second.
func writeLarge(t *testing.T) string {
	t.Helper()
	w, err := results.Create(t.TempDir(), "large", started)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const (
		seconds   = 1200
		intervals = 30
		second    = int64(time.Second)
	)
	tags := []string{"first", "median", "last", "broker.1", "broker.2", "broker.3"}
	rng := rand.New(rand.NewPCG(1, 2))
	m := results.Manifest{Name: "large", Started: started, Ended: started.Add(12 * time.Hour), SpecYAML: "name: large\n"}
	rungs := []int{1_000, 3_000, 10_000, 30_000, 100_000, 300_000}
	each := largeOperations/(2*len(rungs)*intervals*len(tags)) + 1
	for i, target := range []string{"zk", "kraft"} {
		for j, partitions := range rungs {
			c := results.Cell{ID: fmt.Sprintf("%s.base.partitions-%d", target, partitions), Target: target, Variant: "base", Partitions: partitions, Verdict: results.Valid}
			m.Cells = append(m.Cells, c)
			at := int64(i*len(rungs)+j+1) * 10_000 * second
			log := make([]results.Interval, 0, intervals*len(tags))
			for k := range intervals {
				from := started.Add(time.Duration(k) * time.Second)
				for n, tag := range tags {
					r := results.NewRecorder(1)
					for range each {
						r.Shard(0).Record(time.Duration(float64(5+n+40*i) * rng.ExpFloat64() * 1e6))
					}
					log = append(log, results.Interval{Tag: tag, Start: from, End: from.Add(time.Second), Dist: r.Merged()})
				}
				// Ten logs, as of ten repeats.
				if len(log) == cap(log)/10 {
					must(w.Hlog(c.ID, results.HlogFigure("propagation", "propagation", k/(intervals/10)+1), log))
					log = log[:0]
				}
			}
			for trial := 1; trial <= 500; trial++ {
				start := at + int64(trial)*seconds*second/501
				for _, e := range []results.Event{
					{MonoNs: start, Kind: "fault", Node: "1", Data: map[string]any{"detail": "kill"}},
					{MonoNs: start + second, Kind: "controller", Node: fmt.Sprint(1001 + trial%3), Data: map[string]any{"epoch": trial}},
					{MonoNs: start + 2*second, Kind: "healed", Node: "1", Data: map[string]any{"detail": "start"}},
					{MonoNs: start + 3*second, Kind: "restored", Node: "1", Data: map[string]any{"detail": "healthy and balanced"}},
					{MonoNs: start, Kind: "trial", Node: "1", Data: map[string]any{"how": "kill", "valid": true, "endNs": start + second, "admin.sent": 100, "admin.late": 0, "admin.dropped": 0}},
				} {
					e.Wall, e.Cell, e.Repeat, e.Workload, e.Trial = started, c.ID, 1, "controller-failover", trial
					must(w.Event(e))
				}
				for k := range 10 {
					must(w.Event(results.Event{MonoNs: start + int64(k), Wall: started, Cell: c.ID, Repeat: 1, Workload: "controller-failover", Trial: trial, Kind: "note", Data: map[string]any{"detail": "something a reader should know"}}))
				}
				for _, metric := range []string{"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.load", "recovery.controller.push", "recovery.controller.first-admin", "recovery.controller.total"} {
					must(w.Sample(results.Sample{
						Cell: c.ID, Workload: "controller-failover", Repeat: 1, Trial: trial, Metric: metric, Value: (1 + rng.Float64()) * float64(partitions) * 1e5,
						Unit: results.Nanoseconds, AtNs: start, Subject: "1001", Valid: trial%50 != 0, Reason: map[bool]string{true: "the admin generator slipped"}[trial%50 == 0],
					}))
				}
			}
			for k := range int64(seconds) {
				for _, node := range []string{"controller-1001", "controller-1002", "controller-1003", "broker-1", "broker-2", "broker-3", "zookeeper-embedded"} {
					must(w.Metric(results.Resource{
						Cell: c.ID, Repeat: 1, MonoNs: at + k*second, Node: node, CPUMs: k * 100, RSSBytes: int64(50e6 + rng.Float64()*1e7), HeapBytes: int64(1e7 + rng.Float64()*1e6), WrittenBytes: k * 1000, DataBytes: k * 100,
					}))
				}
			}
		}
	}
	dir, err := w.Commit(m)
	must(err)
	return dir
}
