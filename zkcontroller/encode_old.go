package zkcontroller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// Older inter-broker protocols are for comparisons and for upgrades, not for
// large clusters: their requests are built from kmsg's structs.

// oldLeaderAndISR gives versions 0 to 6.
func (c *Controller) oldLeaderAndISR(e *machine.LeaderAndISR, version int16) kmsg.Request {
	r := &kmsg.LeaderAndISRRequest{
		Version: version, ControllerID: int32(c.cfg.ID), ControllerEpoch: int32(c.epoch), BrokerEpoch: int64(c.epochFor(e.BrokerEpoch)),
	}
	for i := range e.Partitions {
		p := &e.Partitions[i]
		s := kmsg.LeaderAndISRRequestTopicPartition{
			Topic: p.Topic, Partition: p.Partition, ControllerEpoch: int32(p.State.ControllerEpoch),
			Leader: int32(p.State.Leader), LeaderEpoch: int32(p.State.LeaderEpoch), ISR: rawIDs(p.State.ISR),
			ZKVersion: int32(p.State.Version), Replicas: rawIDs(p.Assignment.Replicas),
			AddingReplicas: rawIDs(p.Assignment.Adding), RemovingReplicas: rawIDs(p.Assignment.Removing),
			IsNew: p.IsNew, LeaderRecoveryState: int8(p.State.Recovery),
		}
		if version < 2 {
			r.PartitionStates = append(r.PartitionStates, s)
			continue
		}
		if n := len(r.TopicStates); n == 0 || r.TopicStates[n-1].Topic != p.Topic {
			r.TopicStates = append(r.TopicStates, kmsg.LeaderAndISRRequestTopicState{Topic: p.Topic, TopicID: p.TopicID})
		}
		t := &r.TopicStates[len(r.TopicStates)-1]
		t.PartitionStates = append(t.PartitionStates, s)
	}
	for _, l := range e.Leaders {
		ep := endpoint(l, c.cfg.Listener)
		r.LiveLeaders = append(r.LiveLeaders, kmsg.LeaderAndISRRequestLiveLeader{BrokerID: int32(l.ID), Host: ep.Host, Port: int32(ep.Port)})
	}
	return r
}

// oldMetadata gives versions 0 to 7.
func (c *Controller) oldMetadata(e *machine.UpdateMetadata, version int16) kmsg.Request {
	r := &kmsg.UpdateMetadataRequest{
		Version: version, ControllerID: int32(c.cfg.ID), ControllerEpoch: int32(c.epoch), BrokerEpoch: int64(c.epochFor(e.BrokerEpoch)),
	}
	for i := range e.Partitions {
		p := &e.Partitions[i]
		s := kmsg.UpdateMetadataRequestTopicPartition{
			Topic: p.Topic, Partition: p.Partition, ControllerEpoch: int32(p.State.ControllerEpoch),
			Leader: int32(p.State.Leader), LeaderEpoch: int32(p.State.LeaderEpoch), ISR: rawIDs(p.State.ISR),
			ZKVersion: int32(p.State.Version), Replicas: rawIDs(p.Replicas), OfflineReplicas: rawIDs(p.Offline),
		}
		if version < 5 {
			r.PartitionStates = append(r.PartitionStates, s)
			continue
		}
		if n := len(r.TopicStates); n == 0 || r.TopicStates[n-1].Topic != p.Topic {
			r.TopicStates = append(r.TopicStates, kmsg.UpdateMetadataRequestTopicState{Topic: p.Topic, TopicID: p.TopicID})
		}
		t := &r.TopicStates[len(r.TopicStates)-1]
		t.PartitionStates = append(t.PartitionStates, s)
	}
	for _, l := range e.Live {
		first := endpoint(l, c.cfg.Listener) // all that version 0 tells
		b := kmsg.UpdateMetadataRequestLiveBroker{ID: int32(l.ID), Host: first.Host, Port: int32(first.Port), Rack: text(l.Rack)}
		for _, ep := range l.Endpoints {
			b.Endpoints = append(b.Endpoints, kmsg.UpdateMetadataRequestLiveBrokerEndpoint{
				Port: int32(ep.Port), Host: ep.Host, ListenerName: ep.Listener, SecurityProtocol: securityProtocols[l.Protocols[ep.Listener]],
			})
		}
		r.LiveBrokers = append(r.LiveBrokers, b)
	}
	return r
}

// oldStopReplica gives versions 0 to 2, which have one flag for the whole
// request.
func (c *Controller) oldStopReplica(e *machine.StopReplica, version int16, remove bool) kmsg.Request {
	r := &kmsg.StopReplicaRequest{
		Version: version, ControllerID: int32(c.cfg.ID), ControllerEpoch: int32(c.epoch),
		BrokerEpoch: int64(c.epochFor(e.BrokerEpoch)), DeletePartitions: remove,
	}
	for _, p := range e.Partitions {
		if n := len(r.Topics); version == 0 || n == 0 || r.Topics[n-1].Topic != p.Topic {
			r.Topics = append(r.Topics, kmsg.StopReplicaRequestTopic{Topic: p.Topic, Partition: p.Partition})
		}
		t := &r.Topics[len(r.Topics)-1]
		t.Partitions = append(t.Partitions, p.Partition)
	}
	return r
}

// epochFor gives the broker epoch to send: none where epochs are off.
func (c *Controller) epochFor(e kafka.BrokerEpoch) kafka.BrokerEpoch {
	if c.cfg.NoBrokerEpochs {
		return kafka.NoBrokerEpoch
	}
	return e
}
