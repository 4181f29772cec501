package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
// embedded server and of an ensemble of this machine. Of containers, and where
// the log is long, the run says that it is not.
func TestStoreHistory(t *testing.T) {
	long := t.TempDir()
	if err := os.Truncate(mustCreate(t, filepath.Join(long, "log.1")), maxJournal+1); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store store
		why   string
	}{
		"containers": {store{description: "ZooKeeper 3.9.3", nodes: []provider.Node{nil}}, "the transaction logs of ZooKeeper 3.9.3 are not on this machine"},
		"embedded":   {store{description: EmbeddedStore, nodes: []provider.Node{embeddedNode{dir: t.TempDir()}}}, ""},
		"a long log": {store{description: EmbeddedStore, nodes: []provider.Node{embeddedNode{dir: long}}}, "the transaction logs have 2048 MiB"},
		"ensemble":   {store{description: "ZooKeeper 3.9.3", nodes: []provider.Node{&zookeeper.Server{}}}, ""},
		"networks":   {store{description: "ZooKeeper 3.9.3", nodes: []provider.Node{wrapped{&zookeeper.Server{}}}}, ""},
	} {
		source, why := c.store.history()
		if (source == nil) != (c.why != "") || !strings.HasPrefix(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: %q", name, why)
		}
	}
	if n := sizeOf(filepath.Join(t.TempDir(), "gone")); n != 0 {
		t.Errorf("a directory that is gone has %d bytes", n)
	}
}

// mustCreate makes an empty file.
func mustCreate(t *testing.T, path string) string {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The run says which check it left out, and why.
func TestUnjudgedIsSaid(t *testing.T) {
	run := &cellRun{cluster: &cluster{store: store{description: "ZooKeeper 3.9.3", nodes: []provider.Node{nil}}}}
	run.spec.ID = "a"
	if err := run.judgeZnodes(t.Context()); err != nil || len(run.out.Checks) != 0 {
		t.Fatalf("%+v, %v", run.out.Checks, err)
	}
	want := "a: the check znodes was left out: the transaction logs of ZooKeeper 3.9.3 are not on this machine's file system"
	if !slices.Equal(run.out.Notes, []string{want}) {
		t.Errorf("notes %q", run.out.Notes)
	}
}
