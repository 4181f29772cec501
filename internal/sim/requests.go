package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/machine"
)

// appended names a batch that a leader appended.
type appended struct {
	epoch kafka.LeaderEpoch
	base  kafka.Offset
}

// asked takes note of the batches that an input was answered by which asks for
// leaders that may have lost records.
func (j *judge) asked(c *controller, in machine.Input, fx machine.Effects) {
	req, ok := in.(machine.Request)
	if !ok {
		return
	}
	if r, ok := req.Body.(*kmsg.ElectLeadersRequest); !ok || r.ElectionType != 1 {
		return
	}
	for _, a := range fx.Appends {
		j.ledger.asked[appended{c.claimed, a.BaseOffset}] = true
	}
}

// obeys is C5 and C12 for a request that a controller has decided on the metadata
// of before: one that comes too late is refused and changes nothing.
func (j *judge) obeys(c *controller, in machine.Input, before *metadata.Image, fx machine.Effects) {
	req, ok := in.(machine.Request)
	if !ok {
		return
	}
	sender, epoch, ok := registrationOf(req.Body)
	if !ok {
		return
	}
	if b, ok := before.Broker(sender); ok && b.Epoch == epoch {
		if r, ok := req.Body.(*kmsg.AlterPartitionRequest); ok {
			j.obeysLeader(c, r, before)
		}
		return
	}
	obeyed := len(fx.Appends) > 0
	for _, r := range fx.Responses {
		obeyed = obeyed || r.ID == req.ID && codeOf(r.Body) == kafka.None
	}
	if obeyed {
		j.fail("C12", c.n.id, "it obeys %T of a registration of broker %d that does not count, epoch %d", req.Body, sender, epoch)
	}
}

// obeysLeader looks at what a leader wants of its partitions: none whose epochs
// are others than it says may change.
func (j *judge) obeysLeader(c *controller, r *kmsg.AlterPartitionRequest, before *metadata.Image) {
	for _, topic := range r.Topics {
		was, ok := before.TopicByID(topic.TopicID)
		if !ok {
			continue
		}
		now, ok := c.m.Working().TopicByID(topic.TopicID)
		for _, want := range topic.Partitions {
			p, known := was.Partition(want.Partition)
			if !ok || !known || int32(p.LeaderEpoch) == want.LeaderEpoch && int32(p.PartitionEpoch) == want.PartitionEpoch && int32(p.Leader) == r.BrokerID {
				continue
			}
			if next, _ := now.Partition(want.Partition); next == nil || !next.Equal(p) {
				j.fail("C5", c.n.id, "it obeys broker %d, who speaks of leader epoch %d and partition epoch %d, and changes %s-%d from %v to %v",
					r.BrokerID, want.LeaderEpoch, want.PartitionEpoch, was.Name(), want.Partition, p, next)
				return
			}
		}
	}
}

// registrationOf gives the broker that sends a request and the epoch that it has,
// false for a request that tells none.
func registrationOf(body kmsg.Request) (kafka.BrokerID, kafka.BrokerEpoch, bool) {
	switch r := body.(type) {
	case *kmsg.BrokerHeartbeatRequest:
		return kafka.BrokerID(r.BrokerID), kafka.BrokerEpoch(r.BrokerEpoch), true
	case *kmsg.AlterPartitionRequest:
		return kafka.BrokerID(r.BrokerID), kafka.BrokerEpoch(r.BrokerEpoch), true
	case *kmsg.AllocateProducerIDsRequest:
		return kafka.BrokerID(r.BrokerID), kafka.BrokerEpoch(r.BrokerEpoch), true
	case *kmsg.AssignReplicasToDirsRequest:
		return kafka.BrokerID(r.BrokerID), kafka.BrokerEpoch(r.BrokerEpoch), true
	}
	return kafka.NoLeader, kafka.NoBrokerEpoch, false
}

// codeOf is the error of an answer to one of those.
func codeOf(body kmsg.Response) kafka.ErrorCode {
	switch r := body.(type) {
	case *kmsg.BrokerHeartbeatResponse:
		return kafka.ErrorCode(r.ErrorCode)
	case *kmsg.AlterPartitionResponse:
		return kafka.ErrorCode(r.ErrorCode)
	case *kmsg.AllocateProducerIDsResponse:
		return kafka.ErrorCode(r.ErrorCode)
	case *kmsg.AssignReplicasToDirsResponse:
		return kafka.ErrorCode(r.ErrorCode)
	}
	return kafka.None
}
