package conformance_test

import (
	"context"
	"os"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/zkserver/conformance"
)

// TestReal runs the suite against a real ZooKeeper where this machine has one.
func TestReal(t *testing.T) {
	inst, err := zookeeper.Find()
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: the suite did not run against a real ZooKeeper: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const tick = 400 * time.Millisecond
	e, err := zookeeper.Start(ctx, zookeeper.Config{Installation: inst, Dir: t.TempDir(), TickTime: tick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	t.Log(e.Description())
	server := e.Members()[0]
	conformance.Run(t, conformance.Store{
		Servers: e.Servers(), Tick: tick,
		Restart: func(t *testing.T) {
			if _, err := server.Signal(ctx, provider.Kill); err != nil {
				t.Fatal(err)
			}
			if _, _, err := server.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			if err := server.Start(ctx); err != nil {
				t.Fatal(err)
			}
			if err := e.Ready(ctx); err != nil {
				t.Fatal(err)
			}
		},
	})
}
