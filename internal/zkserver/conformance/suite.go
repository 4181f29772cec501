package conformance

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Store is a running store under test.
type Store struct {
	// Servers are host:port; tests use the first.
	Servers []string
	// Tick is its tickTime. Session time-outs are negotiated between 2 and 20
	// ticks.
	Tick time.Duration
	// Restart ends the store with SIGKILL and starts it again on its data and
	// address; it returns when the store serves.
	Restart func(t *testing.T)
}

func (s Store) addr() string { return s.Servers[0] }

// Run runs every test of the suite.
func Run(t *testing.T, s Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Store)
	}{
		{"Negotiation", negotiation},
		{"Reattach", reattach},
		{"WrongPassword", wrongPassword},
		{"Expiry", expiry},
		{"PingsKeepASession", pings},
		{"SecondConnectionTakesTheSession", takeOver},
		{"LaterZxidIsRefused", laterZxid},
		{"CloseSession", closeSession},
		{"Ephemerals", ephemerals},
		{"Sequential", sequential},
		{"Versions", versions},
		{"Stats", stats},
		{"NullAndEmptyData", nullData},
		{"PathRules", pathRules},
		{"MultiCommits", multiCommits},
		{"MultiRollsBack", multiRollsBack},
		{"MultiWithEphemerals", multiEphemerals},
		{"MultiSeesItself", multiSeesItself},
		{"CreateTwo", createTwo},
		{"Containers", containers},
		{"ACLs", acls},
		{"AccessLists", accessLists},
		{"Sync", syncOp},
		{"Watches", watches},
		{"WatchesOfDeletion", watchesOfDeletion},
		{"EventBeforeReply", eventBeforeReply},
		{"EventsInOrder", eventsInOrder},
		{"SetWatches", setWatches},
		{"ManyWatchesAcrossReconnects", manyWatches},
		{"ClientWatchesAcrossReconnect", clientWatches},
		{"PipelinedInOrder", pipelined},
		{"LargeChildrenList", largeChildren},
		{"LargestRequest", largestRequest},
		{"BadInput", badInput},
		{"FourLetterWords", fourLetters},
		{"RestartKeepsSessions", restartSessions},
		{"RestartKeepsAcknowledgedWrites", restartWrites},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

var roots atomic.Int64

// root makes a znode of the test's own.
func root(t *testing.T, c *zk.Conn) string {
	t.Helper()
	path := fmt.Sprintf("/%s-%d", strings.ReplaceAll(t.Name(), "/", "."), roots.Add(1))
	if _, err := c.Create(path, []byte("root"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	return path
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// client opens a session by go-zookeeper, with the longest time-out.
func client(t *testing.T, s Store) *zk.Conn {
	t.Helper()
	c, _ := clientWithEvents(t, s)
	return c
}

func clientWithEvents(t *testing.T, s Store) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect(s.Servers[:1], 20*s.Tick, zk.WithLogger(quiet{}), zk.WithMaxBufferSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	deadline := time.After(ioDeadline)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c, events
			}
		case <-deadline:
			t.Fatal("no session in time")
		}
	}
}

// eventually polls until done, at most for limit.
func eventually(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func exists(t *testing.T, c *zk.Conn, path string) bool {
	t.Helper()
	ok, _, err := c.Exists(path)
	if err != nil {
		t.Fatalf("exists %s: %v", path, err)
	}
	return ok
}

var open = zk.WorldACL(zk.PermAll)
