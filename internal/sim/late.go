package sim

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// lateness is what of a request comes too late for the state that it finds: all
// of it, since its broker has registered anew, or some partitions, which have
// moved on.
type lateness struct {
	registration bool
	partitions   []latePartition
	image        *metadata.Image // that it found
}

type latePartition struct {
	topic     kafka.UUID
	partition int32
	state     *metadata.Partition
}

// lateness judges a request by the metadata that it is decided on.
func (c *controller) lateness(body kmsg.Request) lateness {
	image := c.m.Working()
	of := func(id int32, epoch int64) lateness {
		b, ok := image.Broker(kafka.BrokerID(id))
		return lateness{registration: !ok || int64(b.Epoch) != epoch, image: image}
	}
	switch r := body.(type) {
	case *kmsg.BrokerHeartbeatRequest:
		return of(r.BrokerID, r.BrokerEpoch)
	case *kmsg.AllocateProducerIDsRequest:
		return of(r.BrokerID, r.BrokerEpoch)
	case *kmsg.AssignReplicasToDirsRequest:
		return of(r.BrokerID, r.BrokerEpoch)
	case *kmsg.AlterPartitionRequest:
		late := of(r.BrokerID, r.BrokerEpoch)
		late.partitions = latePartitions(image, r)
		return late
	}
	return lateness{}
}

// latePartitions are those of a request whose leader or epochs are others by now,
// unless they are as wanted already: such a request may come again.
func latePartitions(image *metadata.Image, r *kmsg.AlterPartitionRequest) []latePartition {
	var late []latePartition
	for i := range r.Topics {
		t, ok := image.TopicByID(r.Topics[i].TopicID)
		if !ok {
			continue
		}
		for _, want := range r.Topics[i].Partitions {
			p, ok := t.Partition(want.Partition)
			if !ok {
				continue
			}
			moved := want.LeaderEpoch < int32(p.LeaderEpoch) || kafka.BrokerID(r.BrokerID) != p.Leader
			if moved || want.PartitionEpoch < int32(p.PartitionEpoch) && !asWanted(p, &want) {
				late = append(late, latePartition{t.ID(), want.Partition, p})
			}
		}
	}
	return late
}

func asWanted(p *metadata.Partition, want *kmsg.AlterPartitionRequestTopicPartition) bool {
	isr := make([]kafka.BrokerID, len(want.NewEpochISR))
	for i := range want.NewEpochISR {
		isr[i] = kafka.BrokerID(want.NewEpochISR[i].BrokerID)
	}
	slices.Sort(isr)
	return slices.Equal(isr, slices.Sorted(slices.Values(p.ISR))) && kafka.LeaderRecoveryState(want.LeaderRecoveryState) == p.LeaderRecoveryState
}

// decidedLate looks at what a request that came too late came to: nothing.
func (j *judge) decidedLate(c *controller, late lateness) {
	image := c.m.Working()
	if late.registration {
		j.w.cov.LateBrokers++
		if image != late.image {
			j.fail("C12", c.n.id, "a request of an earlier registration changes the metadata")
		}
	}
	for _, p := range late.partitions {
		j.w.cov.Late++
		if t, ok := image.TopicByID(p.topic); ok {
			if now, _ := t.Partition(p.partition); now != p.state {
				j.fail("C5", c.n.id, "an AlterPartition of an earlier epoch makes %v of %s-%d, %v", now, t.Name(), p.partition, p.state)
			}
		}
	}
}

// answersLate looks at the answer to a request of an earlier registration.
func (j *judge) answersLate(c *controller, late lateness, resp kmsg.Response) {
	code := int16(0)
	switch r := resp.(type) {
	case *kmsg.BrokerHeartbeatResponse:
		code = r.ErrorCode
	case *kmsg.AllocateProducerIDsResponse:
		code = r.ErrorCode
	case *kmsg.AssignReplicasToDirsResponse:
		code = r.ErrorCode
	case *kmsg.AlterPartitionResponse:
		code = r.ErrorCode
	}
	if late.registration && code == 0 {
		j.fail("C12", c.n.id, "%T: a request of an earlier registration is taken", resp)
	}
}
