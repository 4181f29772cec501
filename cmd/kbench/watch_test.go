package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kbench/harness/live"
	"kbench/harness/spec"
	"kbench/results"
)

// What is no terminal gets no redrawn lines, whatever the environment says.
func TestLiveTerminalNeedsATerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	if liveTerminal(w, func(string) string { return "" }) != nil {
		t.Error("a pipe is taken for a terminal")
	}
}

// On a terminal, TERM=dumb and CI mean plain lines, and NO_COLOR no colours.
func TestLiveTerminalHeedsTheEnvironment(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminal here: %v", err)
	}
	defer func() { _ = f.Close() }()
	for _, c := range []struct {
		key, value   string
		live, colour bool
	}{
		{"", "", true, true},
		{"NO_COLOR", "1", true, false},
		{"NO_COLOR", "", true, true},
		{"TERM", "dumb", false, false},
		{"CI", "true", false, false},
		{"CI", "", true, true},
	} {
		got := liveTerminal(f, func(key string) string {
			if key == c.key {
				return c.value
			}
			return ""
		})
		if (got != nil) != c.live || got != nil && got.Colour != c.colour {
			t.Errorf("%s=%s: %+v", c.key, c.value, got)
		}
		if got == nil {
			continue
		}
		if columns, rows := got.Size(); columns != 80 || rows != 1 {
			t.Errorf("a terminal without a size is %d by %d", columns, rows)
		}
	}
}

// The plan that a run is watched with is the one that --dry-run prints.
func TestPlanIsTheEstimate(t *testing.T) {
	s, err := spec.Default(spec.Override{Origin: "test", Path: "repeats", Value: "2"})
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(s)
	if want := estimate(s, s.Cells()); plan.Total != want || plan.Name != s.Name {
		t.Errorf("%s takes %v, want %v", plan.Name, plan.Total, want)
	}
	if plan.Cell(s.Cells()[0].ID) <= 0 || plan.Cell("no such cell") != 0 {
		t.Error("a cell has no estimate, or one that is not there has")
	}
}

// A port that is taken, or no address at all, is bad input, and nothing has
// begun by then.
func TestServeThatCannotListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir := t.TempDir()
	for addr, want := range map[string]string{
		l.Addr().String(): "the port is in use",
		"8080":            "write 127.0.0.1:8080",
		"":                "is not host:port",
	} {
		var stdout, stderr bytes.Buffer
		code := run([]string{"run", "--provider", "process", "--serve", addr, "--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data")}, &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) || !strings.HasPrefix(stderr.String(), "--serve ") {
			t.Errorf("--serve %q: exit %d, %s", addr, code, stderr.String())
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("--serve %q left %v", addr, left)
		}
	}
}

// An address that others may reach is warned of, whatever --quiet says; of this
// machine's own the page is said, and with --quiet only where a free port was
// taken.
func TestServeSaysWhoMayWatch(t *testing.T) {
	for _, c := range []struct {
		host  string
		quiet bool
		port0 bool
		want  string // with %s for the page
	}{
		{"127.0.0.1", false, true, "live page: %s\n"},
		{"127.0.0.1", true, true, "live page: %s\n"},
		{"127.0.0.1", true, false, ""},
		{"0.0.0.0", true, false, "warning: --serve 0.0.0.0:8080: whoever reaches this address can watch the run; 127.0.0.1 is for this machine alone\n"},
	} {
		server, err := live.Serve(c.host+":0", live.NewBoard(live.Plan{}))
		if err != nil {
			t.Fatal(err)
		}
		f := watchFlags{quiet: c.quiet, serve: c.host + ":8080"}
		if c.port0 {
			f.serve = c.host + ":0"
		}
		var stderr bytes.Buffer
		(&watch{server: server}).announce(&stderr, f)
		if want := strings.ReplaceAll(c.want, "%s", server.URL()); stderr.String() != want {
			t.Errorf("%+v says %q, want %q", c, stderr.String(), want)
		}
		server.Close()
	}
}

// tinyRun is a kbench that runs one trial of one cell.
func tinyRun(t *testing.T, dir string, more ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"run", "--targets", "kraft", "--provider", "process", "--partitions", "100", "--workloads", "controlled-shutdown", "--trials", "1", "--retries", "3",
		"--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data"),
	}, more...)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asKbench+"=1", "CI=", "TERM=xterm")
	return cmd
}

// A run that is served tells its page and metrics where it is, keeps quiet but
// for a free port's address, and ends its streams with its verdict.
func TestServeShowsARun(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a real cluster")
	}
	dir := t.TempDir()
	cmd := tinyRun(t, dir, "--targets", "zk", "--store", "embedded", "--quiet", "--serve", "127.0.0.1:0")
	stderr := &watched{want: "/\n", found: make(chan struct{})}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-stderr.found
	url, ok := strings.CutPrefix(strings.TrimSpace(stderr.String()), "live page: ")
	if !ok {
		t.Fatalf("stderr: %s", stderr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	body := func(path string) io.ReadCloser {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Body
	}
	events := body("events")
	defer func() { _ = events.Close() }()
	metrics := body("metrics")
	text, err := io.ReadAll(metrics)
	if _ = metrics.Close(); err != nil || !strings.Contains(string(text), `kbench_run_info{spec="zk-vs-kraft"} 1`) {
		t.Errorf("%v, %s", err, text)
	}
	all, err := io.ReadAll(events) // until the run is over
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	r, err := results.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "out", filepath.Base(r.Dir), "report.html")
	for _, want := range []string{
		`"kind":"trial"`, `"kind":"fault"`, `"kind":"controller"`, `"epoch":1}`, "controlled-shutdown trial 1/1",
		fmt.Sprintf(`{"verdict":"valid","report":%q}`, report),
	} {
		if !strings.Contains(string(all), want) {
			t.Errorf("no %s in the events", want)
		}
	}
	if strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("--quiet said:\n%s", stderr)
	}
}

// openPTY gives both ends of a pseudo terminal.
func openPTY(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo terminal here: %v", err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// Whatever signal ends a run, its block is off the terminal, the cursor was
// never hidden and no colour is left on.
func TestSignalsLeaveTheTerminalWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a real cluster")
	}
	ours, theirs := openPTY(t)
	dir := t.TempDir()
	cmd := tinyRun(t, dir, "--trials", "50")
	cmd.Stderr = theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	seen := &watched{want: "trial 2/50", found: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(seen, ours) // its end is an EIO, when the last writer is gone
	}()
	select {
	case <-seen.found:
	case <-time.After(3 * time.Minute):
		t.Errorf("no second trial within three minutes: %q", seen)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	<-read
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit %d, want 143", code)
	}
	text := seen.String()
	if strings.Contains(text, "\x1b[?") {
		t.Error("a mode of the terminal was switched")
	}
	if !strings.Contains(text, "controller ") || !strings.Contains(text, "\x1b[5A") {
		t.Errorf("no block was drawn: %q", text)
	}
	tail := text[strings.LastIndex(text, "\x1b[J")+len("\x1b[J"):]
	if !strings.HasPrefix(tail, "run folder: ") || strings.Contains(tail, "\x1b") {
		t.Errorf("after the last frame: %q", tail)
	}
	if on, off := strings.Count(text, "\x1b[1m")+strings.Count(text, "\x1b[33m")+strings.Count(text, "\x1b[31m"), strings.Count(text, "\x1b[0m"); on != off {
		t.Errorf("colours were switched on %d times and off %d times", on, off)
	}
}
