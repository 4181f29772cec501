package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kbench/harness/netns"
	"kbench/internal/checker"
	"kbench/results"
)

const severedSpec = `name: severed
targets: [zk, kraft]
provider: process
cluster: {brokers: 3, controllers: 3, timeouts: matched, partitions: 30, store: embedded}
workloads:
  - {kind: controller-failover, how: HOW, trials: 1}
  - {kind: broker-failure, how: isolate, trials: 1}
`

func writeSevered(t *testing.T, how string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := strings.ReplaceAll(severedSpec, "HOW", how)
	if err := os.WriteFile(filepath.Join(dir, "severed.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func kbenchCommand(dir string, before []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	args = append(append(before, os.Args[0]), args...)
	cmd := exec.Command(args[0], args[1:]...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &said
	cmd.Env = append(os.Environ(), asKbench+"=1")
	return cmd, &said
}

// TestSeveredRun cuts links of real clusters of both kinds, and reads in the run
// folder that each cut was seen to bite and to heal.
func TestSeveredRun(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it starts clusters")
	}
	if err := netns.Check(); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: no link was cut: ", err)
	}
	for _, how := range []string{"isolate", "cut"} {
		t.Run(how, func(t *testing.T) { t.Parallel(); severedRun(t, how) })
	}
}

func severedRun(t *testing.T, how string) {
	dir := writeSevered(t, how)
	cmd, said := kbenchCommand(dir, nil, "run", "severed.yaml", "--out", "out", "--data-dir", filepath.Join(dir, "data"), "--quiet")
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exitInvalid {
		t.Fatalf("%v: %s", err, said)
	}
	r, err := results.Open(filepath.Join(dir, "out", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Manifest.Cells {
		for _, reason := range c.Reasons { // a busy machine is no fault of the cut
			if !strings.Contains(reason, "slipped") {
				t.Errorf("%s: %s", c.ID, reason)
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "out", "latest", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range []string{"zk.base", "kraft.base"} {
		for _, want := range []string{`"` + how + `"`, `"isolate"`, `"heal"`, `"seen to be cut off"`, `"healthy again"`} {
			found := false
			for line := range strings.Lines(string(b)) {
				found = found || strings.Contains(line, cell) && strings.Contains(line, want)
			}
			if !found {
				t.Errorf("%s: no event says %s", cell, want)
			}
		}
	}
	steppedDown(t, r)
	if left, _ := filepath.Glob(filepath.Join(dir, "data", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// steppedDown reads in what the run recorded that the leader of the quorum, which
// was cut off, did not lead on for longer than it may; one that did is found there.
func steppedDown(t *testing.T, r *results.Run) {
	files, err := filepath.Glob(filepath.Join(r.Dir, "kraft.base.*"+checker.FileSuffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("no history of kraft is kept: %v", err)
	}
	h, err := readHistory(files[0])
	if err != nil {
		t.Fatal(err)
	}
	judged := func() checker.Result {
		for _, res := range checker.Check(h) {
			if res.Name == "isolated-steps-down" {
				return res
			}
		}
		t.Fatal("nobody judges whether an isolated leader steps down")
		return checker.Result{}
	}
	if res := judged(); res.Looked == 0 || !res.OK() {
		t.Fatalf("%+v of %+v", res, h.LedAlone)
	}
	h.LedAlone[0].AloneNs = h.LedAlone[0].LimitNs + 1
	if res := judged(); len(res.Faults) != 1 {
		t.Errorf("a leader that led on is not found: %+v", res)
	}
}

// TestSeveredRunNeedsRights: without them a spec that cuts links is refused
// with the reason, and one that cuts none is not.
func TestSeveredRunNeedsRights(t *testing.T) {
	var before []string
	if os.Geteuid() == 0 {
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			t.Skip("SKIPPED: root cannot give its rights away without setpriv (Debian: util-linux)")
		}
		const without = "-net_admin,-sys_admin"
		before = []string{setpriv, "--bounding-set", without, "--inh-caps", without}
	}
	dir := writeSevered(t, "isolate")
	cmd, said := kbenchCommand(dir, before, "run", "severed.yaml", "--dry-run")
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage {
		t.Errorf("exit code %d, want %d: %s", code, exitUsage, said)
	}
	for _, want := range []string{"controller-failover, how: isolate", "network namespaces cannot be made here", "be root on Linux", "--provider docker"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	if n := strings.Count(said.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, said)
	}
	cmd, said = kbenchCommand(dir, before, "run", "--provider", "process", "--store", "embedded", "--dry-run")
	if err := cmd.Run(); err != nil {
		t.Errorf("a spec without such faults: %v: %s", err, said)
	}
}
