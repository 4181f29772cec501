package machine

import (
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// heedDirectories does what a heartbeat tells of the broker's directories: its
// replicas in those that went offline leave the ISRs and lead no more (KIP-858,
// K16), and those that are cordoned are noted (KIP-1066).
func (m *Machine) heedDirectories(b *metadata.Broker, req *kmsg.BrokerHeartbeatRequest) error {
	if !m.version().HasDirectories() {
		return nil
	}
	var offline, online []kafka.UUID
	for _, d := range b.LogDirs {
		if slices.Contains(req.OfflineLogDirs, [16]byte(d)) {
			offline = append(offline, d)
		} else {
			online = append(online, d)
		}
	}
	if len(offline) > 0 {
		m.event(DirectoriesOffline, b.ID)
		if _, err := m.carryOut(Request{}, decision{records: m.offlineRecords(b, offline, online)}); err != nil {
			return err
		}
	}
	cordoned := directoryIDs(req.CordonedLogDirs)
	if !m.version().HasCordonedDirectories() || cordoned == nil || slices.Equal(cordoned, b.CordonedLogDirs) && b.CordonedLogDirs != nil {
		return nil
	}
	change := &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, CordonedLogDirs: cordoned}
	_, err := m.carryOut(Request{}, atomicOf([]metadata.Record{change}, nil))
	return err
}

// offlineRecords end with the registration: a controller that fails between two
// batches leaves a broker whose next heartbeat brings the rest.
func (m *Machine) offlineRecords(b *metadata.Broker, offline, online []kafka.UUID) iter.Seq[metadata.Record] {
	partitions := m.walk(sweep{
		match: func(p *metadata.Partition) bool {
			return p.HasReplica(b.ID) && slices.Contains(offline, p.Directory(b.ID))
		},
		remove: b.ID, add: kafka.NoLeader,
	})
	return func(yield func(metadata.Record) bool) {
		for r := range partitions {
			if !yield(r) {
				return
			}
		}
		if len(online) > 0 { // a broker without any stops by itself
			yield(&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, LogDirs: online})
		}
	}
}

// assignReplicas decides AssignReplicasToDirs (73, KIP-858): a broker tells in
// which directories its replicas lie. A replica in one that is offline leaves
// the ISR.
func (m *Machine) assignReplicas(r Request, req *kmsg.AssignReplicasToDirsRequest) error {
	resp := req.ResponseKind().(*kmsg.AssignReplicasToDirsResponse)
	b, ok := m.image().Broker(kafka.BrokerID(req.BrokerID))
	code := kafka.None
	switch {
	case !m.version().HasDirectories():
		code = kafka.UnsupportedVersion
	case !ok || int64(b.Epoch) != req.BrokerEpoch:
		code = kafka.StaleBrokerEpoch
	}
	if code != kafka.None {
		resp.ErrorCode = int16(code)
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	var records []metadata.Record
	seen := map[topicIDPartition]bool{}
	for _, dir := range req.Directories {
		answer := kmsg.AssignReplicasToDirsResponseDirectory{ID: dir.ID}
		for _, topic := range dir.Topics {
			a := kmsg.AssignReplicasToDirsResponseDirectoryTopic{TopicID: topic.TopicID}
			for _, p := range topic.Partitions {
				at := topicIDPartition{topic.TopicID, p.Partition}
				var record metadata.Record
				code := kafka.InvalidRequest
				if !seen[at] {
					record, code = m.assignReplica(b, at, dir.ID)
				}
				seen[at] = true
				if record != nil {
					records = append(records, record)
				}
				a.Partitions = append(a.Partitions, kmsg.AssignReplicasToDirsResponseDirectoryTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
			}
			answer.Topics = append(answer.Topics, a)
		}
		resp.Directories = append(resp.Directories, answer)
	}
	_, err := m.carryOut(r, decision{records: slices.Values(records), response: resp})
	return err
}

// topicIDPartition names a partition by the id of its topic.
type topicIDPartition struct {
	topic     kafka.UUID
	partition int32
}

func (m *Machine) assignReplica(b *metadata.Broker, at topicIDPartition, dir kafka.UUID) (metadata.Record, kafka.ErrorCode) {
	t, ok := m.image().TopicByID(at.topic)
	if !ok {
		return nil, kafka.UnknownTopicID
	}
	p, ok := t.Partition(at.partition)
	switch {
	case !ok:
		return nil, kafka.UnknownTopicOrPartition
	case !p.HasReplica(b.ID):
		return nil, kafka.NotLeaderOrFollower
	}
	c := m.partitionChange(t, p)
	c.moved, c.movedTo = b.ID, dir
	if !b.HasOnlineDirectory(dir) {
		c.isr = without(p.ISR, b.ID)
		if uncleanAllowed(m.image(), t.Name()) {
			c.election = electUnclean
		}
	}
	record, changed := c.record(t.ID(), at.partition, p)
	if !changed {
		return nil, kafka.None
	}
	return record, kafka.None
}

func directoryIDs(ids [][16]byte) []kafka.UUID {
	if ids == nil {
		return nil
	}
	out := make([]kafka.UUID, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	slices.SortFunc(out, func(a, b kafka.UUID) int { return slices.Compare(a[:], b[:]) })
	return out
}
