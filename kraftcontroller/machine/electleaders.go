package machine

import (
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// electLeaders decides ElectLeaders (43). Without a list it is about all
// partitions, and those that need no election are left out of the answer.
// Unlike Kafka's it has no limit of records and is not atomic: it is what
// restores the balance of a cluster of any size.
func (m *Machine) electLeaders(r Request, req *kmsg.ElectLeadersRequest) error {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	how, missing := electPreferred, kafka.PreferredLeaderNotAvailable
	switch req.ElectionType {
	case 0:
	case 1:
		how, missing = electUnclean, kafka.EligibleLeadersNotAvailable
	default:
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.InvalidRequest, "")))
		return err
	}
	var records []metadata.Record
	elect := func(t *metadata.Topic, n int32) (kafka.ErrorCode, string) {
		p, ok := t.Partition(n)
		switch {
		case !ok:
			return kafka.UnknownTopicOrPartition, "No such partition."
		case how == electPreferred && p.HasPreferredLeader(), how == electUnclean && p.Leader != kafka.NoLeader:
			return kafka.ElectionNotNeeded, "Leader election not needed."
		}
		c := m.partitionChange(t, p)
		c.election = how
		record, changed := c.record(t.ID(), n, p)
		if !changed || how == electPreferred && record.Leader != p.Replicas[0] || record.Leader == kafka.NoLeader {
			return missing, "No leader could be elected."
		}
		records = append(records, record)
		return kafka.None, ""
	}
	if req.Topics == nil {
		for t := range m.image().Topics() {
			answer := kmsg.NewElectLeadersResponseTopic()
			answer.Topic = t.Name()
			for n := range t.All() {
				if code, message := elect(t, n); code != kafka.ElectionNotNeeded {
					answer.Partitions = append(answer.Partitions, electAnswer(n, code, message))
				}
			}
			if len(answer.Partitions) > 0 {
				resp.Topics = append(resp.Topics, answer)
			}
		}
	} else {
		m.electListed(req, resp, elect)
	}
	_, err := m.carryOut(r, decision{records: slices.Values(records), response: resp})
	return err
}

func (m *Machine) electListed(req *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse, elect func(*metadata.Topic, int32) (kafka.ErrorCode, string)) {
	seen := map[kafka.TopicPartition]bool{}
	for _, topic := range req.Topics {
		answer := kmsg.NewElectLeadersResponseTopic()
		answer.Topic = topic.Topic
		t, ok := m.image().Topic(topic.Topic)
		for _, n := range topic.Partitions {
			tp := kafka.TopicPartition{Topic: topic.Topic, Partition: n}
			code, message := kafka.UnknownTopicOrPartition, "No such topic."
			switch {
			case seen[tp]:
				code, message = kafka.InvalidRequest, "The partition is listed twice."
			case ok:
				code, message = elect(t, n)
			}
			seen[tp] = true
			answer.Partitions = append(answer.Partitions, electAnswer(n, code, message))
		}
		resp.Topics = append(resp.Topics, answer)
	}
}

func electAnswer(n int32, code kafka.ErrorCode, message string) kmsg.ElectLeadersResponseTopicPartition {
	a := kmsg.NewElectLeadersResponseTopicPartition()
	a.Partition, a.ErrorCode = n, int16(code)
	if code != kafka.None {
		a.ErrorMessage = &message
	}
	return a
}

// allocateProducerIDs decides AllocateProducerIds (67): the next block, which
// no other request gets.
func (m *Machine) allocateProducerIDs(r Request, req *kmsg.AllocateProducerIDsRequest) error {
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	b, ok := m.image().Broker(kafka.BrokerID(req.BrokerID))
	next := m.image().NextProducerID()
	switch {
	case !ok || int64(b.Epoch) != req.BrokerEpoch:
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.StaleBrokerEpoch, "")))
		return err
	case next > math.MaxInt64-producerIDBlock:
		_, err := m.carryOut(r, refuse(refusal.Of(req, kafka.UnknownServerError, "")))
		return err
	}
	resp.ProducerIDStart, resp.ProducerIDLen = next, producerIDBlock
	record := &metadata.ProducerIDsRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, NextProducerID: next + producerIDBlock}
	_, err := m.carryOut(r, atomicOf([]metadata.Record{record}, resp))
	return err
}
