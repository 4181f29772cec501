package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A target of the suite that fetches no Kafka, or finds none, fails: one that
// skips all its tests would be green without having tested anything.
func TestMakeRequiresKafka(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	makefile, err := filepath.Abs(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(home, target, program string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", "-s", "-f", makefile, target, "GO="+program)
		cmd.Dir = t.TempDir() // where there is no script that fetches
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "KBENCH_") || strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "KAFKA_HOME=")
		}), "KAFKA_HOME="+home)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, target := range []string{"interop-zk", "interop-kraft"} {
		if out, err := run("", target, "true"); err == nil {
			t.Errorf("%s is green where Kafka's jars cannot be fetched: %s", target, out)
		}
		out, err := run("/some/release", target, "sh -c env")
		for _, want := range []string{"KBENCH_INTEROP=1\n", "KBENCH_REQUIRE_KAFKA=1\n"} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%s runs its tests without %q: %v", target, want, err)
			}
		}
	}
}
