package raftclient

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raft"
)

// Traffic is what a voter and the other voters have told each other since it
// started. Bytes are those of the messages, without what frames them. A round
// trip is over when the node hears again after it has spoken.
type Traffic struct{ Messages, Bytes, RoundTrips int64 }

// Talk counts Traffic. Methods may be called from any goroutine; an Algorithm
// calls Sent and Heard for each message of its own transport, Heard before it
// delivers one.
type Talk struct {
	mu     sync.Mutex
	sum    Traffic
	before Traffic // when the last message came, without it
	spoke  bool
}

// Sent counts a message to another voter.
func (t *Talk) Sent(sizeBytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(sizeBytes)
	t.spoke = true
}

// Heard counts a message of another voter.
func (t *Talk) Heard(sizeBytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = t.sum
	t.count(sizeBytes)
	if t.spoke {
		t.sum.RoundTrips++
		t.spoke = false
	}
}

func (t *Talk) count(sizeBytes int) {
	t.sum.Messages++
	t.sum.Bytes += int64(sizeBytes)
}

// soFar gives the sum, and what it was before the last message that was heard.
func (t *Talk) soFar() (sum, before Traffic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum, t.before
}

// Traffic gives what this voter and the others have told each other so far.
func (c *Client) Traffic() Traffic {
	sum, _ := c.talk.soFar()
	return sum
}

// maxTold bounds what the trace tells of a log that grows again behind a
// truncation; it is over long before.
const maxTold = 64

// tell writes an event of the quorum with the traffic so far, for nodes that may
// vote.
func (c *Client) tell(e trace.Event) {
	if !c.voter {
		return
	}
	sum, before := c.talk.soFar()
	if e.Kind == trace.QuorumFollows {
		sum = before
	}
	e.Messages, e.Bytes, e.RoundTrips = sum.Messages, sum.Bytes, sum.RoundTrips
	c.cfg.Trace.Emit(e)
}

// tellRole tells of a campaign, and of a leader that is another node.
func (c *Client) tellRole(before, now raft.Role) {
	n := int64(0)
	switch campaigns := now.State == raft.Prospective || now.State == raft.Candidate; {
	case campaigns && (now.State != before.State || now.Epoch != before.Epoch):
		if now.State == raft.Candidate {
			n = 1
		}
		c.tell(trace.Event{Kind: trace.QuorumCampaigns, Epoch: int64(now.Epoch), N: n})
	case now.LeaderID == raft.None || now.LeaderID == c.cfg.NodeID:
	case now.LeaderID != before.LeaderID || now.Epoch != before.Epoch || now.Observer != before.Observer:
		if now.Observer {
			n = 1
		}
		c.tell(trace.Event{Kind: trace.QuorumFollows, Epoch: int64(now.Epoch), Broker: int32(now.LeaderID), N: n})
	}
}

// tellAlone tells of the end of a leadership, and of one that goes on where no
// majority fetches. Voters of another Algorithm do not fetch.
func (c *Client) tellAlone(now time.Duration, in raft.Input, fx raft.Effects, deadline time.Duration) {
	if c.cfg.Algorithm != nil {
		return
	}
	if e, ok := c.alone.stepped(now, in, fx, c.machine.Quorum().Voters, deadline); ok {
		c.tell(e)
	}
}

// tellTruncated tells of a truncation, and from then on of what becomes durable.
func (c *Client) tellTruncated(from, to kafka.Offset) {
	c.told = 0
	c.tell(trace.Event{Kind: trace.QuorumTruncated, Epoch: int64(c.view().role.Epoch), Offset: int64(to), N: int64(from - to)})
}

func (c *Client) tellDurable() {
	if c.told < maxTold {
		c.told++
		c.tell(trace.Event{Kind: trace.QuorumDurable, Epoch: int64(c.view().role.Epoch), Offset: int64(c.flushEnd)})
	}
}

// sizeOf is the size of a message as it is written. The records of a fetch are
// not copied for it.
func sizeOf(m interface{ AppendTo([]byte) []byte }) int {
	f, ok := m.(*kmsg.FetchResponse)
	if !ok || len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
		return len(m.AppendTo(nil))
	}
	p := &f.Topics[0].Partitions[0]
	records := p.RecordBatches
	p.RecordBatches = nil
	n := len(f.AppendTo(nil)) + len(records)
	p.RecordBatches = records
	return n
}

// counted counts the requests that voters send each other, and their answers.
func (c *Client) counted(h wire.Handler) wire.Handler {
	return func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
		if !c.ofVoter(r.Body) {
			return h(ctx, r)
		}
		c.talk.Heard(sizeOf(r.Body))
		resp, err := h(ctx, r)
		if err == nil && resp != nil {
			resp.SetVersion(r.Version)
			c.talk.Sent(sizeOf(resp))
		}
		return resp, err
	}
}

// ofVoter reports whether a request is one that voters agree by: a fetch is
// where its replica votes.
func (c *Client) ofVoter(body kmsg.Request) bool {
	var id int32
	switch r := body.(type) {
	case *kmsg.VoteRequest, *kmsg.BeginQuorumEpochRequest, *kmsg.EndQuorumEpochRequest:
		return true
	case *kmsg.FetchRequest:
		if id = r.ReplicaID; r.Version >= 15 {
			id = r.ReplicaState.ID
		}
	case *kmsg.FetchSnapshotRequest:
		id = r.ReplicaID
	default:
		return false
	}
	for _, v := range c.Quorum().Voters {
		if v.ID == kafka.BrokerID(id) {
			return true
		}
	}
	return false
}
