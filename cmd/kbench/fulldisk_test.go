package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a file system of its own of size bytes at dir, which needs
// root.
func smallDisk(t *testing.T, dir string, size int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("kbench-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		if os.Getenv("KBENCH_REQUIRE_NETNS") == "1" {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("SKIPPED: cannot mount a small file system: %v; this test needs root on Linux", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, unix.ENOSPC):
			size /= 2
		case err != nil:
			t.Fatal(err)
		}
	}
}

// TestResultsDiskFillsUp: a run whose results disk is full ends as invalid and
// says why, in the cell under way; with room again it goes on, and the cell that
// was finished is not run again.
func TestResultsDiskFillsUp(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts clusters")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	smallDisk(t, out, 24<<20)
	text := strings.NewReplacer("PROVIDER", "process", "NETWORK", "").Replace(killedSpec)
	if err := os.WriteFile(filepath.Join(dir, "spec.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := runKbench(t.Context(), os.Args[0], dir, "run", "spec.yaml", "--out", "out", "--data-dir", "data")
	stderr := &watched{want: "cell 2/3 kraft 20 partitions: propagation", found: make(chan struct{})}
	cmd.Stderr, cmd.WaitDelay = stderr, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	end := time.After(3 * time.Minute)
	select {
	case <-stderr.found:
		fill(t, filepath.Join(out, "filler"))
	case err := <-exited:
		t.Fatalf("kbench ended before its second cell, %v:\n%s", err, stderr)
	case <-end:
		_ = cmd.Process.Kill()
		t.Fatalf("no second cell:\n%s", stderr)
	}
	select {
	case <-exited:
	case <-end:
		_ = cmd.Process.Kill()
		<-exited
		t.Fatalf("it goes on although nothing can be kept:\n%s", stderr)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInvalid {
		t.Errorf("exit %d, want %d", code, exitInvalid)
	}
	for _, want := range []string{"no space left on device", "the run is invalid: ", "1 of its units are kept", "`kbench run --resume "} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q", want)
		}
	}
	for _, not := range []string{"cell 3/3", "run again"} {
		if strings.Contains(stderr.String(), not) {
			t.Errorf("stderr has %q", not)
		}
	}
	if t.Failed() {
		t.Fatalf("stderr:\n%s", stderr)
	}
	if err := os.Remove(filepath.Join(out, "filler")); err != nil {
		t.Fatal(err)
	}
	said := resumeRun(t, os.Args[0], dir)
	checkResumedRun(t, filepath.Join(out, "latest"), said)
	checkNothingLeft(t, dir, cmd.Process.Pid)
}
