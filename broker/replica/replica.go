package replica

import (
	"cmp"
	"slices"

	"kbench/broker/batch"
	"kbench/kafka"
)

// topic is one topic of which this broker holds replicas.
type topic struct {
	name  string
	id    kafka.UUID
	parts []*replica // by partition number; only those held here
}

// replica is one partition held by this broker. A cluster has millions of
// them: keep it small.
type replica struct {
	topic *topic
	extra *extra // nil for the many to which nobody produced
	peers []peer // the other replicas, in the order of the assignment

	logEnd        kafka.Offset
	highWatermark kafka.Offset
	epochStart    kafka.Offset // leader: log end when the epoch began

	partition      int32
	leader         kafka.BrokerID
	leaderEpoch    kafka.LeaderEpoch
	lastEpoch      kafka.LeaderEpoch // of the last batch; kafka.NoEpoch for an empty log
	partitionEpoch kafka.PartitionEpoch
	flags          replicaFlags
	dir            uint8 // number of its log directory
}

type replicaFlags uint8

const (
	isrQueued    replicaFlags = 1 << iota // leader: in Manager.isrQueue or deferred
	isrPending                            // leader: a Proposal was made and may have been written
	fetchQueued                           // follower: in the queue of its Fetcher
	fetchMember                           // follower: listed in the session of its Fetcher
	fetchDelayed                          // follower: in the delayed list of its Fetcher
)

func (r *replica) has(f replicaFlags) bool { return r.flags&f != 0 }
func (r *replica) set(f replicaFlags)      { r.flags |= f }
func (r *replica) clear(f replicaFlags)    { r.flags &^= f }

// peer is another replica of the same partition. The fields behind id matter
// to the leader only.
type peer struct {
	logEnd   kafka.Offset // kafka.NoOffset until it fetched in this leader epoch
	caughtUp int64        // ns; last time it was known to have the whole log, see Manager.inSyncAt
	id       kafka.BrokerID
	session  int32 // id of the fetch session that lists it, 0 for none
	flags    peerFlags
}

type peerFlags uint8

const (
	peerInISR  peerFlags = 1 << iota // in the committed ISR
	peerAdding                       // added by the pending Proposal: counts for the high watermark (KIP-497)
	peerDirty                        // in the dirty list of its session
)

func (p *peer) has(f peerFlags) bool { return p.flags&f != 0 }
func (p *peer) set(f peerFlags)      { p.flags |= f }
func (p *peer) clear(f peerFlags)    { p.flags &^= f }

// extra is what a replica needs once somebody produced to it or waits on it.
type extra struct {
	producers batch.Producers
	acks      []*ack          // acks=-1 produces that wait for the high watermark
	watchers  []*ConsumerWait // consumers that wait for it
}

func (r *replica) ext() *extra {
	if r.extra == nil {
		r.extra = &extra{}
	}
	return r.extra
}

// peer finds another replica; nil for a broker that has none.
func (r *replica) peer(id kafka.BrokerID) *peer {
	for i := range r.peers {
		if r.peers[i].id == id {
			return &r.peers[i]
		}
	}
	return nil
}

// setPeers takes over an assignment; peers that stay keep their state.
func (r *replica) setPeers(self kafka.BrokerID, replicas []kafka.BrokerID) {
	if r.samePeers(self, replicas) {
		return
	}
	old := r.peers
	r.peers = make([]peer, 0, max(len(replicas)-1, 0))
	for _, id := range replicas {
		if id == self {
			continue
		}
		p := peer{id: id, logEnd: kafka.NoOffset}
		if i := slices.IndexFunc(old, func(o peer) bool { return o.id == id }); i >= 0 {
			p = old[i]
		}
		r.peers = append(r.peers, p)
	}
}

func (r *replica) samePeers(self kafka.BrokerID, replicas []kafka.BrokerID) bool {
	i := 0
	for _, id := range replicas {
		if id == self {
			continue
		}
		if i == len(r.peers) || r.peers[i].id != id {
			return false
		}
		i++
	}
	return i == len(r.peers)
}

// setISR takes over a committed ISR, the leader's own id among it.
func (r *replica) setISR(isr []kafka.BrokerID) {
	for i := range r.peers {
		p := &r.peers[i]
		if slices.Contains(isr, p.id) {
			p.set(peerInISR)
		} else {
			p.clear(peerInISR)
		}
	}
}

// isrSize counts the ISR, the leader included.
func (r *replica) isrSize() int {
	n := 1
	for i := range r.peers {
		if r.peers[i].has(peerInISR) {
			n++
		}
	}
	return n
}

// get finds the replica of a partition in the topic.
func (t *topic) get(p int32) *replica {
	if p >= 0 && int(p) < len(t.parts) && t.parts[p].partition == p { // dense: all partitions are here
		return t.parts[p]
	}
	if i, ok := t.search(p); ok {
		return t.parts[i]
	}
	return nil
}

func (t *topic) search(p int32) (int, bool) {
	return slices.BinarySearchFunc(t.parts, p, func(r *replica, p int32) int { return cmp.Compare(r.partition, p) })
}

// add makes the replica of a partition that has none.
func (t *topic) add(p int32) *replica {
	r := &replica{topic: t, partition: p, leader: kafka.NoLeader, leaderEpoch: kafka.NoEpoch, lastEpoch: kafka.NoEpoch, partitionEpoch: -1}
	if n := len(t.parts); n == 0 || t.parts[n-1].partition < p {
		t.parts = append(t.parts, r)
		return r
	}
	i, _ := t.search(p)
	t.parts = slices.Insert(t.parts, i, r)
	return r
}
