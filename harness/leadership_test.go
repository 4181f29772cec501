package harness

import (
	"log/slog"
	"testing"

	"kbench/internal/zkserver"
	"kbench/zkcontroller/zk"
)

// serveZooKeeper runs an empty embedded store for as long as the test.
func serveZooKeeper(t *testing.T) (servers []string) {
	t.Helper()
	s, err := zkserver.New(zkserver.Config{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() { _, _ = s.Close(), <-served })
	return []string{s.Addr().String()}
}

func TestStoredEpoch(t *testing.T) {
	servers := serveZooKeeper(t)
	if _, err := storedEpoch(t.Context(), servers); err == nil {
		t.Error("an epoch where no controller was ever elected")
	}
	session, err := zk.Connect(t.Context(), zk.Config{Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close(t.Context()) }()
	create := func(int) zk.Op { return zk.Create(zk.ControllerEpochPath, zk.EncodeControllerEpoch(7)) }
	if err := session.Pipeline(t.Context(), 1, create, func(int, zk.Result) {}); err != nil {
		t.Fatal(err)
	}
	if epoch, err := storedEpoch(t.Context(), servers); err != nil || epoch != 7 {
		t.Errorf("epoch %d, %v; want 7", epoch, err)
	}
}
