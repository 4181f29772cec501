package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/harness/netfault/agent"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/workloads"
)

// linkedNode is a node with a network of its own.
type linkedNode struct {
	*hurtNode
	client *agent.Client
}

// Agent implements provider.Networked.
func (n linkedNode) Agent(context.Context) (*agent.Client, error) { return n.client, nil }

// linkedCluster has a node that a link joins to a second and to a store, which
// is an embedded one.
func linkedCluster(t *testing.T, obeys bool) *injector {
	t.Helper()
	in := hurtCluster(t, false)
	link := &fakeLink{obeys: obeys}
	linked := func(name, addr string) linkedNode {
		return linkedNode{&hurtNode{name: name}, link.agent(t, addr)}
	}
	c := in.c
	c.mode = nodeconfig.ModeZK
	c.nodes[0].proc = linked("controller-1", "10.0.0.1")
	c.nodes = append(c.nodes, &node{id: 2, addr: c.nodes[0].addr, worker: true, proc: linked("broker-2", "10.0.0.2")})
	c.store.servers = serveZooKeeper(t)
	c.store.nodes = []provider.Node{linked("zookeeper-1", "10.0.0.3")}
	return in
}

// TestSplitThatIsNone: neither one that lets packets pass to the other side nor
// one that loses those within a side is taken for a split.
func TestSplitThatIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		obeys bool
		want  string
	}{
		"nothing is lost":    {false, "controller-1: wait until packets pass"},
		"everything is lost": {true, "wait until packets pass within one side"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := linkedCluster(t, c.obeys).Begin(ctx, workloads.TimedFault{Fault: workloads.FaultSplit, On: []string{"controller-1"}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSessionThatDoesNotExpire: neither a cut that is not made nor one that a
// session survives is taken for an expiry.
func TestSessionThatDoesNotExpire(t *testing.T) {
	f := workloads.TimedFault{Fault: workloads.FaultExpire, On: []string{"controller-1"}}
	for name, c := range map[string]struct {
		obeys bool
		want  string
	}{
		"no cut":          {false, "controller-1: wait until packets pass"},
		"session goes on": {true, "controller-1: wait until its session has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := linkedCluster(t, c.obeys)
			defer register(t, in.c.store.servers).Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := in.Begin(ctx, f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// register has a session that holds the znode of broker 1.
func register(t *testing.T, servers []string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/brokers", "/brokers/ids"} {
		if _, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
			t.Fatal(err)
		}
	}
	if _, err := conn.Create("/brokers/ids/1", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	return conn
}
