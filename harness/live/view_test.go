package live

import (
	"strings"
	"testing"
	"time"

	"kbench/harness"
	"kbench/workloads"
)

func at(cell int, phase string, w workloads.Progress) harness.Progress {
	return harness.Progress{Cell: cell, Cells: 4, Target: "zk", Partitions: 1000, Phase: phase, Work: w, Elapsed: time.Second}
}

func TestPlainLinesAreSparse(t *testing.T) {
	var out strings.Builder
	v := New(&out, false, nil)
	for done := range 50 {
		v.Update(at(1, "workload", workloads.Progress{Workload: "populate", Phase: "create", Done: done, Total: 50}))
	}
	v.Update(at(1, "workload", workloads.Progress{Workload: "broker-failure", Trial: 1, Trials: 3, Phase: "gate"}))
	v.Update(at(1, "workload", workloads.Progress{Workload: "broker-failure", Trial: 1, Trials: 3, Phase: "fault"}))
	v.Line("a warning")
	want := "0:00 cell 1/4 zk 1000 partitions: populate create\n" +
		"0:00 cell 1/4 zk 1000 partitions: broker-failure trial 1/3\n" +
		"a warning\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
	if strings.ContainsAny(out.String(), "\r\x1b") {
		t.Error("control characters outside a terminal")
	}
}

func TestTerminalLineFitsAndIsCleared(t *testing.T) {
	var out strings.Builder
	v := New(&out, true, func() int { return 20 })
	v.Update(at(1, "up", workloads.Progress{}))
	v.Close()
	got := out.String()
	if !strings.HasPrefix(got, "\r\x1b[K[0:00] cell 1/4 zk") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("got %q", got)
	}
	if line := strings.TrimPrefix(strings.TrimSuffix(got, "\r\x1b[K"), "\r\x1b[K"); len(line) != 19 {
		t.Errorf("line of %d characters for 20 columns: %q", len(line), line)
	}
}

func TestETA(t *testing.T) {
	// Two cells took 100 s, so the two left take 100 s, one of which is over.
	p := at(3, "up", workloads.Progress{})
	if got := eta(p, 101*time.Second); got != ", about 1:39 left" {
		t.Errorf("got %q", got)
	}
	if got := eta(at(1, "up", workloads.Progress{}), time.Minute); got != "" {
		t.Errorf("a guess in the first cell: %q", got)
	}
}
