package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"kbench/results"
	"kbench/results/history"
)

// queued is what the next `kbench run` of a job leaves: a night, or nothing.
type queued struct {
	code    int
	none    bool // no folder is written
	invalid bool
	factor  float64
}

// standIn is a kbench whose run takes its folder from a queue; every other
// command is the real one.
const standIn = `#!/bin/sh
real() { %ENV%=1 %SELF% "$@"; }
[ "$1" = run ] || { real "$@"; exit; }
echo "$*" >>"$QUEUE/calls"
for next in "$QUEUE"/[0-9]*; do
	code=$(cat "$next/code")
	if [ -d "$next/run" ]; then
		name=$(basename "$next"/run/2*)
		mkdir -p "$4"
		mv "$next/run/$name" "$4/"
		ln -sfn "$name" "$4/latest"
		real report "$4/latest" 2>/dev/null
	fi
	rm -r "$next"
	exit "$code"
done
echo "nothing is queued" >&2
exit 9
`

// job is a directory in which nightly.sh runs with the stand-in.
type job struct {
	t          *testing.T
	dir, queue string
	path       string
	night      int // of the next one queued
	runs       int
}

func newJob(t *testing.T) *job {
	t.Helper()
	j := &job{t: t, dir: t.TempDir(), queue: t.TempDir()}
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer("%ENV%", asKbench, "%SELF%", strconv.Quote(self)).Replace(standIn)
	if err := os.WriteFile(filepath.Join(bin, "kbench"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	j.path = bin + ":/usr/local/bin:/usr/bin:/bin"
	if err := os.CopyFS(filepath.Join(j.dir, "docs"), os.DirFS(docsDir)); err != nil {
		t.Fatal(err)
	}
	return j
}

// nightly queues what the runs leave and runs the job.
func (j *job) nightly(next ...queued) (out string, code int) {
	j.t.Helper()
	for _, q := range next {
		j.enqueue(q)
	}
	return runShell(j.t, j.dir, j.path, "docs/ci/nightly.sh", "QUEUE="+j.queue, "ANNOTATIONS=github")
}

// enqueue queues what the next run leaves.
func (j *job) enqueue(q queued) {
	j.t.Helper()
	j.runs++
	dir := filepath.Join(j.queue, strconv.Itoa(1000+j.runs))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		j.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "code"), []byte(strconv.Itoa(q.code)), 0o644); err != nil {
		j.t.Fatal(err)
	}
	if q.none {
		return
	}
	truth := nightTruth(j.night, max(q.factor, 1))
	j.night++
	if q.invalid {
		truth.Edit = func(m *results.Manifest) {
			m.Cells[0].Verdict = results.Invalid
			m.Reasons = append(m.Reasons, "the generator slipped")
		}
	}
	simulate(j.t, filepath.Join(dir, "run"), truth)
}

func (j *job) read(name string) string {
	j.t.Helper()
	b, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil {
		j.t.Fatal(err)
	}
	return string(b)
}

// nights counts the lines of the history.
func (j *job) nights() int {
	b, err := os.ReadFile(filepath.Join(j.dir, "kbench-history", history.FileName))
	if err != nil {
		return 0
	}
	return strings.Count(string(b), "\n")
}

// judged is what one night of a story must come to.
type judged struct {
	runs    []queued
	code    int
	verdict string
	nights  int // in the history afterwards
	says    string
}

// A story of nights: green ones, one that needs a second try, one that cannot
// be measured, a regression, a missed threshold's exit code, a bad set-up.
func TestNightlyJob(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: runs a dozen jobs")
	}
	quiet := judged{runs: []queued{{}}, verdict: "passed"}
	invalid := queued{code: 3, invalid: true}
	var story []judged
	for n := range 6 {
		night := quiet
		night.nights = n + 1
		story = append(story, night)
	}
	story = append(
		story,
		judged{runs: []queued{invalid, {}}, verdict: "passed", nights: 7, says: "try 1 of 2 is invalid"},
		judged{runs: []queued{invalid, invalid}, code: 3, verdict: "not measured", nights: 8, says: "try 2 of 2 is invalid"},
		judged{runs: []queued{{code: 3, none: true}, {code: 3, none: true}}, code: 3, verdict: "not measured", nights: 8, says: "no run folder was written"},
		judged{runs: []queued{{factor: 1.3}}, code: 1, verdict: "regression", nights: 9, says: "::error"},
		judged{runs: []queued{{code: 2, none: true}}, code: 2, verdict: "not set up", nights: 9, says: "the run could not be made (exit code 2)"},
		judged{runs: []queued{{code: 143, none: true}}, code: 143, verdict: "not set up", nights: 9},
		judged{runs: []queued{{}}, verdict: "passed", nights: 10},
	)
	j := newJob(t)
	for i, want := range story {
		out, code := j.nightly(want.runs...)
		verdict := strings.TrimSpace(j.read("kbench-report/verdict.txt"))
		if code != want.code || verdict != want.verdict || j.nights() != want.nights || !strings.Contains(out, want.says) {
			t.Fatalf("night %d: exit %d, %s, %d nights in the history; want %d, %s, %d and %q:\n%s",
				i+1, code, verdict, j.nights(), want.code, want.verdict, want.nights, want.says, out)
		}
		if left, _ := filepath.Glob(filepath.Join(j.queue, "[0-9]*")); len(left) != 0 {
			t.Fatalf("night %d took %d runs too few", i+1, len(left))
		}
	}
	for _, name := range []string{"report.html", "report.md", "report.json", "manifest.json", "run.tar.gz", "gate.xml", "gate.md", "gate.json", "trend.html", "trend.md", "result.txt"} {
		if j.read("kbench-report/"+name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	calls, err := os.ReadFile(filepath.Join(j.queue, "calls"))
	if err != nil || !strings.HasPrefix(string(calls), "run docs/specs/nightly.yaml --out kbench-results\n") {
		t.Errorf("runs were called as %q, %v", calls, err)
	}
}

// The step of the GitHub workflow that measures, as it stands there: it tells
// the code to later steps and writes the summary.
func TestGitHubStep(t *testing.T) {
	b, err := os.ReadFile(docsDir + "/ci/github-nightly.yml")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(shellOf(doc), func(s string) bool { return strings.Contains(s, "nightly.sh") })
	j := newJob(t)
	for _, want := range []int{0, 3} {
		for range 1 + want/3 { // an invalid night is tried twice
			j.enqueue(queued{code: want, invalid: want == 3})
		}
		out, code := runShell(t, j.dir, j.path, shellOf(doc)[i], "QUEUE="+j.queue,
			"GITHUB_OUTPUT="+filepath.Join(j.dir, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(j.dir, "summary"))
		if code != want || !strings.HasSuffix(j.read("output"), "code="+strconv.Itoa(want)+"\n") || j.read("summary") == "" {
			t.Errorf("exit %d, output %q: %s", code, j.read("output"), out)
		}
	}
}

func TestNightlyJobWithoutKbench(t *testing.T) {
	j := newJob(t)
	out, code := runShell(t, j.dir, "/usr/bin:/bin", "KBENCH=no-such-kbench docs/ci/nightly.sh")
	if code != 2 || !strings.Contains(out, "there is no no-such-kbench; put it on PATH or set KBENCH") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// The nightly spec is one that kbench takes.
func TestNightlySpec(t *testing.T) {
	code, out, errs := kbench("run", docsDir+"/specs/nightly.yaml", "--provider", "process", "--store", "embedded", "--dry-run")
	if code != 0 || !strings.Contains(out, "# 4 cells, each 2 times, about") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// Two jobs that push at once lose no night, whoever began the branch.
func TestHistoryBranch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed; apt-get install git")
	}
	j := newJob(t)
	script := `
export REMOTE="$PWD/remote.git" GIT_CONFIG_GLOBAL=/dev/null
git init --quiet --bare "$REMOTE"
night() { echo "$2" >>"$1/history.jsonl"; echo index >"$1/history.jsonl.index"; }
DIR=a docs/ci/history.sh fetch
DIR=b docs/ci/history.sh fetch
night a '{"started":"1","a":1}'
night b '{"started":"2","b":1}'
DIR=a docs/ci/history.sh push
DIR=b docs/ci/history.sh push
night a '{"started":"3","a":2}'
DIR=a docs/ci/history.sh push
DIR=a docs/ci/history.sh push
DIR=c docs/ci/history.sh fetch
sort c/history.jsonl
ls c
git -C c log --oneline | wc -l
`
	out, code := runShell(t, j.dir, j.path, script)
	want := `history: nothing new
{"started":"1","a":1}
{"started":"2","b":1}
{"started":"3","a":2}
history.jsonl
5
`
	if code != 0 || out != want {
		t.Errorf("exit %d:\n%s\nwant:\n%s", code, out, want)
	}
	if out, code := runShell(t, j.dir, j.path, "REMOTE=x docs/ci/history.sh pull"); code != 2 || !strings.Contains(out, "usage: ") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// shellOf gathers every shell text of a workflow: run of GitHub, script,
// before_script and after_script of GitLab.
func shellOf(node any) (out []string) {
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			switch key {
			case "run", "script", "before_script", "after_script":
				out = append(out, texts(value)...)
			default:
				out = append(out, shellOf(value)...)
			}
		}
	case []any:
		for _, value := range n {
			out = append(out, shellOf(value)...)
		}
	}
	return out
}

func texts(value any) (out []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	}
	return out
}

// The workflow files are YAML, and every line of shell in them is shell, names
// commands, flags, scripts and make targets that there are.
func TestWorkflowFiles(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for name, atLeast := range map[string]int{"github-nightly.yml": 7, "gitlab-ci.yml": 4} {
		b, err := os.ReadFile(filepath.Join(docsDir, "ci", name))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := yaml.Unmarshal(b, &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines := shellOf(doc)
		if len(lines) < atLeast {
			t.Errorf("%s: %d pieces of shell, want %d", name, len(lines), atLeast)
		}
		for _, line := range lines {
			judgeShell(t, name, line)
			parse := exec.CommandContext(t.Context(), "bash", "-n")
			parse.Stdin = strings.NewReader(line)
			if out, err := parse.CombinedOutput(); err != nil {
				t.Errorf("%s: %q is no shell: %v %s", name, line, err, out)
			}
			for _, script := range regexp.MustCompile(`docs/\S+\.sh`).FindAllString(line, -1) {
				info, err := os.Stat("../../" + script)
				if err != nil || info.Mode()&0o111 == 0 {
					t.Errorf("%s: %s cannot be executed: %v", name, script, err)
				}
			}
			for _, m := range regexp.MustCompile(`\bmake ([a-z]+)`).FindAllStringSubmatch(line, -1) {
				if !strings.Contains(string(makefile), "\n"+m[1]+":") {
					t.Errorf("%s: the Makefile has no target %s", name, m[1])
				}
			}
		}
	}
	for _, script := range []string{"nightly.sh", "history.sh"} {
		b, err := os.ReadFile(filepath.Join(docsDir, "ci", script))
		if err != nil {
			t.Fatal(err)
		}
		judgeShell(t, script, string(b))
	}
}

func TestShellcheck(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		if os.Getenv("KBENCH_REQUIRE_SHELLCHECK") != "" {
			t.Fatal("shellcheck is required here and is not installed")
		}
		t.Skip("SKIPPED: shellcheck is not installed; apt-get install shellcheck")
	}
	scripts, err := filepath.Glob(filepath.Join(docsDir, "ci", "*.sh"))
	if err != nil || len(scripts) != 2 {
		t.Fatalf("%v, %v", scripts, err)
	}
	if out, err := exec.CommandContext(t.Context(), "shellcheck", scripts...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A release is two static, reproducible binaries, archives that hold the pages,
// and checksums that the target itself checks, as it does the version.
func TestReleaseTarget(t *testing.T) {
	plan := makeTarget(t.Context(), t, "-n", "release", "VERSION=v1.2.3")
	for _, want := range []string{
		"for arch in amd64 arm64", "CGO_ENABLED=0 GOOS=linux GOARCH=$arch", "-trimpath", "-X main.version=v1.2.3",
		"--sort=name", "--mtime=@", "gzip -n", "docs dist/", "sha256sum --quiet -c SHA256SUMS", "version | grep -F 'kbench v1.2.3 '",
	} {
		if !strings.Contains(plan, want) {
			t.Errorf("make release does without %q:\n%s", want, plan)
		}
	}
}
