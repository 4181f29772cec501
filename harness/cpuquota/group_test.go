package cpuquota

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// spinEnv makes the test binary a process that wants a whole processor.
const spinEnv = "KBENCH_CPUQUOTA_SPIN"

func TestMain(m *testing.M) {
	if os.Getenv(spinEnv) != "" {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A process that wants a whole processor is throttled by a quota, and not after
// it: the test would fail if the fault did nothing.
func TestLimit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: control groups need root")
	}
	if parent, _, err := own(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	} else if f, err := os.OpenFile(parent+"/cgroup.procs", os.O_WRONLY, 0); err != nil {
		t.Skipf("SKIPPED: the control group cannot be written: %v", err)
	} else {
		_ = f.Close()
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), spinEnv+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	g, err := Limit("spinner", cmd.Process.Pid, 5)
	if err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { _, throttled, err := g.Periods(); return err == nil && throttled > 3 })
	if p, _, err := Of(cmd.Process.Pid); err != nil || p == 0 {
		t.Errorf("its group has %d periods: %v", p, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := os.Stat(g.dir); err == nil {
		t.Error("the group is still there")
	}
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", cmd.Process.Pid))
	if err != nil || !strings.Contains(string(after), strings.TrimSpace(cpuLine(string(b)))) {
		t.Errorf("it is not back in kbench's group: %v\n%s", err, after)
	}
}

func cpuLine(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		if strings.Contains(line, ":cpu:") || strings.Contains(line, "cpu,") || strings.HasPrefix(line, "0::") {
			return line
		}
	}
	return ""
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it is not throttled")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
