package zkcontroller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// requestLeaderAndISR makes the queue element of a LeaderAndIsr.
func (c *Controller) requestLeaderAndISR(e *machine.LeaderAndISR) request {
	head, listener, term := c.header(e.BrokerEpoch), c.cfg.Listener, c.epoch
	build := func() kmsg.Request { return encodeLeaderAndISR(head, e, listener) }
	if v := c.cfg.Protocol.LeaderAndISR(); v < leaderAndISRVersion {
		req := c.oldLeaderAndISR(e, v)
		build = func() kmsg.Request { return req }
	}
	return request{
		build: build,
		answered: func(resp kmsg.Response) {
			if r, ok := resp.(*kmsg.LeaderAndISRResponse); ok {
				if failed := storageErrors(e, r); len(failed) > 0 {
					c.post(machine.LeaderAndISRDone{Broker: e.Broker, Epoch: e.BrokerEpoch, Controller: term, Failed: failed})
				}
			}
		},
	}
}

// storageErrors gives the partitions that a broker has no working directory
// for. A request that is refused as a whole is stale: another will follow.
func storageErrors(e *machine.LeaderAndISR, r *kmsg.LeaderAndISRResponse) []kafka.TopicPartition {
	var failed []kafka.TopicPartition
	for _, p := range r.Partitions { // before version 5
		if kafka.ErrorCode(p.ErrorCode) == kafka.KafkaStorageError {
			failed = append(failed, kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition})
		}
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if kafka.ErrorCode(p.ErrorCode) != kafka.KafkaStorageError {
				continue
			}
			if name := topicOfID(e, t.TopicID); name != "" {
				failed = append(failed, kafka.TopicPartition{Topic: name, Partition: p.Partition})
			}
		}
	}
	return failed
}

func topicOfID(e *machine.LeaderAndISR, id kafka.UUID) string {
	for i := range e.Partitions {
		if e.Partitions[i].TopicID == id {
			return e.Partitions[i].Topic
		}
	}
	return ""
}

// requestMetadata makes the queue element of an UpdateMetadata.
func (c *Controller) requestMetadata(e *machine.UpdateMetadata, body *metadataBody) request {
	if v := c.cfg.Protocol.UpdateMetadata(); v < updateMetadataVersion {
		req := c.oldMetadata(e, v)
		return request{build: func() kmsg.Request { return req }}
	}
	head := c.header(e.BrokerEpoch)
	return request{build: func() kmsg.Request {
		return &encoded{&kmsg.UpdateMetadataRequest{Version: updateMetadataVersion}, [][]byte{head, body.encode()}}
	}}
}

// requestsStopReplica makes the queue elements of a StopReplica: before version
// 3 what is deleted needs a request of its own.
func (c *Controller) requestsStopReplica(e *machine.StopReplica) []request {
	version := c.cfg.Protocol.StopReplica()
	if version >= 3 {
		return []request{c.requestStopReplica(e, c.encodeStopReplica(e, version))}
	}
	var out []request
	for _, remove := range []bool{false, true} {
		part := *e
		part.Partitions = slices.DeleteFunc(slices.Clone(e.Partitions), func(p machine.StopReplicaPartition) bool { return p.Delete != remove })
		if len(part.Partitions) > 0 {
			out = append(out, c.requestStopReplica(&part, c.oldStopReplica(&part, version, remove)))
		}
	}
	return out
}

// requestStopReplica makes one of them. Only deletions have their answer looked
// at.
func (c *Controller) requestStopReplica(e *machine.StopReplica, req kmsg.Request) request {
	r, term := request{build: func() kmsg.Request { return req }}, c.epoch
	deletes := map[kafka.TopicPartition]bool{}
	var all []kafka.TopicPartition
	for _, p := range e.Partitions {
		if p.Delete {
			tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
			deletes[tp] = true
			all = append(all, tp)
		}
	}
	if len(all) == 0 {
		return r
	}
	r.dropped = func() {
		c.post(machine.StopReplicaDone{Broker: e.Broker, Epoch: e.BrokerEpoch, Controller: term, Failed: all})
	}
	r.answered = func(resp kmsg.Response) {
		a, ok := resp.(*kmsg.StopReplicaResponse)
		if !ok {
			return
		}
		done := machine.StopReplicaDone{Broker: e.Broker, Epoch: e.BrokerEpoch, Controller: term}
		if a.ErrorCode != 0 {
			done.Failed = all
		} else {
			done.Deleted, done.Failed = splitAnswers(all, deletes, a)
		}
		c.post(done)
	}
	return r
}

// splitAnswers sorts deletions into done and failed. A partition that the
// answer does not name is done: brokers name only what they looked at.
func splitAnswers(all []kafka.TopicPartition, deletes map[kafka.TopicPartition]bool, a *kmsg.StopReplicaResponse) (done, failed []kafka.TopicPartition) {
	bad := map[kafka.TopicPartition]bool{}
	for _, p := range a.Partitions {
		tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		if p.ErrorCode != 0 && deletes[tp] {
			bad[tp] = true
		}
	}
	for _, tp := range all {
		if bad[tp] {
			failed = append(failed, tp)
		} else {
			done = append(done, tp)
		}
	}
	return done, failed
}
