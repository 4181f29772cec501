package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// broker is the life of a broker beside its node, which observes the log: it
// registers, heartbeats, changes ISRs as a leader, leaves in good order, and
// asks what clients ask of it.
type broker struct {
	n           *node
	incarnation kafka.UUID
	epoch       kafka.BrokerEpoch // NoBrokerEpoch before it is registered
	asked       uint64            // the request of its life that is out, 0 for none
	askedAt     time.Duration
	lastID      uint64
	open        map[uint64]kmsg.Request
	leaving     bool
	offline     bool // one of its two directories is
}

func (w *world) isBroker(id int) bool { return id >= w.p.controllers() }

func (n *node) newBroker() {
	n.lives++
	n.broker = &broker{
		n: n, incarnation: kafka.UUID{3, byte(n.id), byte(n.lives >> 8), byte(n.lives)},
		epoch: kafka.NoBrokerEpoch, open: map[uint64]kmsg.Request{},
	}
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

func (b *broker) image() *metadata.Image { return b.n.ctl.m.Image() }

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
	if w.rng.IntN(3) == 0 && !w.net.whole {
		if r := b.admin(); r != nil {
			b.send(r)
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
	w.transmit(event{kind: evAsk, node: to, peer: b.n.id, peerBoot: b.n.boot, id: b.lastID, ask: body})
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
	r.LogDirs = b.directories(true)
	return r
}

func (b *broker) heartbeat() kmsg.Request {
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.Version, r.BrokerID, r.BrokerEpoch, r.WantShutdown = 1, int32(b.n.id), int64(b.epoch), b.leaving
	r.CurrentMetadataOffset = int64(b.image().Offset())
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
	image := b.image()
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

// admin is what a client might ask of this broker.
func (b *broker) admin() kmsg.Request {
	rng := b.n.w.rng
	name := fmt.Sprintf("t%d", rng.IntN(4))
	ids := b.n.w.brokerIDs()
	switch rng.IntN(11) {
	case 0, 1, 2:
		r := kmsg.NewPtrCreateTopicsRequest()
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(1+rng.IntN(5)), int16(1+rng.IntN(len(ids)))
		r.Version, r.Topics = 7, append(r.Topics, t)
		return r
	case 3:
		if rng.IntN(3) > 0 {
			return nil
		}
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version, r.Topics = 6, append(r.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		return r
	case 4:
		r := kmsg.NewPtrAllocateProducerIDsRequest()
		r.BrokerID, r.BrokerEpoch = int32(b.n.id), int64(b.epoch)
		return r
	case 5:
		r := kmsg.NewPtrElectLeadersRequest()
		r.ElectionType = int8(rng.IntN(2))
		return r
	case 6:
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		if rng.IntN(3) > 0 {
			rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			p.Replicas = ids[:1+rng.IntN(len(ids))]
		}
		r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		r.Topics = append(r.Topics, kmsg.AlterPartitionAssignmentsRequestTopic{Topic: name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}})
		return r
	case 7:
		value := fmt.Sprint(rng.IntN(2) == 0)
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "unclean.leader.election.enable", Value: &value}
		if rng.IntN(2) == 0 {
			value, c.Name = fmt.Sprint(1+rng.IntN(3)), "min.insync.replicas"
		}
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r.Resources = append(r.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: 2, ResourceName: name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c},
		})
		return r
	}
	if rng.IntN(2) == 0 {
		return b.assignment()
	}
	r := kmsg.NewPtrCreatePartitionsRequest()
	r.Topics = append(r.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: int32(1 + rng.IntN(9))})
	return r
}

// assignment tells in which directory each replica of the broker is that has
// none yet; nil where all have one.
func (b *broker) assignment() kmsg.Request {
	r := kmsg.NewPtrAssignReplicasToDirsRequest()
	r.BrokerID, r.BrokerEpoch = int32(b.n.id), int64(b.epoch)
	id := kafka.BrokerID(b.n.id)
	d := kmsg.AssignReplicasToDirsRequestDirectory{ID: kafka.UUID{9, byte(id), byte(b.n.w.rng.IntN(2))}}
	for t := range b.image().Topics() {
		topic := kmsg.AssignReplicasToDirsRequestDirectoryTopic{TopicID: t.ID()}
		for n, p := range t.All() {
			if p.HasReplica(id) && p.Directory(id) == metadata.UnassignedDirectory {
				topic.Partitions = append(topic.Partitions, kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{Partition: n})
			}
		}
		if len(topic.Partitions) > 0 {
			d.Topics = append(d.Topics, topic)
		}
	}
	if len(d.Topics) == 0 {
		return nil
	}
	r.Directories = append(r.Directories, d)
	return r
}

// brokerIDs gives the ids of all brokers, for the caller to shuffle.
func (w *world) brokerIDs() []int32 {
	var ids []int32
	for id := w.p.controllers(); id < len(w.nodes); id++ {
		ids = append(ids, int32(id))
	}
	return ids
}
