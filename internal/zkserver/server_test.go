package zkserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kbench/internal/zkserver"
	"kbench/internal/zkserver/conformance"
	"kbench/internal/zkserver/proto"
	"kbench/internal/zkserver/txnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, cfg zkserver.Config) *zkserver.Server {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	if cfg.TickTime == 0 {
		cfg.TickTime = time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := zkserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
	})
	return s
}

func connect(t testing.TB, s *zkserver.Server, timeout time.Duration) *conformance.Raw {
	t.Helper()
	return conformance.ConnectRaw(t, s.Addr().String(), timeout)
}

func create(t testing.TB, c *conformance.Raw, path string, flags int32) {
	t.Helper()
	if m := c.Do(t, proto.OpCreate, conformance.Create(path, []byte("x"), flags)); m.Code != proto.OK {
		t.Fatalf("create %s: %v", path, m.Code)
	}
}

func exists(t testing.TB, c *conformance.Raw, path string) bool {
	t.Helper()
	return c.Do(t, proto.OpExists, conformance.PathWatch(path, false)).Code == proto.OK
}

// logs collects log lines.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logs) waitFor(t testing.TB, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		all := l.buf.String()
		l.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("log lacks %q:\n%s", text, all)
		}
	}
}

// TestExpiryIsExact moves the server's clock: one nanosecond before the
// time-out the session lives, at the time-out it does not; frames move the
// deadline.
func TestExpiryIsExact(t *testing.T) {
	clock := newManualClock()
	s := start(t, zkserver.Config{Clock: clock, MaxSessionTimeout: time.Hour})
	watcher := connect(t, s, time.Hour)
	c := connect(t, s, 5*time.Second)
	create(t, c, "/e", proto.Ephemeral)
	clock.Advance(4 * time.Second)
	c.Do(t, proto.OpPing, nil) // heard at 4 s: the deadline is 9 s
	clock.Advance(5*time.Second - 1)
	if !exists(t, watcher, "/e") {
		t.Fatal("expired before its time-out")
	}
	watcher.Do(t, proto.OpExists, conformance.PathWatch("/e", true))
	clock.Advance(1)
	if e := conformance.ReadEvent(t, watcher.Next(t)); e.Type != proto.NodeDeleted {
		t.Fatalf("event %v", e)
	}
	if _, err := c.TryNext(); err == nil {
		t.Error("the connection of an expired session stays open")
	}
	if _, ok := c.Reattach(t, s.Addr().String(), c.Password); ok {
		t.Error("the expired session was taken up")
	}
}

// TestRestartArmsTimeOutsAnew: the clock stands still while the server is
// down; after it each session has its whole time-out.
func TestRestartArmsTimeOutsAnew(t *testing.T) {
	clock, dir := newManualClock(), t.TempDir()
	s := start(t, zkserver.Config{Clock: clock, DataDir: dir, MaxSessionTimeout: time.Hour})
	c := connect(t, s, 5*time.Second)
	create(t, c, "/e", proto.Ephemeral)
	clock.Advance(4 * time.Second)
	c.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	s = start(t, zkserver.Config{Clock: clock, DataDir: dir, MaxSessionTimeout: time.Hour})
	watcher := connect(t, s, time.Hour)
	clock.Advance(5*time.Second - 1)
	if !exists(t, watcher, "/e") {
		t.Fatal("the time-out was not armed anew")
	}
	watcher.Do(t, proto.OpExists, conformance.PathWatch("/e", true))
	clock.Advance(1)
	if e := conformance.ReadEvent(t, watcher.Next(t)); e.Type != proto.NodeDeleted {
		t.Fatalf("event %v", e)
	}
}

// TestTTLAndContainersAreDeleted at the minute's sweep.
func TestTTLAndContainersAreDeleted(t *testing.T) {
	clock := newManualClock()
	s := start(t, zkserver.Config{Clock: clock, MaxSessionTimeout: 24 * time.Hour})
	c := connect(t, s, 24*time.Hour)
	c.Do(t, proto.OpCreateContainer, conformance.Create("/c", nil, proto.Container))
	create(t, c, "/c/k", 0)
	c.Do(t, proto.OpCreateTTL, func(b []byte) []byte {
		return proto.AppendInt64(conformance.Create("/ttl", nil, proto.PersistentTTL)(b), 90_000)
	})
	c.Do(t, proto.OpDelete, conformance.PathVersion("/c/k", -1))
	c.Do(t, proto.OpExists, conformance.PathWatch("/c", true))
	c.Do(t, proto.OpExists, conformance.PathWatch("/ttl", true))
	clock.Advance(time.Minute)
	if e := conformance.ReadEvent(t, c.Next(t)); e.Path != "/c" {
		t.Fatalf("event %v", e)
	}
	clock.Advance(time.Minute)
	if e := conformance.ReadEvent(t, c.Next(t)); e.Path != "/ttl" {
		t.Fatalf("event %v", e)
	}
}

// TestNothingIsAcknowledgedThatIsNotDurable crashes the machine at a random
// moment of a stream of writes: what comes back holds every acknowledged one.
func TestNothingIsAcknowledgedThatIsNotDurable(t *testing.T) {
	for seed := range 20 {
		if lost, acked := crash(t, seed, false); lost > 0 {
			t.Fatalf("seed %d: %d of %d acknowledged writes are lost", seed, lost, acked)
		}
	}
}

// TestCrashTestHasTeeth: a server that acknowledges before it syncs is caught.
func TestCrashTestHasTeeth(t *testing.T) {
	if lost, _ := crash(t, 0, true); lost == 0 {
		t.Error("acknowledging without a sync went unnoticed")
	}
}

func crash(t *testing.T, seed int, noSync bool) (lost, acked int) {
	t.Helper()
	fs := txnlog.NewMemFS()
	cfg := zkserver.Config{DataDir: "d", FS: fs, CompactAt: 4096, NoSync: noSync}
	if noSync {
		cfg.CompactAt = 0 // a compaction syncs what is before it
	}
	s := start(t, cfg)
	c := connect(t, s, 20*time.Second)
	var batch []byte
	for i := range 300 {
		batch, _ = c.Append(batch, proto.OpCreate, conformance.Create(fmt.Sprintf("/%d", i), nil, 0))
	}
	c.Write(t, batch)
	for ; acked < 10+seed*13; acked++ {
		c.Next(t)
	}
	after := fs.Crash(func(n int) int { return n * (seed % 3) / 2 }, seed%2 == 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, zkserver.Config{DataDir: "d", FS: after})
	c = connect(t, s, 20*time.Second)
	for i := range acked {
		if !exists(t, c, fmt.Sprintf("/%d", i)) {
			lost++
		}
	}
	return lost, acked
}

// TestDiskFaultStopsTheServer: after a failed sync nothing is acknowledged any
// more, Serve says why, and the data directory recovers.
func TestDiskFaultStopsTheServer(t *testing.T) {
	boom := errors.New("input/output error")
	for _, part := range []string{"write", "sync"} {
		fs := txnlog.NewMemFS()
		var fail atomic.Bool
		hook := func(string) error {
			if fail.Load() {
				return boom
			}
			return nil
		}
		if part == "write" {
			fs.FailWrite = hook
		} else {
			fs.FailSync = hook
		}
		s, err := zkserver.New(zkserver.Config{DataDir: "d", FS: fs, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve() }()
		c := connect(t, s, 20*time.Second)
		create(t, c, "/before", 0)
		fail.Store(true)
		b, _ := c.Append(nil, proto.OpCreate, conformance.Create("/after", nil, 0))
		c.Write(t, b)
		if m, err := c.TryNext(); err == nil {
			t.Errorf("%s: acknowledged with code %v", part, m.Code)
		}
		if err := <-served; !errors.Is(err, boom) {
			t.Errorf("%s: Serve gave %v", part, err)
		}
		if err := s.Close(); !errors.Is(err, boom) {
			t.Errorf("%s: Close gave %v", part, err)
		}
		fail.Store(false)
		s2 := start(t, zkserver.Config{DataDir: "d", FS: fs})
		if !exists(t, connect(t, s2, time.Second), "/before") {
			t.Errorf("%s: the acknowledged write is lost", part)
		}
	}
}

func TestBadConfigNamesTheCure(t *testing.T) {
	dir := t.TempDir()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	running := start(t, zkserver.Config{DataDir: dir})
	file := filepath.Join(t.TempDir(), "file")
	if err := txnlogFile(file); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  zkserver.Config
		want string
	}{
		{zkserver.Config{}, "DataDir is empty"},
		{zkserver.Config{DataDir: dir}, "stop it or use another data directory"},
		{zkserver.Config{DataDir: file}, "data directory"},
		{zkserver.Config{DataDir: t.TempDir(), Listen: held.Addr().String()}, "address already in use"},
		{zkserver.Config{DataDir: t.TempDir(), Listen: "nonsense"}, "nonsense"},
		{zkserver.Config{DataDir: t.TempDir(), TickTime: -1}, "TickTime"},
		{zkserver.Config{DataDir: t.TempDir(), MaxBuffer: 7}, "MaxBuffer"},
		{zkserver.Config{DataDir: t.TempDir(), MinSessionTimeout: time.Hour}, "no range"},
		{zkserver.Config{DataDir: t.TempDir(), MaxInFlight: -1}, "negative"},
	} {
		c.cfg.Logger = slog.New(slog.DiscardHandler)
		if s, err := zkserver.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
			if err == nil {
				_ = s.Close()
			}
		}
	}
	connect(t, running, time.Second) // it serves: a second call comes too late
	if err := running.Serve(); err == nil {
		t.Error("Serve ran twice")
	}
}

func txnlogFile(name string) error {
	f, err := txnlog.OS().Create(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// TestOversizedRequestSaysWhoseLimit: the log names both sizes and the cure.
func TestOversizedRequestSaysWhoseLimit(t *testing.T) {
	var l logs
	s := start(t, zkserver.Config{MaxBuffer: 2048, Logger: slog.New(slog.NewTextHandler(&l, nil))})
	c := connect(t, s, time.Second)
	b, _ := c.Append(nil, proto.OpCreate, conformance.Create("/a", make([]byte, 3000), 0))
	c.Write(t, b)
	if _, err := c.TryNext(); err == nil {
		t.Error("answered")
	}
	l.waitFor(t, "over the server's jute.maxbuffer of 2048 bytes; raise it on the server")
}

// TestClientThatDoesNotRead loses its connection at the bound, and others are
// served all the while.
func TestClientThatDoesNotRead(t *testing.T) {
	var l logs
	s := start(t, zkserver.Config{MaxReplyBacklog: 1 << 20, Logger: slog.New(slog.NewTextHandler(&l, nil))})
	good, deaf := connect(t, s, 20*time.Second), connect(t, s, 20*time.Second)
	big := make([]byte, 200<<10)
	if m := good.Do(t, proto.OpCreate, conformance.Create("/big", big, 0)); m.Code != proto.OK {
		t.Fatal(m.Code)
	}
	var batch []byte
	for range 200 {
		batch, _ = deaf.Append(batch, proto.OpGetData, conformance.PathWatch("/big", false))
	}
	deaf.Write(t, batch)
	l.waitFor(t, "the client does not read its replies")
	if !exists(t, good, "/big") {
		t.Error("the others are not served")
	}
}

// TestManyUnansweredRequests: the bound stops reading, not serving.
func TestManyUnansweredRequests(t *testing.T) {
	s := start(t, zkserver.Config{MaxInFlight: 3})
	c := connect(t, s, 20*time.Second)
	var batch []byte
	for range 500 {
		batch, _ = c.Append(batch, proto.OpExists, conformance.PathWatch("/", false))
	}
	c.Write(t, batch)
	for range 500 {
		c.Next(t)
	}
}

func TestTooManyConnections(t *testing.T) {
	s := start(t, zkserver.Config{MaxConnections: 1})
	connect(t, s, time.Second)
	c := conformance.DialRaw(t, s.Addr().String())
	if _, err := c.TryNext(); err == nil {
		t.Error("a second connection is served")
	}
}

// TestCompactionUnderLoad: many small logs are compacted while writes go on,
// and everything is there after a restart.
func TestCompactionUnderLoad(t *testing.T) {
	var l logs
	dir := t.TempDir()
	s := start(t, zkserver.Config{DataDir: dir, CompactAt: 8 << 10, Logger: slog.New(slog.NewTextHandler(&l, nil))})
	c := connect(t, s, 20*time.Second)
	const n = 2000
	for i := range n {
		create(t, c, fmt.Sprintf("/%d", i), 0)
	}
	l.waitFor(t, "transaction log compacted")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "snapshot.*"))
	if len(files) != 1 {
		t.Errorf("snapshots: %v", files)
	}
	s = start(t, zkserver.Config{DataDir: dir})
	c = connect(t, s, 20*time.Second)
	if v := c.Do(t, proto.OpExists, conformance.PathWatch("/", false)); conformance.ReadStat(v.Body).NumChildren != n+1 {
		t.Errorf("root after the restart: %+v", v)
	}
}

// TestStartStopCycles leaves no goroutine (checked at the end) and no file
// open: the lock of the directory is free each time.
func TestStartStopCycles(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		s, err := zkserver.New(zkserver.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Serve() }()
		connect(t, s, time.Second)
		if i%2 == 0 {
			_ = s.Close()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestFreeze: a frozen server answers nothing and expires nobody; once it goes
// on, it does both.
func TestFreeze(t *testing.T) {
	clock := newManualClock()
	s := start(t, zkserver.Config{Clock: clock, MaxSessionTimeout: time.Hour})
	c, other := connect(t, s, 5*time.Second), connect(t, s, time.Hour)
	create(t, c, "/e", proto.Ephemeral)
	thaw := s.Freeze()
	clock.Advance(time.Minute)
	answered := make(chan bool, 1)
	go func() { answered <- exists(t, other, "/e") }()
	select {
	case <-answered:
		t.Error("a frozen server answers")
	case <-time.After(100 * time.Millisecond): // nothing can be seen to wait for
	}
	thaw()
	thaw()
	<-answered
	if exists(t, other, "/e") {
		t.Error("the session outlived its time-out")
	}
	s.Freeze()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
