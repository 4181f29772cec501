package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/replica"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// handleLeaderAndISR makes this broker lead and follow as the controller says.
func (p *zkPlane) handleLeaderAndISR(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	if err := p.awaitRegistration(ctx); err != nil {
		return nil, err
	}
	req := r.Body.(*kmsg.LeaderAndISRRequest)
	resp := req.ResponseKind().(*kmsg.LeaderAndISRResponse)
	p.mu.Lock()
	defer p.mu.Unlock()
	if code := p.fence(req.ControllerID, req.ControllerEpoch, req.BrokerEpoch); code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	var changes []replica.Change
	for i := range req.PartitionStates { // before version 2
		s := &req.PartitionStates[i]
		t := kmsg.LeaderAndISRRequestTopicState{Topic: s.Topic}
		changes = append(changes, p.answerState(resp, &t, s)...)
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		if req.Version < 5 { // and its answer is by name
			for j := range t.PartitionStates {
				changes = append(changes, p.answerState(resp, t, &t.PartitionStates[j])...)
			}
			continue
		}
		rt := kmsg.NewLeaderAndISRResponseTopic()
		rt.TopicID = t.TopicID
		rt.Partitions = make([]kmsg.LeaderAndISRResponseTopicPartition, 0, len(t.PartitionStates))
		for j := range t.PartitionStates {
			s := &t.PartitionStates[j]
			part := kmsg.NewLeaderAndISRResponseTopicPartition()
			part.Partition = s.Partition
			code := p.acceptState(t, s)
			part.ErrorCode = int16(code)
			if code == kafka.None {
				changes = append(changes, replica.Change{
					Topic: t.Topic, TopicID: t.TopicID, Partition: s.Partition, State: stateOfISR(s),
				})
			}
			rt.Partitions = append(rt.Partitions, part)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	p.b.replicas.Apply(p.b.now(), changes)
	return resp, nil
}

// answerState gives the change of one partition, none where it is refused, and
// adds the partition to an answer before version 5.
func (p *zkPlane) answerState(resp *kmsg.LeaderAndISRResponse, t *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) []replica.Change {
	code := p.acceptState(t, s)
	part := kmsg.NewLeaderAndISRResponseTopicPartition()
	part.Topic, part.Partition, part.ErrorCode = t.Topic, s.Partition, int16(code)
	resp.Partitions = append(resp.Partitions, part)
	if code != kafka.None {
		return nil
	}
	return []replica.Change{{Topic: t.Topic, Partition: s.Partition, State: stateOfISR(s)}}
}

// acceptState says whether one partition's state applies here: its log directory
// must work, and it must name this broker, the same topic, and a leader epoch that
// is newer.
func (p *zkPlane) acceptState(t *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) kafka.ErrorCode {
	held, ok := p.b.replicas.Held(kafka.TopicPartition{Topic: t.Topic, Partition: s.Partition})
	switch {
	case held.Offline:
		return kafka.KafkaStorageError
	case ok && !held.TopicID.IsZero() && t.TopicID != [16]byte{} && held.TopicID != t.TopicID:
		return kafka.InconsistentTopicID
	case !slices.Contains(s.Replicas, int32(p.b.cfg.ID)):
		return kafka.UnknownTopicOrPartition
	case ok && kafka.LeaderEpoch(s.LeaderEpoch) <= held.LeaderEpoch:
		return kafka.StaleControllerEpoch
	}
	return kafka.None
}

func stateOfISR(s *kmsg.LeaderAndISRRequestTopicPartition) *metadata.Partition {
	ids := make([]kafka.BrokerID, 0, len(s.Replicas)+len(s.ISR))
	for _, id := range s.Replicas {
		ids = append(ids, kafka.BrokerID(id))
	}
	for _, id := range s.ISR {
		ids = append(ids, kafka.BrokerID(id))
	}
	n := len(s.Replicas)
	return &metadata.Partition{
		Replicas: ids[:n:n], ISR: ids[n:], Leader: kafka.BrokerID(s.Leader), LeaderEpoch: kafka.LeaderEpoch(s.LeaderEpoch),
		PartitionEpoch: kafka.PartitionEpoch(s.ZKVersion), LeaderRecoveryState: kafka.LeaderRecoveryState(s.LeaderRecoveryState),
	}
}
