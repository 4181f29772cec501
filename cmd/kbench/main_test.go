package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kbench/internal/checker"
	"kbench/results"
)

// asKbench makes this test binary be kbench: for scripts, and for the nodes
// that a run starts from its own executable.
const asKbench = "KBENCH_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asKbench) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){"kbench": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv(asKbench, "1")
			e.Setenv("DOCKER_HOST", "unix://"+e.WorkDir+"/no-engine.sock")
			e.Setenv("PATH", filepath.Dir(mustExecutable(e.Vars))+":/usr/bin:/bin")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"mknight":   makeNight,
			"mkhistory": makeHistory,
			"mkpairs":   makePairs,
			"mkrun":     makeRun,
			"lines":     countLines,
			"plant":     plantLoss,
			"blank":     blankHistory,
			"mkladder":  makeLadder,
			"status":    wantStatus,
		},
		RequireExplicitExec: true,
	})
}

// mustExecutable finds the directory of the kbench that testscript made.
func mustExecutable(vars []string) string {
	for _, v := range vars {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			first, _, _ := strings.Cut(path, string(os.PathListSeparator))
			return filepath.Join(first, "kbench")
		}
	}
	panic("no PATH in a script's environment")
}

// makeRun writes a small valid run folder: mkrun OUT.
func makeRun(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: mkrun OUT")
	}
	ts.Check(writeRun(ts.MkAbs(args[0]), checker.History{
		Operations:   []checker.Operation{{Kind: checker.CreateTopic, Topic: "a", Partitions: 1, Outcome: checker.Acknowledged}},
		Observations: []checker.Observation{{AtNs: 1, Broker: 1, Topic: "a", Leader: 1}, {AtNs: 2, Broker: 1, Topic: "a", Leader: 1}},
		Elections:    []checker.Election{{AtNs: 1, Node: "controller-1001", Epoch: 1}},
		Views: []checker.View{
			{Broker: 1, Topics: []checker.Topic{{Name: "a", Partitions: []checker.Partition{{Leader: 1}}}}},
			{Broker: 2, Topics: []checker.Topic{{Name: "a", Partitions: []checker.Partition{{Leader: 1}}}}},
		},
	}))
}

// plantLoss writes a run whose final metadata lacks an acknowledged topic, as
// if an older kbench had not seen it.
func plantLoss(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(writeRun(ts.MkAbs(args[0]), checker.History{
		Operations: []checker.Operation{{Kind: checker.CreateTopic, Topic: "lost", Partitions: 1, Outcome: checker.Acknowledged}},
		Views:      []checker.View{{Broker: 1}, {Broker: 2}},
	}))
}

// blankHistory writes a run whose history was lost: blank OUT, or what brokers
// served in the end was lost too: blank OUT all.
func blankHistory(ts *testscript.TestScript, _ bool, args []string) {
	h := checker.History{Views: []checker.View{{Broker: 1, Topics: []checker.Topic{{Name: "a", Partitions: []checker.Partition{{Leader: 1}}}}}}}
	if len(args) > 1 {
		h.Views = nil
	}
	ts.Check(writeRun(ts.MkAbs(args[0]), h))
}

func writeRun(out string, h checker.History) error {
	started := time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)
	w, err := results.Create(out, "script", started)
	if err != nil {
		return err
	}
	for trial := 1; trial <= 3; trial++ {
		if err := w.Sample(results.Sample{
			Cell: "zk.base", Workload: "controlled-shutdown", Repeat: 1, Trial: trial,
			Metric: "controlled-shutdown.moved", Value: float64(trial) * 1.5e6, Unit: results.Nanoseconds, Valid: true,
		}); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := checker.Write(&b, h); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), "zk.base.1"+checker.FileSuffix), b.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = w.Commit(results.Manifest{
		Name: "script", Started: started, Ended: started,
		Cells: []results.Cell{{ID: "zk.base", Target: "zk", Variant: "base", Partitions: 1000, Store: "embedded, not replicated", Verdict: results.Valid}},
	})
	return err
}

// countLines judges how many lines the last command wrote: lines stderr 3.
func countLines(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if got := strings.Count(text, "\n"); args[1] != strconv.Itoa(got) {
		ts.Fatalf("%s has %d lines, want %s:\n%s", args[0], got, args[1], text)
	}
}
