package harness

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/quorumlog"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// stoppable is a node of this machine that runs or does not.
type stoppable struct {
	embeddedNode
	running bool
}

func (n stoppable) Running() bool { return n.running }

// The logs of all our voters are read, of those that stopped too, and of no
// broker and no real controller.
func TestVoterLogs(t *testing.T) {
	at := func(dir string, running bool) provider.Node { return stoppable{embeddedNode{dir: dir}, running} }
	c := &cluster{mode: nodeconfig.ModeKRaft, excluded: map[kafka.BrokerID]bool{1002: true}, nodes: []*node{
		{id: 1001, racer: true, proc: at("a", true)},
		{id: 1002, racer: true, proc: at("b", true)}, // paused
		{id: 1003, racer: true, proc: at("c", false)},
		{id: 1004, racer: true, kafka: true, proc: at("k", true)},
		{id: 1, worker: true, proc: at("w", true)},
	}}
	got, why := c.voterLogs()
	want := []quorumlog.Voter{
		{ID: 1001, Dir: filepath.Join("a", nodeconfig.MetadataDir, metalog.PartitionDir)},
		{ID: 1002, Dir: filepath.Join("b", nodeconfig.MetadataDir, metalog.PartitionDir), Stopped: true},
		{ID: 1003, Dir: filepath.Join("c", nodeconfig.MetadataDir, metalog.PartitionDir), Stopped: true},
	}
	if why != "" || !slices.Equal(got, want) {
		t.Errorf("%v, %q", got, why)
	}
	c.nodes[0].proc = nowhere{}
	if got, why := c.voterLogs(); len(got) > 0 || !strings.Contains(why, "not on this machine") {
		t.Errorf("a container: %v, %q", got, why)
	}
	c.mode = nodeconfig.ModeZK
	if got, why := c.voterLogs(); len(got) > 0 || why != "" {
		t.Errorf("ZooKeeper mode: %v, %q", got, why)
	}
}

// nowhere is a node whose files are not at hand.
type nowhere struct{ provider.Node }

func (nowhere) Running() bool { return true }
