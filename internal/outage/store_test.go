package outage

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/heldport/heldtest"
	"kbench/internal/zkhistory"
	"kbench/internal/zkserver"
)

// store is a ZooKeeper that the test can take away.
type store interface {
	addr() string
	stop()  // as SIGKILL
	start() // after stop, with its data
	freeze()
	thaw()
	history() zkhistory.Source // of all znodes
}

// embedded is kbench's server.
type embedded struct {
	t    testing.TB
	dir  string
	srv  *zkserver.Server
	at   string
	ends chan error
	on   func()
}

func startEmbedded(t testing.TB) *embedded {
	e := &embedded{t: t, dir: t.TempDir(), at: fmt.Sprintf("127.0.0.1:%d", heldtest.Port(t))}
	e.start()
	t.Cleanup(e.stop)
	return e
}

func (e *embedded) addr() string { return e.at }

func (e *embedded) start() {
	srv, err := zkserver.New(zkserver.Config{
		Listen: e.at, DataDir: e.dir, TickTime: 25 * time.Millisecond, MaxSessionTimeout: 30 * time.Second, NoSync: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.t.Errorf("the store does not start again: %v", err)
		return
	}
	e.srv, e.ends = srv, make(chan error, 1)
	go func() { e.ends <- srv.Serve() }()
}

func (e *embedded) stop() {
	if e.srv == nil {
		return
	}
	if err := e.srv.Close(); err != nil {
		e.t.Error(err)
	}
	<-e.ends
	e.srv = nil
}

func (e *embedded) history() zkhistory.Source { return zkhistory.Embedded(e.dir) }

func (e *embedded) freeze() { e.on = e.srv.Freeze() }
func (e *embedded) thaw()   { e.on() }

// real is a ZooKeeper of this machine.
type real struct {
	t testing.TB
	e *zookeeper.Ensemble
}

func startReal(t testing.TB, tick time.Duration) *real {
	t.Helper()
	inst, err := zookeeper.Find()
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: no outage of a real ZooKeeper was tried: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	e, err := zookeeper.Start(ctx, zookeeper.Config{Installation: inst, Dir: t.TempDir(), TickTime: tick, HeapMB: 256})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &real{t, e}
}

func (r *real) addr() string { return r.e.Servers()[0] }

func (r *real) signal(s provider.Signal) {
	if _, err := r.e.Members()[0].Signal(context.Background(), s); err != nil {
		r.t.Error(err)
	}
}

func (r *real) stop() {
	r.signal(provider.Kill)
	if _, _, err := r.e.Members()[0].Wait(context.Background()); err != nil {
		r.t.Error(err)
	}
}

func (r *real) start() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := r.e.Members()[0].Start(ctx)
	if err == nil {
		err = r.e.Ready(ctx)
	}
	if err != nil {
		r.t.Error(err)
	}
}

func (r *real) history() zkhistory.Source { return zkhistory.ZooKeeper(r.e.DataDirs()...) }

func (r *real) freeze() { r.signal(provider.Pause) }
func (r *real) thaw()   { r.signal(provider.Resume) }
