package harness

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/quorumlog"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// stoppable is a node of this machine that runs or does not.
type stoppable struct {
	embeddedNode
	running bool
	traced  string
}

func (n stoppable) Running() bool { return n.running }

func (n stoppable) Trace(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(n.traced)), nil
}

// wrapped is a node with more around it.
type wrapped struct{ provider.Node }

func (n wrapped) Unwrap() provider.Node { return n.Node }

// The logs of all our voters are read, of those that stopped too, and of no
// broker and no real controller.
func TestVoterLogs(t *testing.T) {
	at := func(dir string, running bool) provider.Node {
		return stoppable{embeddedNode: embeddedNode{dir: dir}, running: running}
	}
	c := &cluster{mode: nodeconfig.ModeKRaft, excluded: map[kafka.BrokerID]bool{1002: true}, nodes: []*node{
		{id: 1001, racer: true, proc: at("a", true)},
		{id: 1002, racer: true, proc: at("b", true)},           // paused
		{id: 1003, racer: true, proc: wrapped{at("c", false)}}, // in a network of its own
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

// quorumOf is a cluster of three voters whose logs are in files: they agree, and
// the first holds on to a record of an epoch that is over.
func quorumOf(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{mode: nodeconfig.ModeKRaft, excluded: map[kafka.BrokerID]bool{}}
	var voters []metalog.VoterKey
	for id := range kafka.BrokerID(3) {
		voters = append(voters, metalog.VoterKey{ID: 1001 + id})
	}
	opens := func(epoch kafka.LeaderEpoch, base kafka.Offset) metalog.Batch {
		change := metalog.LeaderChange{Leader: 1002, Voters: voters, GrantingVoters: voters[1:]}
		return metalog.Batch{BaseOffset: base, Epoch: epoch, Control: true, Records: []metalog.Record{change.Record()}}
	}
	value, err := metadata.AppendRecord(nil, &metadata.NoOpRecord{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range voters {
		dir := t.TempDir()
		l, err := metalog.Open(metalog.Config{FS: metalog.OS(), Dir: filepath.Join(dir, nodeconfig.MetadataDir, metalog.PartitionDir), NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		last := opens(3, 1)
		if i == 0 {
			last = metalog.Batch{BaseOffset: 1, Epoch: 1, Records: []metalog.Record{{Value: value}}}
		}
		for _, b := range []metalog.Batch{opens(1, 0), last} {
			raw, err := b.Append(nil)
			if err == nil {
				err = l.Append(raw)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, &node{id: v.ID, racer: true, proc: stoppable{embeddedNode: embeddedNode{dir: dir}, running: true}})
	}
	return c
}

// The verdict is in the run, and the logs are in its folder for another. A voter
// that runs must have dropped what was deposed; one that was cut off, when the
// cell ends, cannot have.
func TestQuorumIsKeptAndJudged(t *testing.T) {
	for name, c := range map[string]struct {
		excluded map[kafka.BrokerID]bool
		grants   int // controllers that have traced one
		looked   int64
		want     string
	}{
		"cut off": {map[kafka.BrokerID]bool{1001: true}, 0, 6, ""},
		"traced":  {map[kafka.BrokerID]bool{1001: true}, 2, 8, ""},
		"running": {map[kafka.BrokerID]bool{}, 0, 6, "K3: voter 1001 "},
	} {
		run := newCellRun(t)
		run.cluster = quorumOf(t)
		run.cluster.excluded = c.excluded
		for _, n := range run.cluster.nodes[:c.grants] {
			traced := n.proc.(stoppable)
			traced.traced = `{"t":1,"node":"c","kind":"controller.shutdown-granted","broker":1}` + "\n"
			n.proc = traced
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // one look
		if err := run.judgeQuorum(ctx); err != nil {
			t.Fatal(err)
		}
		checks := run.out.Checks
		if len(checks) != 1 || checks[0].Name != quorumlog.ResultName || checks[0].Looked != c.looked || !strings.HasPrefix(strings.Join(checks[0].Faults, ""), c.want) || checks[0].OK != (c.want == "") {
			t.Errorf("%s: %+v", name, checks)
		}
		f, err := os.Open(filepath.Join(run.w.Dir(), run.stem()+quorumlog.FileSuffix))
		if err != nil {
			t.Fatal(err)
		}
		again, err := quorumlog.Judge(f)
		if err := errors.Join(err, f.Close()); err != nil || again.OK() != checks[0].OK || again.Looked != checks[0].Looked {
			t.Errorf("%s: judged again: %+v, %v", name, again, err)
		}
	}
}

// The logs of voters that are colocated with brokers are told apart by the
// voters' ids, which stand in them.
func TestLogsOfColocatedVoters(t *testing.T) {
	c := quorumOf(t)
	for i, n := range c.nodes {
		n.id, n.voter = kafka.BrokerID(i+1), n.id
	}
	c.excluded = map[kafka.BrokerID]bool{1: true}
	voters, why := c.voterLogs()
	for i, v := range voters {
		if v.ID != kafka.BrokerID(1001+i) || v.Stopped != (i == 0) {
			t.Errorf("voter %d: %+v", i, v)
		}
	}
	if len(voters) != 3 || why != "" {
		t.Errorf("%+v, %s", voters, why)
	}
}

// A voter without a log is no voter that agrees.
func TestQuorumWithoutALog(t *testing.T) {
	run := newCellRun(t)
	run.cluster = quorumOf(t)
	run.cluster.nodes[2].proc = stoppable{embeddedNode: embeddedNode{dir: t.TempDir()}, running: true}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run.judgeQuorum(ctx); err == nil || !strings.Contains(err.Error(), "voter 1003 has no metadata log") {
		t.Errorf("%v", err)
	}
}

// nowhere is a node whose files are not at hand.
type nowhere struct{ provider.Node }

func (nowhere) Running() bool { return true }
