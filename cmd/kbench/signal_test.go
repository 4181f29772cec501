package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kbench/results"
)

// watched is a buffer that says when it holds a text.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	want  string
	found chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(b)
	if w.want != "" && strings.Contains(w.text.String(), w.want) {
		w.want = ""
		close(w.found)
	}
	return len(b), nil
}

// await has found closed anew, by another text that comes from now on.
func (w *watched) await(want string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want, w.found = want, make(chan struct{})
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// startRun starts a small real run and waits until stderr holds a text.
func startRun(t *testing.T, dir, until string) (*exec.Cmd, *watched) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "run", "--targets", "zk", "--store", "embedded", "--provider", "process",
		"--partitions", "200", "--workloads", "controlled-shutdown", "--trials", "50",
		"--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data"))
	cmd.Env = append(os.Environ(), asKbench+"=1")
	stderr := &watched{want: until, found: make(chan struct{})}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	select {
	case <-stderr.found:
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		t.Fatalf("no %q within three minutes:\n%s", until, stderr)
	}
	return cmd, stderr
}

// TestSignalsKeepWhatWasMeasured: the first signal ends the run with the
// shell's code; its folder is whole and nothing else is left.
func TestSignalsKeepWhatWasMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts real clusters")
	}
	for sig, code := range map[syscall.Signal]int{syscall.SIGHUP: 129, syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skipf("SKIPPED: the tests run with %s ignored, as under nohup, and so does kbench", sig)
			}
			dir := t.TempDir()
			cmd, stderr := startRun(t, dir, "trial 2/50")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != code {
				t.Errorf("exit %d, want %d:\n%s", got, code, stderr)
			}
			r, err := results.Open(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			m := r.Manifest
			if !m.Interrupted || len(r.Samples) == 0 || m.Verdict != results.Invalid || len(m.Reasons) == 0 || m.Reasons[0] != "interrupted: 0 of 1 cells finished" {
				t.Errorf("interrupted %v, %d samples, %s: %v", m.Interrupted, len(r.Samples), m.Verdict, m.Reasons)
			}
			var said strings.Builder
			err = verifyRun(&said, r)
			for _, want := range []string{": linearizable, looked at ", "operations are not judged: the run was interrupted"} {
				if err == nil || !strings.Contains(said.String(), want) || strings.Contains(said.String(), "BAD  zk") {
					t.Errorf("verify: %v, want an error and %q:\n%s", err, want, &said)
				}
			}
			if left, _ := os.ReadDir(filepath.Join(dir, "data")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestAReaderThatLeavesEndsNoRun: `kbench run 2>&1 | head -1` runs to its end.
func TestAReaderThatLeavesEndsNoRun(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a real cluster")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "run", "--targets", "zk", "--store", "embedded", "--provider", "process",
		"--partitions", "200", "--workloads", "controlled-shutdown", "--trials", "1",
		"--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data"))
	cmd.Env = append(os.Environ(), asKbench+"=1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Run()
	_ = w.Close()
	if cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("kbench was ended: %v", err)
	}
	if _, err := results.Open(filepath.Join(dir, "out")); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "data")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCleanAfterKill: `kbench clean` removes all that a SIGKILLed run left.
func TestCleanAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a real cluster")
	}
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	dir := t.TempDir()
	cmd, stderr := startRun(t, dir, "controlled-shutdown")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	var stdout, cleanErr bytes.Buffer
	if code := run([]string{"clean", "--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data")}, &stdout, &cleanErr); code != 0 {
		t.Fatalf("clean: exit %d: %s", code, cleanErr.String())
	}
	if n := strings.Count(stdout.String(), "removed "); n < 2 {
		t.Errorf("clean said %q after\n%s", stdout.String(), stderr)
	}
	for _, name := range []string{"out", "data"} {
		if left, _ := os.ReadDir(filepath.Join(dir, name)); len(left) != 0 {
			t.Errorf("%s still holds %v", name, left)
		}
	}
}
