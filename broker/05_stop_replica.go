package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// epochDuringDelete is the leader epoch with which a controller stops replicas
// of a topic that is being deleted: always accepted (KAFKA-9539).
const epochDuringDelete kafka.LeaderEpoch = -2

// handleStopReplica ends replicas, and forgets those to be deleted.
func (p *zkPlane) handleStopReplica(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	if err := p.awaitRegistration(ctx); err != nil {
		return nil, err
	}
	req := r.Body.(*kmsg.StopReplicaRequest)
	resp := req.ResponseKind().(*kmsg.StopReplicaResponse)
	p.mu.Lock()
	defer p.mu.Unlock()
	if code := p.fence(req.ControllerID, req.ControllerEpoch, req.BrokerEpoch); code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if req.Version == 0 {
			p.stopReplica(resp, t.Topic, t.Partition, kafka.NoEpoch, req.DeletePartitions)
			continue
		}
		for _, part := range t.Partitions { // versions 1 and 2
			p.stopReplica(resp, t.Topic, part, kafka.NoEpoch, req.DeletePartitions)
		}
		for _, s := range t.PartitionStates {
			p.stopReplica(resp, t.Topic, s.Partition, kafka.LeaderEpoch(s.LeaderEpoch), s.Delete)
		}
	}
	return resp, nil
}

func (p *zkPlane) stopReplica(resp *kmsg.StopReplicaResponse, topic string, partition int32, epoch kafka.LeaderEpoch, remove bool) {
	tp := kafka.TopicPartition{Topic: topic, Partition: partition}
	held, ok := p.b.replicas.Held(tp)
	part := kmsg.NewStopReplicaResponsePartition()
	part.Topic, part.Partition = topic, partition
	switch {
	case held.Offline:
		part.ErrorCode = int16(kafka.KafkaStorageError)
	case ok && epoch != epochDuringDelete && epoch != kafka.NoEpoch && epoch < held.LeaderEpoch:
		part.ErrorCode = int16(kafka.FencedLeaderEpoch)
	case remove:
		p.b.replicas.Remove(tp)
		p.topicConfigs.drop(topic)
	default:
		p.b.replicas.Stop(tp)
	}
	resp.Partitions = append(resp.Partitions, part)
}
