package machine

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// alterReassignments decides AlterPartitionReassignments (45, KIP-455). A
// reassignment goes through
//
//	idle   -> moving   the replicas are the target and those to be removed
//	moving -> idle     the target is in sync: the others are dropped,
//	                   by whatever change shows it, such as an AlterPartition
//	moving -> moving   another target replaces it
//	moving -> idle     cancelled (no target): the replicas that were being
//	                   added are dropped
//
// and is idle again at once where the target is in sync already.
func (m *Machine) alterReassignments(r Request, req *kmsg.AlterPartitionAssignmentsRequest) error {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	resize := req.Version < 1 || req.AllowReplicationFactorChange
	var records []metadata.Record
	seen := map[kafka.TopicPartition]bool{}
	for _, topic := range req.Topics {
		answer := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		answer.Topic = topic.Topic
		for _, want := range topic.Partitions {
			tp := kafka.TopicPartition{Topic: topic.Topic, Partition: want.Partition}
			var record metadata.Record
			f := faultf(kafka.InvalidRequest, "Partition %d of topic %s is listed twice.", want.Partition, topic.Topic)
			if !seen[tp] {
				record, f = m.reassign(tp, want.Replicas, resize)
			}
			seen[tp] = true
			if record != nil {
				records = append(records, record)
			}
			answer.Partitions = append(answer.Partitions, reassignAnswer(want.Partition, f))
		}
		resp.Topics = append(resp.Topics, answer)
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

func reassignAnswer(partition int32, f *fault) kmsg.AlterPartitionAssignmentsResponseTopicPartition {
	a := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
	a.Partition = partition
	if f != nil {
		a.ErrorCode, a.ErrorMessage = int16(f.code), &f.message
	}
	return a
}

// reassign decides for one partition; nil targets cancel. The record is nil
// where nothing changes.
func (m *Machine) reassign(tp kafka.TopicPartition, targets []int32, resize bool) (metadata.Record, *fault) {
	t, ok := m.image().Topic(tp.Topic)
	if !ok {
		return nil, faultf(kafka.UnknownTopicOrPartition, "Unable to find a topic named %s.", tp.Topic)
	}
	p, ok := t.Partition(tp.Partition)
	if !ok {
		return nil, faultf(kafka.UnknownTopicOrPartition, "Unable to find partition %s:%d.", tp.Topic, tp.Partition)
	}
	c := m.partitionChange(t, p)
	var f *fault
	if targets == nil {
		f = m.cancelReassignment(&c, t, tp, p)
	} else {
		f = m.beginReassignment(&c, p, brokerIDs(targets), resize)
	}
	if f != nil {
		return nil, f
	}
	record, changed := c.record(t.ID(), tp.Partition, p)
	if !changed {
		return nil, nil
	}
	return record, nil
}

// beginReassignment wants the target, and until it is in sync the replicas of
// now as well. What an earlier reassignment was adding counts as a replica of
// now. Kafka keeps the earlier lists of adding and removing where a new target
// has none; here they go, or the earlier target would be reached instead.
func (m *Machine) beginReassignment(c *partitionChange, p *metadata.Partition, target []kafka.BrokerID, resize bool) *fault {
	if f := m.judgeAssignment(target, 0); f != nil {
		return f
	}
	if now := len(except(p.Replicas, p.RemovingReplicas)); !resize && now != len(target) {
		return faultf(kafka.InvalidReplicationFactor, "The replication factor is changed from %d to %d", now, len(target))
	}
	c.removing = slices.Sorted(slices.Values(except(p.Replicas, target)))
	c.adding = slices.Sorted(slices.Values(except(target, p.Replicas)))
	c.replicas = slices.Concat(target, c.removing)
	return nil
}

// cancelReassignment wants the replicas back without those being added. Where
// only those are in sync, the first that stays leads though it may have lost
// records, which the topic must allow.
func (m *Machine) cancelReassignment(c *partitionChange, t *metadata.Topic, tp kafka.TopicPartition, p *metadata.Partition) *fault {
	if !p.Reassigning() {
		return faultf(kafka.NoReassignmentInProgress, "No partition reassignment is in progress.")
	}
	if uncleanAllowed(m.image(), t.Name()) {
		c.election = electUnclean
	}
	c.replicas, c.isr = except(p.Replicas, p.AddingReplicas), except(p.ISR, p.AddingReplicas)
	c.adding, c.removing = nil, nil
	switch {
	case len(c.replicas) == 0:
		return faultf(kafka.InvalidReplicaAssignment, "Invalid replica assignment: addingReplicas contains all replicas.")
	case len(c.isr) == 0 && c.election != electUnclean:
		return faultf(kafka.InvalidReplicaAssignment,
			"Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", tp.Topic, tp.Partition)
	case len(c.isr) == 0:
		// Kafka does not mark it so.
		c.isr, c.recovery = c.replicas[:1], kafka.Recovering
	}
	return nil
}

// listReassignments answers ListPartitionReassignments (46): of the partitions
// named, or of all.
func (m *Machine) listReassignments(r Request, req *kmsg.ListPartitionReassignmentsRequest) error {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	image := m.Image()
	if req.Topics == nil {
		for t := range image.Topics() {
			if t.NumReassigning() == 0 {
				continue
			}
			answer := kmsg.NewListPartitionReassignmentsResponseTopic()
			answer.Topic = t.Name()
			for n, p := range t.All() {
				answer.Partitions = appendReassignment(answer.Partitions, n, p)
			}
			resp.Topics = append(resp.Topics, answer)
		}
	}
	for _, topic := range req.Topics {
		t, ok := image.Topic(topic.Topic)
		if !ok {
			continue
		}
		answer := kmsg.NewListPartitionReassignmentsResponseTopic()
		answer.Topic = topic.Topic
		for _, n := range topic.Partitions {
			if p, ok := t.Partition(n); ok {
				answer.Partitions = appendReassignment(answer.Partitions, n, p)
			}
		}
		if len(answer.Partitions) > 0 {
			resp.Topics = append(resp.Topics, answer)
		}
	}
	_, err := m.carryOut(r, refuse(resp))
	return err
}

func appendReassignment(to []kmsg.ListPartitionReassignmentsResponseTopicPartition, n int32, p *metadata.Partition) []kmsg.ListPartitionReassignmentsResponseTopicPartition {
	if !p.Reassigning() {
		return to
	}
	a := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
	a.Partition, a.Replicas = n, int32s(p.Replicas)
	a.AddingReplicas, a.RemovingReplicas = int32s(p.AddingReplicas), int32s(p.RemovingReplicas)
	return append(to, a)
}
