package sim

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// admin is what a client might ask of this broker.
func (b *broker) admin() kmsg.Request {
	rng := b.n.w.rng
	name := fmt.Sprintf("t%d", rng.IntN(4))
	ids := b.n.w.brokerIDs()
	switch rng.IntN(11) {
	case 0, 1, 2:
		r := kmsg.NewPtrCreateTopicsRequest()
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(1+rng.IntN(5)), int16(1+rng.IntN(len(ids)))
		if rng.IntN(2) == 0 {
			value := fmt.Sprint(2 + rng.IntN(2))
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: "min.insync.replicas", Value: &value})
		}
		r.Version, r.Topics = 7, append(r.Topics, t)
		return r
	case 3:
		if rng.IntN(3) > 0 {
			return nil
		}
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version, r.Topics = 6, append(r.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		return r
	case 4:
		r := kmsg.NewPtrAllocateProducerIDsRequest()
		r.BrokerID, r.BrokerEpoch = int32(b.n.id), int64(b.epoch)
		return r
	case 5:
		r := kmsg.NewPtrElectLeadersRequest()
		r.ElectionType = int8(rng.IntN(2))
		return r
	case 6:
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		if rng.IntN(3) > 0 {
			rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			p.Replicas = ids[:1+rng.IntN(len(ids))]
		}
		r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		r.Topics = append(r.Topics, kmsg.AlterPartitionAssignmentsRequestTopic{Topic: name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}})
		return r
	case 7:
		value := fmt.Sprint(rng.IntN(2) == 0)
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "unclean.leader.election.enable", Value: &value}
		if rng.IntN(2) == 0 {
			value, c.Name = fmt.Sprint(1+rng.IntN(3)), "min.insync.replicas"
		}
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r.Resources = append(r.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: 2, ResourceName: name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c},
		})
		return r
	}
	if rng.IntN(2) == 0 {
		return b.assignment()
	}
	r := kmsg.NewPtrCreatePartitionsRequest()
	r.Topics = append(r.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: int32(1 + rng.IntN(9))})
	return r
}

// assignment tells in which directory each replica of the broker is that has
// none yet; nil where all have one.
func (b *broker) assignment() kmsg.Request {
	r := kmsg.NewPtrAssignReplicasToDirsRequest()
	r.BrokerID, r.BrokerEpoch = int32(b.n.id), int64(b.epoch)
	id := kafka.BrokerID(b.n.id)
	d := kmsg.AssignReplicasToDirsRequestDirectory{ID: kafka.UUID{9, byte(id), byte(b.n.w.rng.IntN(2))}}
	for t := range b.image.Topics() {
		topic := kmsg.AssignReplicasToDirsRequestDirectoryTopic{TopicID: t.ID()}
		for n, p := range t.All() {
			if p.HasReplica(id) && p.Directory(id) == metadata.UnassignedDirectory {
				topic.Partitions = append(topic.Partitions, kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{Partition: n})
			}
		}
		if len(topic.Partitions) > 0 {
			d.Topics = append(d.Topics, topic)
		}
	}
	if len(d.Topics) == 0 {
		return nil
	}
	r.Directories = append(r.Directories, d)
	return r
}

// brokerIDs gives the ids of all brokers, for the caller to shuffle.
func (w *world) brokerIDs() []int32 {
	var ids []int32
	for id := w.p.controllers(); id < len(w.nodes); id++ {
		ids = append(ids, int32(id))
	}
	return ids
}
