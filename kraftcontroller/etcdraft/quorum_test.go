package etcdraft

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

func TestReplicates(t *testing.T) {
	q := newQuorum(t, 3, nil)
	observer := q.start(1000)
	var want []string
	for i := range 50 {
		q.write(fmt.Sprint(i), fmt.Sprint(i, "b"))
		want = append(want, fmt.Sprint(i), fmt.Sprint(i, "b"))
	}
	q.agree(want)
	if _, l := observer.rec.have(); l.Leader == raft.None {
		t.Error("an observer that has all knows no leader")
	}
	leader, _ := q.leader()
	if tr := leader.client.Traffic(); tr.Messages == 0 || tr.Bytes == 0 {
		t.Errorf("the leader counts %+v", tr)
	}
	q.sameLogs()
}

// sameLogs compares the voters' log files byte for byte.
func (q *quorum) sameLogs() {
	q.t.Helper()
	var first []byte
	for _, v := range q.voters {
		q.nodes[v.ID].kill()
		raw, err := os.ReadFile(q.segment(v.ID))
		if err != nil {
			q.t.Fatal(err)
		}
		if first == nil {
			first = raw
		}
		if !bytes.Equal(raw, first) {
			q.t.Errorf("the log of node %d has %d bytes and differs from that of node %d, %d bytes", v.ID, len(raw), q.voters[0].ID, len(first))
		}
	}
}

func (q *quorum) segment(id kafka.BrokerID) string {
	return filepath.Join(q.path(id), metalog.PartitionDir, fmt.Sprintf("%020d.log", 0))
}

func TestLeaderDies(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			q := newQuorum(t, 3, func(c *raftclient.Config) { c.DisablePreVote = plain })
			q.start(1000)
			q.write("a")
			q.agree([]string{"a"})
			old, epoch := q.leader()
			old.kill()
			q.write("b")
			q.agree([]string{"a", "b"})
			_, next := q.leader()
			if next <= epoch {
				t.Errorf("epoch %d follows %d", next, epoch)
			}
			q.start(old.id)
			q.write("c")
			q.agree([]string{"a", "b", "c"})
		})
	}
}

func TestRestartOfAll(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.write("a", "b")
	q.agree([]string{"a", "b"})
	_, epoch := q.leader()
	for _, v := range q.voters {
		q.nodes[v.ID].kill()
	}
	for _, v := range q.voters {
		q.start(v.ID)
	}
	q.write("c")
	q.agree([]string{"a", "b", "c"})
	if _, next := q.leader(); next <= epoch {
		t.Errorf("epoch %d follows %d", next, epoch)
	}
}

// What a crash leaves of a write that was never acknowledged is cut off.
func TestTornTail(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.write("a")
	q.write("b")
	q.agree([]string{"a", "b"})
	leader, _ := q.leader()
	victim := q.voters[(int(leader.id)+1)%3].ID
	q.nodes[victim].kill()
	log, err := os.ReadFile(q.segment(victim))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(q.segment(victim), append(log, log[:50]...), 0o644); err != nil {
		t.Fatal(err)
	}
	q.start(victim)
	q.write("c")
	q.agree([]string{"a", "b", "c"})
	q.sameLogs()
}

// A leader that nobody hears appends what is never committed; when it comes back
// it takes over what the others have.
func TestDivergedLeader(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.write("a")
	q.agree([]string{"a"})
	old := q.diverge("lost")
	q.write("b")
	q.agree([]string{"a", "b"})
	q.start(old.id)
	q.write("c")
	q.agree([]string{"a", "b", "c"})
	q.sameLogs()
}

// diverge has the leader append a value while the others are away, and brings
// them back without it.
func (q *quorum) diverge(value string) *node {
	q.t.Helper()
	old, epoch := q.leader()
	for _, v := range q.voters {
		if v.ID != old.id {
			q.nodes[v.ID].kill()
		}
	}
	end := old.client.LogEndOffset()
	if _, err := old.client.Append(epoch, [][]byte{[]byte(value)}); err != nil {
		q.t.Fatal(err)
	}
	await(q.t, "the lone leader to write", func() bool { return old.client.LogEndOffset() > end || old.client.Role().State != raft.Leader })
	old.kill()
	for _, v := range q.voters {
		if v.ID != old.id {
			q.start(v.ID)
		}
	}
	return old
}

func TestHandsOver(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.write("a")
	q.agree([]string{"a"})
	old, epoch := q.leader()
	if err := old.client.Resign(t.Context(), epoch); err != nil {
		t.Fatal(err)
	}
	await(t, "another epoch", func() bool { _, e := q.leader(); return e > epoch })
	q.write("b")
	q.agree([]string{"a", "b"})

	old, epoch = q.leader()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := old.client.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	old.kill()
	if next, e := q.leader(); e <= epoch || next.id == old.id {
		t.Errorf("node %d leads epoch %d after node %d of epoch %d left", next.id, e, old.id, epoch)
	}
}

func TestOneVoter(t *testing.T) {
	q := newQuorum(t, 1, nil)
	q.write("a")
	q.agree([]string{"a"})
	q.nodes[0].kill()
	q.start(0)
	q.write("b")
	q.agree([]string{"a", "b"})
}

// A voter that was away while the log before a snapshot went gets the snapshot,
// and so does a new observer. Nodes that start behind a snapshot know where
// they are.
func TestSnapshot(t *testing.T) {
	q := newQuorum(t, 3, func(c *raftclient.Config) {
		c.SegmentBytes, c.RetentionBytes = 1024, 1
	})
	var want []string
	write := func(n int) {
		for range n {
			v := fmt.Sprintf("%0100d", len(want))
			q.write(v)
			want = append(want, v)
			q.agree(want) // one append each, so that no segment gets large
		}
	}
	write(5)
	leader, _ := q.leader()
	away := q.voters[(int(leader.id)+1)%3].ID
	q.nodes[away].kill()
	write(40)
	for _, n := range q.nodes {
		if n.id != away {
			n.snapshot()
			n.kill() // and with it what it was about to send
		}
	}
	for _, v := range q.voters {
		if v.ID != away {
			q.start(v.ID)
		}
	}
	back := q.start(away)
	observer := q.start(1000)
	write(5)
	for _, n := range []*node{back, observer} {
		if n.rec.loads == 0 {
			t.Errorf("node %d loaded no snapshot", n.id)
		}
	}
	for _, v := range q.voters {
		q.nodes[v.ID].kill()
	}
	for _, v := range q.voters {
		q.start(v.ID)
	}
	write(5)
}

// snapshot takes a snapshot of all that the node has.
func (n *node) snapshot() {
	n.t.Helper()
	n.rec.mu.Lock()
	id, values := n.rec.last, n.rec.values
	n.rec.mu.Unlock()
	w, err := n.client.NewSnapshot(id, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, v := range values {
		if err := w.Append([]byte(v)); err != nil {
			n.t.Fatal(err)
		}
	}
	if err := n.client.FinishSnapshot(n.t.Context(), w); err != nil {
		n.t.Fatal(err)
	}
	await(n.t, "the log before the snapshot to go", func() bool {
		raw, err := os.ReadDir(filepath.Join(n.path, metalog.PartitionDir))
		if err != nil {
			n.t.Fatal(err)
		}
		for _, f := range raw {
			if f.Name() == fmt.Sprintf("%020d.log", 0) {
				return false
			}
		}
		return true
	})
}
