package sim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/loader"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// broker is the life of a broker beside its node, which observes the log: it
// registers, heartbeats, changes ISRs as a leader, leaves in good order, and
// asks what clients ask of it.
type broker struct {
	n           *node
	incarnation kafka.UUID
	previous    kafka.BrokerEpoch // of a life that left in good order just before, else NoBrokerEpoch
	epoch       kafka.BrokerEpoch // NoBrokerEpoch before it is registered
	asked       uint64            // the request of its life that is out, 0 for none
	askedAt     time.Duration
	lastID      uint64
	open        map[uint64]kmsg.Request
	leaving     bool
	offline     bool // one of its two directories is

	loader *loader.Loader
	image  *metadata.Image // that it shows
	caught bool            // it has read all that it knew to be committed, once
}

func (w *world) isBroker(id int) bool { return id >= w.p.controllers() }

func (n *node) newBroker() {
	n.lives++
	n.broker = &broker{
		n: n, previous: n.clean, incarnation: kafka.UUID{3, byte(n.id), byte(n.lives >> 8), byte(n.lives)},
		epoch: kafka.NoBrokerEpoch, open: map[uint64]kmsg.Request{}, image: metadata.Empty(),
	}
	n.clean = kafka.NoBrokerEpoch
	n.broker.loader = loader.New(n.broker.show)
	n.w.after(time.Duration(n.w.rng.Int64N(int64(n.w.p.beat)))+1, event{kind: evBeat, node: n.id, boot: n.boot})
}

// directories are the two of a broker, those that are online.
func (b *broker) directories(online bool) [][16]byte {
	var out [][16]byte
	for i := range 2 {
		if (i == 1 && b.offline) != online {
			out = append(out, kafka.UUID{9, byte(b.n.id), byte(i)})
		}
	}
	return out
}

func (b *broker) alive() bool {
	return b.n.up && b.n.broker == b && b.n.w.judge.violation == nil
}

func (b *broker) leaderChanged(raft.LeaderAndEpoch) {}

func (b *broker) committed(batches []metalog.Batch) {
	before := b.image
	b.caught = b.caught || b.n.delivery.Next() >= b.n.hw
	b.read(b.loader.Commit(batches, b.n.hw))
	if b.image == before && before != metadata.Empty() {
		b.n.w.cov.Held++
	}
}

func (b *broker) loads(id raft.SnapshotID, image *metadata.Image) {
	b.caught = b.caught || b.n.hw != kafka.NoOffset && b.n.delivery.Next() >= b.n.hw
	b.read(b.loader.LoadSnapshot(metalog.SnapshotID(id), snapshotValues(image), b.n.hw))
}

func (b *broker) read(err error) {
	if err != nil {
		b.n.w.judge.fail("K12", b.n.id, "%v", err)
	}
}

// show makes an image what the broker goes by.
func (b *broker) show(p loader.Publication) {
	b.n.w.judge.shows(b, p.Image)
	b.image = p.Image
}

// beat is one round of a broker.
func (b *broker) beat() {
	w := b.n.w
	wait := w.p.beat*3/4 + time.Duration(w.rng.Int64N(int64(w.p.beat)/2))
	w.after(wait, event{kind: evBeat, node: b.n.id, boot: b.n.boot})
	if b.asked != 0 && w.now-b.askedAt < 2*w.p.beat {
		return
	}
	if b.epoch == kafka.NoBrokerEpoch {
		b.asked, b.askedAt = b.send(b.registration()), w.now
		return
	}
	b.asked, b.askedAt = b.send(b.heartbeat()), w.now
	if r := b.alterPartition(); r != nil {
		b.send(r)
	}
	if w.net.whole {
		if r := b.rescue(); r != nil {
			b.send(r)
		}
	} else if w.rng.IntN(3) == 0 {
		if r := b.admin(); r != nil {
			b.send(r)
		}
		if w.rng.IntN(2) == 0 {
			if r := b.operate(); r != nil {
				b.send(r)
			}
		}
	}
}

// send asks the leader that the node knows of, or any controller.
func (b *broker) send(body kmsg.Request) uint64 {
	w := b.n.w
	to := int(b.n.machine.Role().LeaderID)
	if to < 0 || to >= w.p.controllers() {
		to = w.rng.IntN(w.p.controllers())
	}
	b.lastID++
	if len(b.open) > 100 {
		clear(b.open)
	}
	b.open[b.lastID] = body
	e := event{kind: evAsk, node: to, peer: b.n.id, peerBoot: b.n.boot, id: b.lastID, ask: body}
	w.transmit(e)
	if !w.net.whole && w.rng.IntN(40) == 0 {
		// A copy waits in a connection until the broker may be another.
		e.boot = w.nodes[to].boot
		w.after(time.Duration(w.rng.Int64N(int64(10*w.p.fetchTimeout))), e)
	}
	return b.lastID
}

func (b *broker) registration() kmsg.Request {
	r := kmsg.NewPtrBrokerRegistrationRequest()
	r.Version, r.BrokerID, r.ClusterID, r.IncarnationID = 4, int32(b.n.id), "sim", b.incarnation
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", "n", uint16(b.n.id+1)
	r.Listeners = append(r.Listeners, l)
	for name, high := range map[string]int16{metadata.MetadataVersionFeature: int16(metadata.NewestMetadataVersion), metadata.ELRVersionFeature: 1} {
		f := kmsg.NewBrokerRegistrationRequestFeature()
		f.Name, f.MaxSupportedVersion = name, high
		if name == metadata.MetadataVersionFeature {
			f.MinSupportedVersion = 7
		}
		r.Features = append(r.Features, f)
	}
	slices.SortFunc(r.Features, func(a, b kmsg.BrokerRegistrationRequestFeature) int { return len(a.Name) - len(b.Name) })
	r.LogDirs, r.PreviousBrokerEpoch = b.directories(true), int64(b.previous)
	return r
}

func (b *broker) heartbeat() kmsg.Request {
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.Version, r.BrokerID, r.BrokerEpoch, r.WantShutdown = 1, int32(b.n.id), int64(b.epoch), b.leaving
	r.CurrentMetadataOffset = int64(b.image.Offset())
	r.OfflineLogDirs = b.directories(false)
	return r
}

// answer takes the answer to a request of the broker.
func (b *broker) answer(id uint64, body kmsg.Response) {
	req, ok := b.open[id]
	if !ok {
		return // a second copy
	}
	delete(b.open, id)
	if id == b.asked {
		b.asked = 0
	}
	switch r := body.(type) {
	case *kmsg.BrokerRegistrationResponse:
		if r.ErrorCode == 0 && req.(*kmsg.BrokerRegistrationRequest).IncarnationID == b.incarnation {
			b.epoch = kafka.BrokerEpoch(r.BrokerEpoch)
			b.n.w.cov.Registrations++
		}
	case *kmsg.BrokerHeartbeatResponse:
		switch {
		case kafka.ErrorCode(r.ErrorCode) == kafka.StaleBrokerEpoch && req.(*kmsg.BrokerHeartbeatRequest).BrokerEpoch == int64(b.epoch):
			b.epoch = kafka.NoBrokerEpoch
		case r.ErrorCode == 0 && r.ShouldShutdown && b.leaving:
			b.n.w.cov.Granted++
			b.n.clean = b.epoch
			b.n.w.trace.note("broker %d leaves", b.n.id)
			b.n.w.cov.RecordsLost += int64(b.n.disk.crash(b.n.w.rng))
			b.n.leave()
		}
	}
}

// alterPartition proposes ISRs for partitions that the broker leads: all live
// replicas at the end of a run, before it any that chance has in sync.
func (b *broker) alterPartition() kmsg.Request {
	w := b.n.w
	r := kmsg.NewPtrAlterPartitionRequest()
	r.Version, r.BrokerID, r.BrokerEpoch = 3, int32(b.n.id), int64(b.epoch)
	image := b.image
	for t := range image.Topics() {
		topic := kmsg.NewAlterPartitionRequestTopic()
		topic.TopicID = t.ID()
		for n, p := range t.All() {
			if p.Leader != kafka.BrokerID(b.n.id) || !w.net.whole && w.rng.IntN(4) > 0 {
				continue
			}
			want := kmsg.NewAlterPartitionRequestTopicPartition()
			want.Partition, want.LeaderEpoch, want.PartitionEpoch = n, int32(p.LeaderEpoch), int32(p.PartitionEpoch)
			same := true
			for _, id := range p.Replicas {
				other, ok := image.Broker(id)
				in := ok && other.Active() && (w.net.whole || w.rng.IntN(5) > 0) || id == p.Leader
				same = same && in == p.InISR(id)
				if in {
					s := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
					s.BrokerID, s.BrokerEpoch = int32(id), -1
					if ok {
						s.BrokerEpoch = int64(other.Epoch)
					}
					want.NewEpochISR = append(want.NewEpochISR, s)
				}
			}
			if !same || p.LeaderRecoveryState == kafka.Recovering {
				topic.Partitions = append(topic.Partitions, want)
			}
		}
		if len(topic.Partitions) > 0 {
			r.Topics = append(r.Topics, topic)
		}
	}
	if len(r.Topics) == 0 {
		return nil
	}
	return r
}
