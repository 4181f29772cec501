package zkserver_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/internal/zkserver"
)

func start(t testing.TB, cfg zkserver.Config) *zkserver.Server {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	if cfg.TickTime == 0 {
		cfg.TickTime = 50 * time.Millisecond
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

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func dial(t testing.TB, s *zkserver.Server) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{s.Addr().String()}, time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRoundTrip(t *testing.T) {
	s := start(t, zkserver.Config{})
	c := dial(t, s)
	open := zk.WorldACL(zk.PermAll)
	if _, err := c.Create("/a", []byte("x"), 0, open); err != nil {
		t.Fatal(err)
	}
	data, stat, err := c.Get("/a")
	if err != nil || string(data) != "x" || stat.Version != 0 {
		t.Fatalf("got %q %+v %v", data, stat, err)
	}
	stat, err = c.Set("/a", []byte("yy"), 0)
	if err != nil || stat.Version != 1 || stat.DataLength != 2 {
		t.Fatalf("set: %+v %v", stat, err)
	}
	if _, err := c.Set("/a", nil, 0); err != zk.ErrBadVersion {
		t.Fatalf("set with old version: %v", err)
	}
	_, err = c.Multi(&zk.CreateRequest{Path: "/b", Acl: open, Flags: zk.FlagEphemeral}, &zk.CheckVersionRequest{Path: "/a", Version: 7})
	if err != zk.ErrBadVersion {
		t.Fatalf("multi: %v", err)
	}
	if ok, _, err := c.Exists("/b"); ok || err != nil {
		t.Fatalf("failed multi left /b: %v %v", ok, err)
	}
}
