package main

import (
	"errors"
	"maps"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"kbench/results"
	"kbench/results/simulated"
)

// makeLadder writes a run folder of simulated targets of which zk takes
// 2.05 s and 130 µs for each partition and broker to recover, and kraft 2.06 s:
// mkladder OUT NAME BROKERS PARTITIONS TRIALS.
func makeLadder(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: mkladder OUT NAME BROKERS PARTITIONS TRIALS")
	}
	brokers, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	trials, err := strconv.Atoi(args[4])
	ts.Check(err)
	truth := simulated.Truth{
		Name: args[1], Targets: []string{"zk", "kraft"}, Metrics: []string{"recovery.controller.first-admin"}, Trials: trials,
		Noise: &simulated.Noise{Sigma: 0.05}, Seed: 1,
		Value: func(p simulated.Point) float64 {
			if p.Target == "kraft" {
				return 2.06e9
			}
			return 2.05e9 + 130e3*float64(p.Partitions)*brokers/3
		},
		Resources: func(p simulated.Point) (heap, rss, log int64) {
			n := int64(p.Partitions)
			return 1e6 + 900*n, 2e7 + 1500*n, 100 * n
		},
		Edit: func(m *results.Manifest) {
			for i := range m.Cells {
				m.Cells[i].Config = maps.Clone(m.Cells[i].Config)
				m.Cells[i].Config["cluster.brokers"] = args[2]
			}
		},
	}
	for text := range strings.SplitSeq(args[3], ",") {
		n, err := strconv.Atoi(text)
		ts.Check(err)
		truth.Partitions = append(truth.Partitions, n)
	}
	_, err = simulated.Write(ts.MkAbs(args[0]), truth)
	ts.Check(err)
}

// wantStatus runs a program that must end with an exit code:
// status 3 kbench plan few.
func wantStatus(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		code = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit %d, want %s", code, args[0])
	}
}
