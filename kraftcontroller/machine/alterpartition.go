package machine

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// alterPartition decides AlterPartition (56): a leader's wish for the ISRs of
// its partitions (KIP-497, KIP-704, KIP-841, KIP-903).
func (m *Machine) alterPartition(r Request, req *kmsg.AlterPartitionRequest) error {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	b, ok := m.image().Broker(kafka.BrokerID(req.BrokerID))
	if !ok || int64(b.Epoch) != req.BrokerEpoch {
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	byID := req.Version > 1
	var records []metadata.Record
	seen := map[kafka.TopicPartition]bool{}
	for _, topic := range req.Topics {
		answer := kmsg.NewAlterPartitionResponseTopic()
		answer.Topic, answer.TopidID = topic.Topic, topic.TopicID
		t, unknown := m.alteredTopic(topic, byID)
		for _, want := range topic.Partitions {
			if t == nil {
				answer.Partitions = append(answer.Partitions, alterError(want.Partition, unknown))
				continue
			}
			tp := kafka.TopicPartition{Topic: t.Name(), Partition: want.Partition}
			if seen[tp] {
				answer.Partitions = append(answer.Partitions, alterError(want.Partition, kafka.InvalidRequest))
				continue
			}
			seen[tp] = true
			record, a := m.alterOne(b.ID, t, want, req.Version)
			if record != nil {
				records = append(records, record)
			}
			answer.Partitions = append(answer.Partitions, a)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	_, err := m.carryOut(r, decision{records: slices.Values(records), response: resp})
	return err
}

// alteredTopic finds the topic, or the error that each of its partitions gets.
func (m *Machine) alteredTopic(topic kmsg.AlterPartitionRequestTopic, byID bool) (*metadata.Topic, kafka.ErrorCode) {
	if byID {
		t, _ := m.image().TopicByID(topic.TopicID)
		return t, kafka.UnknownTopicID
	}
	t, _ := m.image().Topic(topic.Topic)
	return t, kafka.UnknownTopicOrPartition
}

func alterError(partition int32, code kafka.ErrorCode) kmsg.AlterPartitionResponseTopicPartition {
	a := kmsg.NewAlterPartitionResponseTopicPartition()
	a.Partition, a.ErrorCode = partition, int16(code)
	return a
}

// alterOne decides for one partition; the record is nil where nothing changes.
func (m *Machine) alterOne(leader kafka.BrokerID, t *metadata.Topic, want kmsg.AlterPartitionRequestTopicPartition, version int16) (metadata.Record, kmsg.AlterPartitionResponseTopicPartition) {
	p, ok := t.Partition(want.Partition)
	if !ok {
		return nil, alterError(want.Partition, kafka.UnknownTopicOrPartition)
	}
	isr, epochs := wantedISR(want, version)
	recovery := kafka.LeaderRecoveryState(want.LeaderRecoveryState)
	switch code := m.judgeAlter(leader, p, want, isr, epochs, version); {
	case code == alreadySo:
		return nil, alterSuccess(want.Partition, p)
	case code != kafka.None:
		return nil, alterError(want.Partition, code)
	}
	c := m.partitionChange(t, p)
	c.isr, c.recovery = isr, recovery
	if uncleanAllowed(m.image(), t.Name()) {
		c.election = electUnclean
	}
	record, changed := c.record(t.ID(), want.Partition, p)
	if !changed {
		return nil, alterSuccess(want.Partition, p)
	}
	next, err := p.Changed(record)
	if err != nil {
		return nil, alterError(want.Partition, kafka.UnknownServerError)
	}
	if next.Leader != leader {
		if version > 1 {
			return record, alterError(want.Partition, kafka.NewLeaderElected)
		}
		return record, alterError(want.Partition, kafka.FencedLeaderEpoch)
	}
	return record, alterSuccess(want.Partition, &next)
}

func alterSuccess(number int32, p *metadata.Partition) kmsg.AlterPartitionResponseTopicPartition {
	a := kmsg.NewAlterPartitionResponseTopicPartition()
	a.Partition, a.LeaderID, a.LeaderEpoch = number, int32(p.Leader), int32(p.LeaderEpoch)
	a.PartitionEpoch, a.LeaderRecoveryState = int32(p.PartitionEpoch), int8(p.LeaderRecoveryState)
	for _, id := range p.ISR {
		a.ISR = append(a.ISR, int32(id))
	}
	return a
}

// wantedISR gives the ISR with the epoch of each member, NoBrokerEpoch where
// the version has none.
func wantedISR(want kmsg.AlterPartitionRequestTopicPartition, version int16) (isr []kafka.BrokerID, epochs []kafka.BrokerEpoch) {
	if version < 3 {
		isr = brokerIDs(want.NewISR)
		return isr, slices.Repeat([]kafka.BrokerEpoch{kafka.NoBrokerEpoch}, len(isr))
	}
	for _, b := range want.NewEpochISR {
		isr = append(isr, kafka.BrokerID(b.BrokerID))
		epochs = append(epochs, kafka.BrokerEpoch(b.BrokerEpoch))
	}
	return isr, epochs
}

// alreadySo is no code of Kafka's: the partition is as wanted already.
const alreadySo kafka.ErrorCode = -32768

// judgeAlter checks in Kafka's order. A leader that knows of later epochs than
// the controller talks to one that is deposed (KAFKA-14154). A request that
// comes again, its answer lost, is right whatever its partition epoch
// (KAFKA-14144).
func (m *Machine) judgeAlter(leader kafka.BrokerID, p *metadata.Partition, want kmsg.AlterPartitionRequestTopicPartition, isr []kafka.BrokerID, epochs []kafka.BrokerEpoch, version int16) kafka.ErrorCode {
	recovery := kafka.LeaderRecoveryState(want.LeaderRecoveryState)
	switch {
	case want.LeaderEpoch > int32(p.LeaderEpoch) || want.PartitionEpoch > int32(p.PartitionEpoch):
		return kafka.NotController
	case want.LeaderEpoch < int32(p.LeaderEpoch):
		return kafka.FencedLeaderEpoch
	case leader != p.Leader:
		return kafka.InvalidRequest
	case sameSet(isr, p.ISR) && recovery == p.LeaderRecoveryState:
		return alreadySo
	case want.PartitionEpoch < int32(p.PartitionEpoch):
		return kafka.InvalidUpdateVersion
	case !distinct(isr) || !containsAll(p.Replicas, isr) || !slices.Contains(isr, p.Leader):
		return kafka.InvalidRequest
	case recovery != kafka.Recovered && recovery != kafka.Recovering:
		return kafka.InvalidRequest
	case recovery == kafka.Recovering && len(isr) > 1:
		return kafka.InvalidRequest
	case recovery == kafka.Recovering && p.LeaderRecoveryState == kafka.Recovered:
		return kafka.InvalidRequest
	}
	for i, id := range isr {
		b, ok := m.image().Broker(id)
		if !ok || !b.Active() || epochs[i] != kafka.NoBrokerEpoch && epochs[i] != b.Epoch {
			if version > 1 {
				return kafka.IneligibleReplica
			}
			return kafka.OperationNotAttempted
		}
	}
	return kafka.None
}
