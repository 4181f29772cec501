package harness

import (
	"path/filepath"
	"testing"

	"kbench/harness/provider"
	"kbench/harness/zookeeper"
)

// embeddedNode is a store's node that has its data on this machine.
type embeddedNode struct {
	provider.Node
	dir string
}

func (n embeddedNode) DataDir() string { return n.dir }

// The history of znodes is read where the store's log is at hand: of the
// embedded server and of an ensemble of this machine, not of containers, and
// there is none without a store.
func TestStoreHistory(t *testing.T) {
	for name, c := range map[string]struct {
		store store
		want  bool
	}{
		"no store":   {store{}, false},
		"containers": {store{description: "ZooKeeper 3.9.3", nodes: []provider.Node{nil}}, false},
		"embedded":   {store{description: EmbeddedStore, nodes: []provider.Node{embeddedNode{dir: t.TempDir()}}}, true},
		"ensemble":   {store{description: "ZooKeeper 3.9.3", nodes: []provider.Node{&zookeeper.Server{}}}, true},
	} {
		if _, ok := c.store.history(); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if n := sizeOf(filepath.Join(t.TempDir(), "gone")); n != 0 {
		t.Errorf("a directory that is gone has %d bytes", n)
	}
}
