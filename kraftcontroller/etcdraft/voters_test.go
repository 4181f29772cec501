package etcdraft

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

// askLeader sends a request to whoever leads until it is taken or refused for
// good. Not all need to agree on the leader: one that was removed knows none.
func (q *quorum) askLeader(what string, req kmsg.Request, code func(kmsg.Response) int16) kafka.ErrorCode {
	q.t.Helper()
	var c kafka.ErrorCode
	await(q.t, what, func() bool {
		for _, n := range q.others(-1) {
			if n.client.Role().State == raft.Leader {
				var ok bool
				c, ok = q.askOnce(n, req, code)
				return ok
			}
		}
		return false
	})
	return c
}

func (q *quorum) askOnce(n *node, req kmsg.Request, code func(kmsg.Response) int16) (kafka.ErrorCode, bool) {
	ctx, cancel := context.WithTimeout(q.t.Context(), 5*time.Second)
	defer cancel()
	conn, err := wire.Dial(ctx, q.voters[n.id].Addr(), wire.DialOptions{})
	if err != nil {
		return 0, false
	}
	defer conn.Close()
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return 0, false
	}
	c := kafka.ErrorCode(code(resp))
	return c, c != kafka.RequestTimedOut && c != kafka.NotLeaderOrFollower
}

func (q *quorum) remove(id kafka.BrokerID) kafka.ErrorCode {
	q.t.Helper()
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	req.VoterID = int32(id)
	return q.askLeader(fmt.Sprintf("the end of voter %d", id), req, func(r kmsg.Response) int16 { return r.(*kmsg.RemoveRaftVoterResponse).ErrorCode })
}

func (q *quorum) add(id kafka.BrokerID) kafka.ErrorCode {
	q.t.Helper()
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.VoterID, req.TimeoutMillis = int32(id), 1000
	return q.askLeader(fmt.Sprintf("voter %d", id), req, func(r kmsg.Response) int16 { return r.(*kmsg.AddRaftVoterResponse).ErrorCode })
}

// dynamic raises kraft.version.
func (q *quorum) dynamic() {
	q.t.Helper()
	await(q.t, "kraft.version 1", func() bool {
		l, epoch := q.leader()
		err := l.client.UpgradeKRaftVersion(q.t.Context(), epoch, 1, false)
		return err == nil && l.client.Quorum().KRaftVersion == 1
	})
}

func (n *node) voters() (ids []kafka.BrokerID) {
	for _, v := range n.client.Quorum().Voters {
		ids = append(ids, v.ID)
	}
	return ids
}

func (q *quorum) awaitVoters(nodes []*node, want ...kafka.BrokerID) {
	q.t.Helper()
	for _, n := range nodes {
		await(q.t, fmt.Sprintf("node %d to know the voters %v", n.id, want), func() bool { return slices.Equal(n.voters(), want) })
	}
}

// others are the live nodes but one.
func (q *quorum) others(id kafka.BrokerID) (out []*node) {
	for _, v := range q.voters {
		if n := q.nodes[v.ID]; v.ID != id && n.cancel != nil {
			out = append(out, n)
		}
	}
	return out
}

func (q *quorum) follower() *node {
	q.t.Helper()
	l, _ := q.leader()
	return q.nodes[(l.id+1)%kafka.BrokerID(len(q.voters))]
}

func expect(t *testing.T, what string, got, want kafka.ErrorCode) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// Two voters go on without the third, which comes back as a voter and has all;
// who starts again counts by the voters of today.
func TestVotersComeAndGo(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.write("a")
	gone := q.follower()
	expect(t, "remove with kraft.version 0", q.remove(gone.id), kafka.UnsupportedVersion)
	q.dynamic()
	expect(t, "add a voter", q.add(gone.id), kafka.DuplicateVoter)
	expect(t, "add a stranger", q.add(77), kafka.InvalidRequest)
	expect(t, "remove a stranger", q.remove(77), kafka.VoterNotFound)
	expect(t, "remove", q.remove(gone.id), kafka.None)
	rest := q.others(gone.id)
	q.awaitVoters(rest, rest[0].id, rest[1].id)
	gone.kill()
	q.write("b") // by both that are left
	for _, n := range rest {
		n.kill()
	}
	for _, n := range rest {
		q.start(n.id)
	}
	rest = q.others(gone.id)
	for _, n := range rest {
		if got := n.voters(); len(got) != 2 {
			t.Errorf("node %d starts with the voters %v", n.id, got)
		}
	}
	q.write("c")
	q.start(gone.id)
	expect(t, "add again", q.add(gone.id), kafka.None)
	q.awaitVoters(q.others(-1), 0, 1, 2)
	rest[0].kill()
	q.write("d") // by one that was there and one that came
	q.start(rest[0].id)
	q.agree([]string{"a", "b", "c", "d"})
	q.sameLogs()
}

func TestLeaderIsRemoved(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.write("a")
	q.dynamic()
	old, epoch := q.leader()
	expect(t, "remove the leader", q.remove(old.id), kafka.None)
	await(t, "the old leader to step down", func() bool {
		r := old.client.Role()
		return r.State != raft.Leader && r.Observer
	})
	old.kill()
	q.write("b")
	q.agree([]string{"a", "b"})
	if l, next := q.leader(); next <= epoch || l.id == old.id {
		t.Errorf("node %d leads epoch %d after %d", l.id, next, epoch)
	}
}

// A voter that was removed while it was away campaigns when it is back, since
// nobody tells it. With pre-vote and the check of the quorum nobody follows it;
// the plain Raft of the paper goes from epoch to epoch until it is a voter again.
func TestRemovedVoterComesBack(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			q := newQuorum(t, 3, func(c *raftclient.Config) { c.DisablePreVote = plain })
			q.write("a")
			q.dynamic()
			gone := q.follower()
			gone.kill()
			expect(t, "remove", q.remove(gone.id), kafka.None)
			q.write("b")
			rest := q.others(gone.id)
			epoch := rest[0].client.Role().Epoch
			gone = q.start(gone.id)
			if plain {
				await(t, "the removed voter to depose a leader", func() bool { return rest[0].client.Role().Epoch > epoch })
			} else {
				before := rest[0].client.Traffic()
				await(t, "the removed voter to ask for votes", func() bool {
					return gone.client.Role().State == raft.Prospective && gone.client.Traffic().Messages >= 6
				})
				await(t, "heartbeats between the others", func() bool { return rest[0].client.Traffic().Messages > before.Messages+10 })
				if now := rest[0].client.Role().Epoch; now != epoch {
					t.Errorf("epoch %d became %d", epoch, now)
				}
			}
			if code := q.add(gone.id); code != kafka.DuplicateVoter { // the answer to a first try may be lost
				expect(t, "add again", code, kafka.None)
			}
			q.awaitVoters(q.others(-1), 0, 1, 2)
			q.write("c")
			q.agree([]string{"a", "b", "c"})
		})
	}
}

// The trace tells how a voter that has diverged comes to agree.
func TestTraceOfAReconciliation(t *testing.T) {
	traces := map[kafka.BrokerID]string{}
	dir := t.TempDir()
	q := newQuorum(t, 3, func(c *raftclient.Config) {
		path := filepath.Join(dir, fmt.Sprint(c.NodeID))
		w, err := trace.Create(path, fmt.Sprintf("controller-%d", c.NodeID))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		traces[c.NodeID], c.Trace = path, w
	})
	q.write("a")
	q.agree([]string{"a"})
	old := q.diverge("lost")
	q.write("b")
	q.start(old.id)
	q.write("c")
	q.agree([]string{"a", "b", "c"})
	var kinds []trace.Kind
	var truncated, durable trace.Event
	await(t, "the trace to tell it", func() bool {
		kinds, durable = nil, trace.Event{}
		for _, e := range readTrace(t, traces[old.id]) {
			switch e.Kind {
			case trace.QuorumTruncated:
				truncated = e
			case trace.QuorumDurable:
				durable = e
			}
			kinds = append(kinds, e.Kind)
		}
		return durable.T != 0
	})
	if truncated.N != 1 || durable.Offset <= truncated.Offset || durable.Messages == 0 || durable.Bytes == 0 || !slices.Contains(kinds, trace.QuorumFollows) {
		t.Errorf("truncated %+v, durable %+v, in all %v", truncated, durable, kinds)
	}
}

func readTrace(t *testing.T, path string) []trace.Event {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return events
}
