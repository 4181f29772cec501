package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kbench/harness"
	"kbench/harness/docker"
	"kbench/harness/netns"
	"kbench/results"
)

// killedSpec has three small cells; NETWORK gives every node a network, where
// that can be, so that a killed run leaves some.
const killedSpec = `name: killed
targets: [kraft]
provider: PROVIDER
trials: 1
retries: 3
cluster: {brokers: 2, controllers: 1, replication: 1, partitionsPerTopic: 10}
sweep: {partitions: [10, 20, 30]}
set: {NETWORK}
workloads: [{kind: propagation, rate: 10/s, duration: 1s, probe: {rate: 20/s}}]
`

// TestResumeAfterSIGKILL kills kbench in the midst of its second cell and
// resumes the run: no finished cell is run again, and neither a process, a
// network nor a file of the killed one is left.
func TestResumeAfterSIGKILL(t *testing.T) {
	if testing.Short() {
		t.Skip("starts clusters")
	}
	for _, provider := range []string{"process", "docker"} {
		t.Run(provider, func(t *testing.T) {
			network, binary := "", os.Args[0]
			if provider == "process" && netns.Check() == nil {
				network = "network.delay: 1ms"
			}
			if provider == "docker" {
				if _, err := docker.Ask(t.Context()); err != nil {
					if os.Getenv("KBENCH_REQUIRE_DOCKER") != "" {
						t.Fatal(err)
					}
					t.Skip("SKIPPED: ", err)
				}
				binary = staticKbench(t)
			}
			dir := t.TempDir()
			text := strings.NewReplacer("PROVIDER", provider, "NETWORK", network).Replace(killedSpec)
			if err := os.WriteFile(filepath.Join(dir, "spec.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			pid := killInSecondCell(t, binary, dir)
			said := resumeRun(t, binary, dir)
			if !strings.Contains(said, "removed ") {
				t.Errorf("it names nothing of the killed run that it removed:\n%s", said)
			}
			checkResumedRun(t, filepath.Join(dir, "out", "latest"), said)
			checkNothingLeft(t, dir, pid)
		})
	}
}

// staticKbench builds kbench as `make build` does: a test binary may load libc,
// and an image of nothing but it could not run it.
func staticKbench(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "kbench")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build kbench: %v\n%s", err, said)
	}
	return out
}

func runKbench(ctx context.Context, binary, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asKbench+"=1")
	return cmd
}

// runSpec runs a spec below dir, which must end well, and opens what it leaves.
func runSpec(t *testing.T, ctx context.Context, dir, text string) *results.Run {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "spec.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := runKbench(ctx, os.Args[0], dir, "run", "spec.yaml", "--out", "out", "--data-dir", "data").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := results.Open(filepath.Join(dir, "out", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// killInSecondCell gives the pid of the kbench that was killed.
func killInSecondCell(t *testing.T, binary, dir string) int {
	t.Helper()
	cmd := runKbench(t.Context(), binary, dir, "run", "spec.yaml", "--out", "out", "--data-dir", "data")
	stderr := &watched{want: "cell 2/3 kraft 20 partitions: propagation", found: make(chan struct{})}
	cmd.Stderr = stderr
	cmd.WaitDelay = 10 * time.Second // nothing that outlives kbench may hold Wait by its stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case <-stderr.found:
	case err := <-exited:
		t.Fatalf("kbench ended before its second cell, %v:\n%s", err, stderr)
	case <-time.After(6 * time.Minute):
		t.Errorf("no second cell:\n%s", stderr)
	}
	second := runKbench(t.Context(), binary, dir, "run", "--resume", "out")
	if out, _ := second.CombinedOutput(); second.ProcessState.ExitCode() != exitUsage || !bytes.Contains(out, []byte("its run goes on")) {
		t.Errorf("a run that goes on was resumed: exit %d, want %d\n%s", second.ProcessState.ExitCode(), exitUsage, out)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-exited
	if t.Failed() {
		t.FailNow()
	}
	return cmd.Process.Pid
}

func resumeRun(t *testing.T, binary, dir string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for _, c := range []struct {
		says string
		code int
		args []string
	}{
		{"leave out --trials, spec.yaml", exitUsage, []string{"run", "spec.yaml", "--trials", "3", "--resume", "out"}},
		{"cells of two machines are not one run", exitUsage, []string{"run", "--resume", begunElsewhere(t, filepath.Join(dir, "out"))}},
	} {
		cmd := runKbench(ctx, binary, dir, c.args...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.code || !bytes.Contains(out, []byte(c.says)) {
			t.Errorf("kbench %v: exit %d, want %d with %q:\n%s", c.args, cmd.ProcessState.ExitCode(), c.code, c.says, out)
		}
	}
	cmd := runKbench(ctx, binary, dir, "run", "--resume", "out")
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// begunElsewhere copies the unfinished run below out, as one of another machine.
func begunElsewhere(t *testing.T, out string) string {
	t.Helper()
	there := t.TempDir()
	if err := os.CopyFS(there, os.DirFS(out)); err != nil {
		t.Fatal(err)
	}
	u, err := harness.FindUnfinished(there)
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(u.Dir, ".journal")
	kept, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, bytes.ReplaceAll(kept, []byte(u.EnvHash), []byte("0123456789ab")), 0o644); err != nil {
		t.Fatal(err)
	}
	return there
}

// checkResumedRun looks for three valid cells, each measured once.
func checkResumedRun(t *testing.T, path, said string) {
	t.Helper()
	r, err := results.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said, "cell 1/3") || !strings.Contains(said, "cell 2/3") {
		t.Errorf("the resumed run ran other cells than the second and third:\n%s", said)
	}
	if len(r.Manifest.Cells) != 3 || r.Manifest.Verdict != results.Valid {
		t.Errorf("%d cells, %s: %v", len(r.Manifest.Cells), r.Manifest.Verdict, r.Manifest.Reasons)
	}
	for i, c := range r.Manifest.Cells {
		counted := 0
		for _, a := range c.Attempts {
			if a.Dropped == "" {
				counted++
			}
		}
		if want := fmt.Sprintf("kraft.base.partitions-%d0", i+1); c.ID != want || counted != 1 {
			t.Errorf("cell %d is %s with %d counted attempts, want %s with one", i, c.ID, counted, want)
		}
	}
	told := 0
	for _, w := range r.Manifest.Warnings {
		told += strings.Count(w, "kbench ended before the run had, which was resumed")
	}
	if told != 1 {
		t.Errorf("warnings %q do not tell once that the run was resumed", r.Manifest.Warnings)
	}
	if err := r.VerifyFiles(); err != nil {
		t.Error(err)
	}
}

// checkNothingLeft looks for what a killed kbench could have left.
func checkNothingLeft(t *testing.T, dir string, pid int) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(dir, "data")); err == nil {
		t.Errorf("data of nodes is left: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", results.PartialPrefix+"*")); len(left) > 0 {
		t.Errorf("unfinished run folders are left: %v", left)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(filepath.Join(dir, "data"))) {
			t.Errorf("process %s is left: %q", filepath.Base(filepath.Dir(file)), b)
		}
	}
	if devices, err := netns.Left(pid); err != nil || len(devices) > 0 {
		t.Errorf("devices of networks are left: %v, %v", devices, err)
	}
	if _, err := docker.Ask(t.Context()); err != nil {
		return
	}
	left, err := docker.Left(t.Context(), strconv.Itoa(pid))
	if err != nil || len(left) > 0 {
		t.Errorf("on the engine is left: %v, %v", left, err)
	}
}
