package raftclient

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/heldport/heldtest"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/metalog"
)

// newDynamicQuorum formats n nodes as one dynamic quorum and starts them.
func newDynamicQuorum(t *testing.T, n int, tune func(*Config)) *quorum {
	q := &quorum{t: t, dir: t.TempDir(), nodes: map[kafka.BrokerID]*node{}}
	t.Cleanup(func() {
		for _, n := range q.nodes {
			n.kill()
		}
	})
	for range n {
		q.addAddress()
	}
	q.tune = func(cfg *Config) {
		cfg.Voters, cfg.Controller = nil, true
		for _, v := range q.voters {
			if v.ID == cfg.NodeID {
				cfg.Endpoints = []kafka.Endpoint{{Listener: ControllerListener, Host: v.Host, Port: v.Port}}
			} else if v.ID <= kafka.BrokerID(n) {
				cfg.Bootstrap = append(cfg.Bootstrap, v.Addr())
			}
		}
		if tune != nil {
			tune(cfg)
		}
	}
	first := metalog.Quorum{Level: 1}
	for _, v := range q.voters {
		first.Voters = append(first.Voters, metalog.Voter{
			VoterKey:  metalog.VoterKey{ID: v.ID, Directory: directory(v.ID)},
			Endpoints: []kafka.Endpoint{{Listener: ControllerListener, Host: v.Host, Port: v.Port}}, MaxLevel: 1,
		})
	}
	for _, v := range q.voters {
		q.format(v.ID, first)
		q.start(v.ID)
	}
	return q
}

func directory(id kafka.BrokerID) kafka.UUID { return kafka.UUID{0x70, byte(id)} }

func (q *quorum) addAddress() Voter {
	q.t.Helper()
	v := Voter{ID: kafka.BrokerID(len(q.voters) + 1), Host: "127.0.0.1", Port: heldtest.Port(q.t)}
	q.voters = append(q.voters, v)
	return v
}

func (q *quorum) format(id kafka.BrokerID, first metalog.Quorum) {
	q.t.Helper()
	if _, err := metalog.FormatDirectory(metalog.OS(), filepath.Join(q.dir, fmt.Sprint(id)), metalog.Format{
		ClusterID: "test", NodeID: id, Directory: directory(id), Quorum: first, Timestamp: 1,
	}); err != nil {
		q.t.Fatal(err)
	}
}

// request asks a node as a client would.
func request[R kmsg.Response](q *quorum, id kafka.BrokerID, req kmsg.Request) R {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := wire.Dial(ctx, q.voters[id-1].Addr(), wire.DialOptions{ClientID: "test"})
	if err != nil {
		q.t.Fatal(err)
	}
	defer c.Close()
	resp, err := c.Request(ctx, req)
	if err != nil {
		q.t.Fatal(err)
	}
	return resp.(R)
}

func (q *quorum) leads() *node {
	q.t.Helper()
	n, _ := q.leader()
	return n
}

// put writes one value, through as many leaders as it takes, and waits until
// every live node has it.
func (q *quorum) put(value string) {
	q.t.Helper()
	await(q.t, "a write of "+value, func() bool {
		n, at := q.leader()
		return n.write(at.Epoch, value) == nil
	})
	for id, n := range q.nodes {
		await(q.t, fmt.Sprintf("node %d to hold %s", id, value), func() bool {
			got, _ := n.rec.snapshot()
			return n.stopped || slices.Contains(got, value)
		})
	}
}

func (q *quorum) addVoter(id kafka.BrokerID) {
	q.t.Helper()
	await(q.t, fmt.Sprintf("voter %d", id), func() bool {
		r := kmsg.NewPtrAddRaftVoterRequest()
		r.VoterID, r.VoterDirectoryID, r.TimeoutMillis = int32(id), directory(id), 1000
		l := kmsg.NewAddRaftVoterRequestListener()
		l.Name, l.Host, l.Port = ControllerListener, q.voters[id-1].Host, q.voters[id-1].Port
		r.Listeners = append(r.Listeners, l)
		code := kafka.ErrorCode(request[*kmsg.AddRaftVoterResponse](q, q.leads().cfg.NodeID, r).ErrorCode)
		if code != kafka.None && code != kafka.RequestTimedOut && code != kafka.NotLeaderOrFollower && code != kafka.DuplicateVoter {
			q.t.Fatalf("add voter %d: %v", id, code)
		}
		return code == kafka.None || code == kafka.DuplicateVoter
	})
}

func (q *quorum) removeVoter(id kafka.BrokerID) {
	q.t.Helper()
	await(q.t, fmt.Sprintf("no voter %d", id), func() bool {
		r := kmsg.NewPtrRemoveRaftVoterRequest()
		r.VoterID, r.VoterDirectoryID = int32(id), directory(id)
		code := kafka.ErrorCode(request[*kmsg.RemoveRaftVoterResponse](q, q.leads().cfg.NodeID, r).ErrorCode)
		if code != kafka.None && code != kafka.RequestTimedOut && code != kafka.NotLeaderOrFollower && code != kafka.VoterNotFound {
			q.t.Fatalf("remove voter %d: %v", id, code)
		}
		return code == kafka.None || code == kafka.VoterNotFound
	})
}

func (q *quorum) awaitVoters(want ...kafka.BrokerID) {
	q.t.Helper()
	for id, n := range q.nodes {
		if n.stopped {
			continue
		}
		await(q.t, fmt.Sprintf("node %d to know the voters %v", id, want), func() bool {
			var got []kafka.BrokerID
			for _, v := range n.client.Quorum().Voters {
				got = append(got, v.ID)
			}
			return slices.Equal(got, want)
		})
	}
}

// A quorum grows, loses its leader by removal, and goes on without a break.
func TestVotersComeAndGo(t *testing.T) {
	q := newDynamicQuorum(t, 3, func(c *Config) { c.FetchTimeout, c.RequestTimeout = 3*time.Second, 3*time.Second })
	q.awaitVoters(1, 2, 3)
	q.put("a")
	q.addAddress()
	q.format(4, metalog.Quorum{Level: 1})
	q.start(4)
	q.addVoter(4)
	q.awaitVoters(1, 2, 3, 4)
	q.put("b")
	leader := q.leads().cfg.NodeID
	q.removeVoter(leader)
	await(t, "another leader", func() bool { return q.leads().cfg.NodeID != leader })
	left := slices.DeleteFunc([]kafka.BrokerID{1, 2, 3, 4}, func(id kafka.BrokerID) bool { return id == leader })
	q.awaitVoters(left...)
	// The removed one follows as an observer, and disturbs nobody.
	q.put("c")
	await(t, "the removed leader to follow", func() bool {
		return q.nodes[leader].client.Role().Observer && q.nodes[leader].client.LogEndOffset() >= q.leads().client.HighWatermark()
	})
	epoch := q.leads().client.Role().Epoch
	q.put("d")
	if now := q.leads().client.Role().Epoch; now != epoch {
		t.Errorf("epoch %d became %d", epoch, now)
	}
	state, err := os.ReadFile(filepath.Join(q.dir, fmt.Sprint(left[0]), metalog.PartitionDir, "quorum-state"))
	if err != nil || !strings.Contains(string(state), `"data_version":1`) {
		t.Errorf("quorum-state of a dynamic quorum: %s, %v", state, err)
	}
	// All of it is still so after a restart, from log and disk.
	for _, id := range left {
		q.nodes[id].kill()
		q.start(id)
	}
	q.awaitVoters(left...)
	q.put("e")
}

// An observer that joins by itself needs nobody to ask for it.
func TestAutoJoin(t *testing.T) {
	q := newDynamicQuorum(t, 1, func(c *Config) { c.AutoJoin = c.NodeID == 2 })
	q.addAddress()
	q.format(2, metalog.Quorum{Level: 1})
	q.start(2)
	q.awaitVoters(1, 2)
	q.put("a")
}

// Static voters become dynamic ones when kraft.version is raised.
func TestKRaftVersionIsRaised(t *testing.T) {
	q := newQuorum(t, 3, nil)
	q.put("a")
	await(t, "every voter to have told its directory", func() bool {
		l := q.leads()
		return l.client.UpgradeKRaftVersion(t.Context(), l.client.Role().Epoch, 1, false) == nil
	})
	await(t, "kraft.version 1 everywhere", func() bool {
		for _, n := range q.nodes {
			got := n.client.Quorum()
			if got.KRaftVersion != 1 || len(got.Voters) != 3 || got.Voters[0].DirectoryID.IsZero() {
				return false
			}
		}
		return true
	})
	q.put("b")
	q.nodes[1].kill()
	q.start(1) // the voters of its configuration count no more, and do not disturb
	q.put("c")
}

// Records that were accepted before a change of the voters stand in front of
// it, those after behind it, and offsets that were given out hold.
func TestAppendsAroundAVoterChange(t *testing.T) {
	q := newDynamicQuorum(t, 1, func(c *Config) {
		calm(c)
		c.AppendLinger = 50 * time.Millisecond
	})
	q.addAddress()
	q.format(2, metalog.Quorum{Level: 1})
	q.start(2)
	l := q.leads()
	epoch := l.client.Role().Epoch
	stop := make(chan struct{})
	given := make(chan map[kafka.Offset]string, 1)
	var appended atomic.Int64
	go func() {
		offsets := map[kafka.Offset]string{}
		for i := 0; ; i++ {
			select {
			case <-stop:
				given <- offsets
				return
			default:
			}
			next, release, ok := l.client.Reserve(epoch)
			if !ok {
				continue
			}
			o, err := l.client.Append(epoch, [][]byte{fmt.Appendf(nil, "v%d", i)})
			release()
			if err != nil || o != next {
				t.Errorf("append: offset %d, reserved %d, %v", o, next, err)
			}
			offsets[o] = fmt.Sprintf("v%d", i)
			appended.Add(1)
			time.Sleep(time.Millisecond)
		}
	}()
	await(t, "appends before the change", func() bool { return appended.Load() > 20 })
	q.addVoter(2)
	q.awaitVoters(1, 2)
	before := appended.Load()
	await(t, "appends after the change", func() bool { return appended.Load() > before+20 })
	close(stop)
	offsets := <-given
	var last kafka.Offset
	for o := range offsets {
		last = max(last, o)
	}
	await(t, "all to be committed", func() bool { return l.client.HighWatermark() > last })
	raw, err := l.client.log.Read(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := metalog.ReadBatches(raw)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, b := range batches {
		for i, r := range b.Records {
			if b.Control {
				continue
			}
			seen++
			if o := b.BaseOffset + kafka.Offset(i); offsets[o] != string(r.Value) {
				t.Errorf("offset %d holds %s, was given to %q", o, r.Value, offsets[o])
			}
		}
	}
	if seen != len(offsets) || seen < 10 {
		t.Errorf("%d records in the log, %d were appended", seen, len(offsets))
	}
}
