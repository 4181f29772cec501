package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/report"
)

var rewriteReadme = flag.Bool("rewrite-readme", false, "write the result table of the README anew from its run folder")

// readmeRun holds the run that the README shows.
const readmeRun = "../../results/testdata/readme"

const (
	tableBegin = "<!-- table:begin -->\n"
	tableEnd   = "<!-- table:end -->\n"
)

func readReadme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The README's figures are those of the run folder that is committed with it,
// and of no other.
func TestReadmeTable(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(readmeRun, "*", "manifest.json"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%d run folders in %s, %v; want 1", len(folders), readmeRun, err)
	}
	r, err := results.Open(filepath.Dir(folders[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.VerifyFiles(); err != nil {
		t.Error(err)
	}
	if r.Manifest.Verdict != results.Valid {
		t.Errorf("the README shows a run that is %s", r.Manifest.Verdict)
	}
	rep, err := report.New(r)
	if err != nil {
		t.Fatal(err)
	}
	readme := readReadme(t)
	before, rest, ok1 := strings.Cut(readme, tableBegin)
	shown, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		t.Fatalf("README.md lacks %q or %q", tableBegin, tableEnd)
	}
	want := strings.TrimSpace(rep.Markdown()) + "\n"
	if *rewriteReadme {
		if err := os.WriteFile("../../README.md", []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Error("the table differs from the run folder; go test ./cmd/kbench -run TestReadmeTable -rewrite-readme")
	}
}

// The README's two commands: `make run` with a tiny ladder, and `make test`
// as a dry run, since this test is inside it.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs kbench; left out with -short")
	}
	for _, command := range []string{"make run", "make test"} {
		if !strings.Contains(readReadme(t), "\n"+command+" ") {
			t.Errorf("README.md does not show %q", command)
		}
	}
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	flags := "--provider process --store embedded --partitions 100 --trials 1 --retries 3 --workloads controlled-shutdown --out " + out
	stdout := makeTarget(ctx, t, "run", "RUNFLAGS="+flags)
	for _, want := range []string{"zk-vs-kraft: VALID", "controlled-shutdown", "what differs"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("make run prints no %q:\n%s", want, stdout)
		}
	}
	if _, err := results.Open(filepath.Join(out, results.LatestLink)); err != nil {
		t.Errorf("make run left no run folder: %v", err)
	}
	if plan := makeTarget(ctx, t, "-n", "test"); !strings.Contains(plan, "./...") {
		t.Errorf("make test would do: %s", plan)
	}
}

func makeTarget(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not installed; apt-get install make")
	}
	cmd := exec.CommandContext(ctx, "make", args...)
	cmd.Dir = "../.."
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("make %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
