package quorumlog

import (
	"fmt"

	"kbench/internal/checker"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
)

// stored are the kinds of traced events that are judged by the logs.
var stored = []trace.Kind{trace.ControllerShutdownGranted, trace.BrokerISRAcknowledged}

// ackedState is a state of a partition that its leader was told of.
type ackedState struct {
	topic     kafka.UUID
	partition int32
	epoch     kafka.PartitionEpoch
}

// hear takes what a node traced; all that comes before the records.
func (c *content) hear(e trace.Event) error {
	switch e.Kind {
	case trace.ControllerShutdownGranted:
		c.grants = append(c.grants, e)
	case trace.BrokerISRAcknowledged:
		a, err := checker.AckedISRFromTrace(e)
		if err != nil {
			return err
		}
		k := ackedState{a.TopicID, a.Partition.Partition, a.PartitionEpoch}
		c.acked[k] = append(c.acked[k], a)
	}
	return nil
}

// acknowledged looks at what leaders were told of the state that a record makes.
func (c *content) acknowledged(topic kafka.UUID, n int32, p *metadata.Partition) {
	k := ackedState{topic, n, p.PartitionEpoch}
	for _, a := range c.acked[k] {
		c.rules.Looked++
		if differs := a.Differs(p.Leader, p.LeaderEpoch, p.ISR); differs != "" {
			c.wrong("C7", "%s", differs)
		}
	}
	delete(c.acked, k)
}

// lost looks at the end for what leaders were told and no record says. What a
// snapshot has that the replay began with, and topics that are gone, are not judged.
func (c *content) lost() {
	for k, as := range c.acked {
		t, ok := c.image.TopicByID(k.topic)
		if !ok {
			continue
		}
		if p, ok := t.Partition(k.partition); ok && p.PartitionEpoch < k.epoch {
			c.wrong("C7", "the leader of %v was told partition epoch %d, the log ends with %d", as[0].Partition, k.epoch, p.PartitionEpoch)
		}
	}
}

// wrong is a fault that the replay outlives.
func (c *content) wrong(invariant, format string, args ...any) {
	if len(c.told) < maxBroken {
		c.told = append(c.told, checker.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
	}
}
