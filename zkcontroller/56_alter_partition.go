package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleAlterPartition(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.AlterPartitionRequest)
	in := machine.AlterPartition{Version: r.Version, Broker: kafka.BrokerID(req.BrokerID), Epoch: kafka.BrokerEpoch(req.BrokerEpoch)}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			in.Changes = append(in.Changes, changeIn(t, &t.Partitions[j], r.Version))
		}
	}
	body := c.call(ctx, maxCallTime, func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	})
	reply, ok := body.(machine.AlterPartitionReply)
	if !ok {
		reply.Code = kafka.RequestTimedOut
	}
	resp := kmsg.NewPtrAlterPartitionResponse()
	resp.ErrorCode = int16(reply.Code)
	if reply.Code != kafka.None {
		return resp, nil
	}
	next := 0
	for i := range req.Topics {
		t := kmsg.NewAlterPartitionResponseTopic()
		t.Topic, t.TopidID = req.Topics[i].Topic, req.Topics[i].TopicID
		for j := range req.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, resultOut(req.Topics[i].Partitions[j].Partition, &reply.Results[next]))
			next++
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}

func changeIn(t *kmsg.AlterPartitionRequestTopic, p *kmsg.AlterPartitionRequestTopicPartition, version int16) machine.ISRChange {
	c := machine.ISRChange{
		Topic: t.Topic, TopicID: t.TopicID, Partition: p.Partition,
		LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch), PartitionEpoch: kafka.PartitionEpoch(p.PartitionEpoch),
		Recovery: kafka.LeaderRecoveryState(p.LeaderRecoveryState),
	}
	if version >= 2 {
		c.Topic = ""
	}
	for _, id := range p.NewISR {
		c.ISR = append(c.ISR, machine.ISRMember{ID: kafka.BrokerID(id), Epoch: kafka.NoBrokerEpoch})
	}
	for _, m := range p.NewEpochISR {
		c.ISR = append(c.ISR, machine.ISRMember{ID: kafka.BrokerID(m.BrokerID), Epoch: kafka.BrokerEpoch(m.BrokerEpoch)})
	}
	return c
}

func resultOut(partition int32, res *machine.ISRResult) kmsg.AlterPartitionResponseTopicPartition {
	p := kmsg.NewAlterPartitionResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, int16(res.Code)
	if res.Code != kafka.None {
		return p
	}
	p.LeaderID, p.LeaderEpoch = int32(res.State.Leader), int32(res.State.LeaderEpoch)
	p.LeaderRecoveryState, p.PartitionEpoch = int8(res.State.Recovery), int32(res.State.Version)
	for _, id := range res.State.ISR {
		p.ISR = append(p.ISR, int32(id))
	}
	return p
}
