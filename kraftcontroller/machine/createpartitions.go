package machine

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// createPartitions decides CreatePartitions (37), under the same limit of
// records as createTopics (KAFKA-19673).
func (m *Machine) createPartitions(r Request, req *kmsg.CreatePartitionsRequest) error {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	names := map[string]int{}
	for _, t := range req.Topics {
		names[t.Topic]++
	}
	quota := m.mutationQuota(r, strictCreatePartitions)
	var records []metadata.Record
	for i := range req.Topics {
		t := &req.Topics[i]
		if n := names[t.Topic]; n > 1 {
			names[t.Topic] = -1
			resp.Topics = append(resp.Topics, createPartitionsAnswer(t.Topic, kafka.InvalidRequest, "Duplicate topic name."))
			continue
		} else if n < 0 {
			continue
		}
		added, f := m.morePartitions(t, m.cfg.MaxRecords-len(records))
		if f != nil && f.code == kafka.PolicyViolation {
			_, err := m.carryOut(r, refuse(refusal.Of(req, f.code, f.message)))
			return err
		}
		if f == nil {
			f = quota.take(len(added))
		}
		if f != nil {
			resp.Topics = append(resp.Topics, createPartitionsAnswer(t.Topic, f.code, f.message))
			continue
		}
		records = append(records, added...)
		resp.Topics = append(resp.Topics, createPartitionsAnswer(t.Topic, kafka.None, ""))
	}
	resp.ThrottleMillis = quota.throttleMs()
	if req.ValidateOnly {
		records = nil
	}
	_, err := m.carryOut(r, atomicOf(records, resp))
	return err
}

func createPartitionsAnswer(topic string, code kafka.ErrorCode, message string) kmsg.CreatePartitionsResponseTopic {
	a := kmsg.NewCreatePartitionsResponseTopic()
	a.Topic, a.ErrorCode = topic, int16(code)
	if code != kafka.None {
		a.ErrorMessage = &message
	}
	return a
}

func (m *Machine) morePartitions(req *kmsg.CreatePartitionsRequestTopic, room int) ([]metadata.Record, *fault) {
	t, ok := m.image().Topic(req.Topic)
	if !ok {
		return nil, faultf(kafka.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	have := int32(t.Len())
	switch {
	case req.Count == have:
		return nil, faultf(kafka.InvalidPartitions, "Topic already has %d partition(s).", have)
	case req.Count < have:
		return nil, faultf(kafka.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", req.Topic, have, req.Count)
	}
	more := int(req.Count - have)
	if req.Assignment != nil && len(req.Assignment) != more {
		return nil, faultf(kafka.InvalidReplicaAssignment,
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(req.Assignment))
	}
	if more > room {
		return nil, &fault{kafka.PolicyViolation, excessive}
	}
	first, ok := t.Partition(0)
	if !ok {
		return nil, faultf(kafka.UnknownServerError, "Topic %s has no partition 0.", req.Topic)
	}
	replicas, f := m.moreReplicas(req, more, len(first.Replicas))
	if f != nil {
		return nil, f
	}
	records := make([]metadata.Record, 0, more)
	for i, ids := range replicas {
		record, ok := m.newPartition(t.ID(), have+int32(i), ids)
		if !ok && req.Assignment != nil {
			return nil, faultf(kafka.InvalidReplicaAssignment,
				"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", have+int32(i))
		}
		if !ok {
			return nil, faultf(kafka.InvalidReplicationFactor,
				"Unable to replicate the partition %d time(s): All brokers are currently fenced or in controlled shutdown.", len(ids))
		}
		records = append(records, record)
	}
	return records, nil
}

func (m *Machine) moreReplicas(req *kmsg.CreatePartitionsRequestTopic, more, factor int) ([][]kafka.BrokerID, *fault) {
	if req.Assignment == nil {
		placed, err := metadata.Place(m.cfg.Rand, m.placementBrokers(), more, factor)
		if err != nil {
			return nil, faultf(kafka.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): %v", factor, err)
		}
		return placed, nil
	}
	replicas := make([][]kafka.BrokerID, more)
	for i, a := range req.Assignment {
		replicas[i] = brokerIDs(a.Replicas)
		if f := m.judgeAssignment(replicas[i], factor); f != nil {
			return nil, f
		}
	}
	return replicas, nil
}
