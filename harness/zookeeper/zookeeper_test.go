package zookeeper

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kbench/harness/jvm"
	"kbench/harness/provider"
)

// installation gives the machine's ZooKeeper or skips with the reason, unless
// KBENCH_REQUIRE_ZOOKEEPER is set.
func installation(t *testing.T) Installation {
	t.Helper()
	inst, err := Find()
	if err == nil {
		return inst
	}
	if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
		t.Fatal(err)
	}
	t.Skip("SKIPPED: ", err)
	return inst
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestFindNamesTheCure(t *testing.T) {
	start := time.Now()
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("home/lib/zookeeper-3.9.3.jar", 0o644)
	write("home/lib/zookeeper-jute-3.9.3.jar", 0o644)
	write("jdk/bin/java", 0o755)
	write("notexec/bin/java", 0o644)
	write("debian/zookeeper.jar", 0o644)
	write("debian/slf4j-simple.jar", 0o644)
	write("empty/x", 0o644)
	p := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name, home, debian, javaHome, path string
		want                               string // in the error; "" for none
		unavailable                        bool
	}{
		{"home", p("home"), p("empty"), p("jdk"), "", "", false},
		{"debian", "", p("debian"), "", p("empty") + ":" + p("jdk/bin"), "", false},
		{"nothing", "", p("empty"), p("jdk"), "", "apt-get install zookeeper", true},
		{"no java", p("home"), "", "", p("empty"), "openjdk-17-jre-headless", true},
		{"home wrong", p("empty"), p("debian"), p("jdk"), "", "ZOOKEEPER_HOME", false},
		{"home missing", p("gone"), p("debian"), p("jdk"), "", "ZOOKEEPER_HOME", false},
		{"java home wrong", p("home"), "", p("empty"), p("jdk/bin"), "JAVA_HOME", false},
		{"java not executable", p("home"), "", p("notexec"), "", "JAVA_HOME", false},
	} {
		env := map[string]string{"ZOOKEEPER_HOME": c.home, "JAVA_HOME": c.javaHome, "PATH": c.path}
		inst, err := find(func(k string) string { return env[k] }, c.debian)
		if c.want == "" {
			if err != nil || inst.Java != p("jdk/bin/java") || len(inst.ClassPath) != 2 {
				t.Errorf("%s: %+v %v", c.name, inst, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, provider.ErrUnavailable) != c.unavailable {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if took := time.Since(start); took > 30*time.Second { // it waits for nobody
		t.Errorf("took %v", took)
	}
}

func TestBadConfig(t *testing.T) {
	inst := Installation{Java: "/bin/false", ClassPath: []string{"x"}}
	for _, c := range []Config{
		{Installation: inst},
		{Dir: t.TempDir()},
		{Installation: inst, Dir: t.TempDir(), Size: 2},
		{Installation: inst, Dir: t.TempDir(), Size: -1},
		{Installation: inst, Dir: t.TempDir(), TickTime: 1},
	} {
		if _, err := Start(t.Context(), c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// A server that ends at once is told at once, and nothing stays.
func TestServerThatExits(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(within(t, 20*time.Second), Config{
		Installation: Installation{Java: "/bin/sh", ClassPath: []string{"x"}}, Dir: dir,
	})
	if err == nil || !strings.Contains(err.Error(), "has exited") {
		t.Fatalf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEnsemble(t *testing.T) {
	inst := installation(t)
	for _, size := range []int{1, 3} {
		t.Chdir(t.TempDir())
		dir := "data" // of kbench's directory, not of the servers'
		ctx := within(t, 6*time.Minute)
		e, err := Start(ctx, Config{Installation: inst, Dir: dir, Size: size, TickTime: 500 * time.Millisecond, Record: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close(context.Background()) })
		var _ provider.Ensemble = e
		if len(e.Servers()) != size || len(e.Members()) != size || !strings.Contains(e.Description(), "ZooKeeper 3") {
			t.Errorf("%v %s", e.Servers(), e.Description())
		}
		first := e.servers[0]
		pausedAnswersNothing(t, ctx, first)
		if _, err := first.Signal(ctx, provider.Kill); err != nil {
			t.Fatal(err)
		}
		if _, code, err := first.Wait(ctx); err != nil || code != -1 {
			t.Fatalf("after SIGKILL: code %d, %v", code, err)
		}
		if err := first.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := e.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		recorded(t, ctx, first, filepath.Join(dir, "zookeeper-1.jfr"))
		if err := first.Collect(ctx, dir); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "zookeeper-1.metrics.jsonl")); err != nil || !strings.Contains(string(b), `"node":"zookeeper-1"`) {
			t.Errorf("what it uses is %q, %v", b, err)
		}
		var pids []int
		for _, s := range e.servers {
			pids = append(pids, s.Pid())
		}
		// The last is paused: the end must not wait for it.
		if _, err := e.servers[size-1].Signal(ctx, provider.Pause); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(ctx); err != nil {
			t.Errorf("second close: %v", err)
		}
		for _, pid := range pids {
			if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err == nil {
				t.Errorf("process %d is left", pid)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "zookeeper-*", "*")); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// recorded looks for what a JVM recorded of itself, where Java is a JDK.
func recorded(t *testing.T, ctx context.Context, n provider.Recorder, file string) {
	t.Helper()
	if _, err := jvm.Jcmd(installation(t).Java); err != nil {
		t.Log("SKIPPED: no recording was taken: ", err)
		return
	}
	if err := n.DumpRecording(ctx, file); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), "FLR\x00") {
		t.Errorf("no recording: %d bytes, %v", len(b), err)
	}
}

func pausedAnswersNothing(t *testing.T, ctx context.Context, s *Server) {
	t.Helper()
	if _, err := s.Signal(ctx, provider.Pause); err != nil {
		t.Fatal(err)
	}
	// The last thread stops a moment after the signal was sent.
	silent := func() bool {
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		var ne net.Error
		_, err := Ask(short, s.addr)
		return errors.As(err, &ne) && ne.Timeout()
	}
	for deadline := time.Now().Add(time.Minute); !silent(); {
		if time.Now().After(deadline) {
			t.Fatal("a paused server answers")
		}
	}
	if _, err := s.Signal(ctx, provider.Resume); err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(ctx, s.addr); err != nil {
		t.Errorf("a resumed server does not answer: %v", err)
	}
}
