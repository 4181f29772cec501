package machine

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// fault is an error of one item of a request.
type fault struct {
	code    kafka.ErrorCode
	message string
}

func faultf(code kafka.ErrorCode, format string, args ...any) *fault {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// createTopics decides CreateTopics (19): each topic by itself is created or
// refused, and all records are in one batch. A request that needs more than
// MaxRecords is refused whole with POLICY_VIOLATION.
func (m *Machine) createTopics(r Request, req *kmsg.CreateTopicsRequest) error {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	names := map[string]int{}
	for _, t := range req.Topics {
		names[t.Topic]++
	}
	quota, effective := m.mutationQuota(r, strictCreateTopics), m.effectiveConfigs(req.Version)
	requested := map[string]string{} // names of this request that are created, by collision key
	var records []metadata.Record
	for i := range req.Topics {
		t := &req.Topics[i]
		if n := names[t.Topic]; n > 1 {
			names[t.Topic] = -1 // one answer for all of the name
			resp.Topics = append(resp.Topics, createTopicError(t.Topic, kafka.InvalidRequest, "Duplicate topic name."))
			continue
		} else if n < 0 {
			continue
		}
		if f := m.judgeTopicName(t.Topic, requested); f != nil {
			resp.Topics = append(resp.Topics, createTopicError(t.Topic, f.code, f.message))
			continue
		}
		created, answer, f := m.createTopic(t, m.cfg.MaxRecords-len(records))
		if f != nil && f.code == kafka.PolicyViolation {
			_, err := m.carryOut(r, refuse(refusal.Of(req, f.code, f.message)))
			return err
		}
		if f == nil {
			f = quota.take(int(answer.NumPartitions))
		}
		if f != nil {
			created, answer = nil, createTopicError(t.Topic, f.code, f.message)
		} else {
			answer.Configs = effective(t)
		}
		records = append(records, created...)
		resp.Topics = append(resp.Topics, answer)
	}
	resp.ThrottleMillis = quota.throttleMs()
	if req.ValidateOnly {
		records = nil
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

// judgeTopicName checks a name against those that there are and those that the
// request creates before it.
func (m *Machine) judgeTopicName(name string, requested map[string]string) *fault {
	if err := metadata.ValidateTopicName(name); err != nil {
		return &fault{kafka.InvalidTopicException, err.Error()}
	}
	if name == kafka.MetadataTopic {
		return faultf(kafka.InvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	other, taken := m.image().CollidingTopic(name)
	if key := metadata.CollisionKey(name); !taken {
		if other, taken = requested[key]; !taken {
			requested[key] = name
			return nil
		}
	}
	if other == name {
		return faultf(kafka.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	return faultf(kafka.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
}

// createTopic gives the records of one topic, of which there may be no more
// than room, and its answer.
func (m *Machine) createTopic(t *kmsg.CreateTopicsRequestTopic, room int) ([]metadata.Record, kmsg.CreateTopicsResponseTopic, *fault) {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic = t.Topic
	configs, f := m.newTopicConfigs(t)
	if f != nil {
		return nil, answer, f
	}
	replicas, f := m.newTopicReplicas(t, room-len(configs)-1)
	if f != nil {
		return nil, answer, f
	}
	id := m.newTopicID()
	records := append(make([]metadata.Record, 0, 1+len(configs)+len(replicas)), &metadata.TopicRecord{Name: t.Topic, TopicID: id})
	for _, c := range configs {
		records = append(records, c)
	}
	for n, ids := range replicas {
		record, ok := m.newPartition(id, int32(n), ids)
		if !ok {
			return nil, answer, m.noneActive(t, n, len(ids))
		}
		records = append(records, record)
	}
	answer.TopicID = id
	answer.NumPartitions = int32(len(replicas))
	answer.ReplicationFactor = int16(len(replicas[0]))
	return records, answer, nil
}

func (m *Machine) noneActive(t *kmsg.CreateTopicsRequestTopic, partition, replicas int) *fault {
	if len(t.ReplicaAssignment) > 0 {
		return faultf(kafka.InvalidReplicaAssignment,
			"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", partition)
	}
	return faultf(kafka.InvalidReplicationFactor,
		"Unable to replicate the partition %d time(s): All brokers are currently fenced or in controlled shutdown.", replicas)
}

// newTopicReplicas gives the assignment that a topic asks for or gets.
func (m *Machine) newTopicReplicas(t *kmsg.CreateTopicsRequestTopic, room int) ([][]kafka.BrokerID, *fault) {
	partitions, factor := t.NumPartitions, t.ReplicationFactor
	if len(t.ReplicaAssignment) > 0 {
		switch {
		case factor != -1:
			return nil, faultf(kafka.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
		case partitions != -1:
			return nil, faultf(kafka.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
		case len(t.ReplicaAssignment) > room:
			return nil, &fault{kafka.PolicyViolation, excessive}
		}
		return m.manualReplicas(t.ReplicaAssignment)
	}
	switch {
	case factor < -1 || factor == 0:
		return nil, faultf(kafka.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions < -1 || partitions == 0:
		return nil, faultf(kafka.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if partitions == -1 {
		partitions = m.cfg.NumPartitions
	}
	if factor == -1 {
		factor = m.cfg.ReplicationFactor
	}
	if int(partitions) > room {
		return nil, &fault{kafka.PolicyViolation, excessive}
	}
	placed, err := metadata.Place(m.cfg.Rand, m.placementBrokers(), int(partitions), int(factor))
	if err != nil {
		return nil, faultf(kafka.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): %v", factor, err)
	}
	return placed, nil
}

// manualReplicas checks an assignment made by hand: partitions from 0 without
// gaps, and registered brokers, as many for each.
func (m *Machine) manualReplicas(as []kmsg.CreateTopicsRequestTopicReplicaAssignment) ([][]kafka.BrokerID, *fault) {
	replicas := make([][]kafka.BrokerID, len(as))
	factor := 0
	for _, a := range as {
		if a.Partition < 0 || int(a.Partition) >= len(as) {
			return nil, faultf(kafka.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		if replicas[a.Partition] != nil {
			return nil, faultf(kafka.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		ids := brokerIDs(a.Replicas)
		if f := m.judgeAssignment(ids, factor); f != nil {
			return nil, f
		}
		replicas[a.Partition], factor = ids, len(ids)
	}
	return replicas, nil
}

// judgeAssignment checks the replicas of one partition; factor is how many
// there must be, 0 for any number.
func (m *Machine) judgeAssignment(ids []kafka.BrokerID, factor int) *fault {
	if len(ids) == 0 {
		return faultf(kafka.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return faultf(kafka.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		b, ok := m.image().Broker(id)
		switch {
		case !ok:
			return faultf(kafka.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		case b.Cordoned():
			return faultf(kafka.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but all its log directories are cordoned.", id)
		}
	}
	if factor != 0 && len(ids) != factor {
		return faultf(kafka.InvalidReplicaAssignment,
			"The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", len(ids), factor)
	}
	return nil
}

// newPartition gives the record of a new partition, whose ISR are the active
// ones of its replicas; false if there are none.
func (m *Machine) newPartition(topic kafka.UUID, number int32, replicas []kafka.BrokerID) (*metadata.PartitionRecord, bool) {
	r := &metadata.PartitionRecord{PartitionID: number, TopicID: topic, Replicas: replicas}
	for _, id := range replicas {
		if m.isActive(id) {
			r.ISR = append(r.ISR, id)
		}
	}
	if len(r.ISR) == 0 {
		return nil, false
	}
	r.Leader = r.ISR[0]
	if m.version().HasDirectories() {
		for _, id := range replicas {
			r.Directories = append(r.Directories, m.defaultDirectory(id))
		}
	}
	return r, true
}

// defaultDirectory is the only directory of a broker that has one; where it has
// several it will say which it chose.
func (m *Machine) defaultDirectory(id kafka.BrokerID) kafka.UUID {
	b, ok := m.image().Broker(id)
	switch {
	case !ok || len(b.LogDirs) > 1:
		return metadata.UnassignedDirectory
	case len(b.LogDirs) == 0: // it registered before directories were known
		return metadata.MigratingDirectory
	}
	return b.LogDirs[0]
}

func (m *Machine) placementBrokers() []metadata.PlacementBroker {
	brokers := make([]metadata.PlacementBroker, 0, m.image().NumBrokers())
	for b := range m.image().Brokers() {
		if b.Cordoned() {
			continue
		}
		brokers = append(brokers, metadata.PlacementBroker{ID: b.ID, Rack: b.Rack, Fenced: b.Fenced})
	}
	return brokers
}

// newTopicID gives an id that is taken by no topic and reserved for none.
func (m *Machine) newTopicID() kafka.UUID {
	for {
		id := m.newID()
		if _, taken := m.image().TopicByID(id); !taken {
			return id
		}
	}
}

func createTopicError(name string, code kafka.ErrorCode, message string) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, int16(code), &message
	t.NumPartitions, t.ReplicationFactor = -1, -1
	return t
}
