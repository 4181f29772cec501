package checker

import (
	"slices"
	"strconv"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// partitionStep is one change of a partition, which Metadata judges.
type partitionStep struct {
	image  *metadata.Image // with the change
	topic  string
	old, p *metadata.Partition // old is nil for a new partition
	asked  bool                // somebody asked for unclean leaders
	elr    bool
	fail   func(invariant, why string)

	elected, unclean int64
}

func (c *partitionStep) judge() {
	p := c.p
	if err := p.Validate(); err != nil {
		c.fail("C3", err.Error())
	} else if len(p.ISR) == 0 && !c.elr {
		c.fail("C3", "no ISR")
	}
	if !among(p.Replicas, p.AddingReplicas) || !among(p.Replicas, p.RemovingReplicas) {
		c.fail("C9", "what is added or removed is no replica")
	}
	var isr []kafka.BrokerID
	led := kafka.NoLeader
	if c.old != nil {
		isr, led = c.old.ISR, c.old.Leader
		c.epochs()
		c.reassigned()
	}
	for _, id := range p.ISR {
		if b, ok := c.image.Broker(id); !slices.Contains(isr, id) && (!ok || !b.Active()) {
			c.fail("C4", "a broker that is not active is in sync")
		}
	}
	if p.Leader != led && p.Leader != kafka.NoLeader {
		c.leads()
	}
}

func (c *partitionStep) epochs() {
	old, p := c.old, c.p
	switch {
	case p.Leader != old.Leader && p.LeaderEpoch == old.LeaderEpoch && p.Leader != kafka.NoLeader && old.Leader != kafka.NoLeader:
		c.fail("C1", "another led in that epoch")
	case p.PartitionEpoch <= old.PartitionEpoch || p.LeaderEpoch < old.LeaderEpoch || p.Leader != old.Leader && p.LeaderEpoch == old.LeaderEpoch:
		c.fail("C2", "an epoch stays or goes back")
	case p.PartitionEpoch > old.PartitionEpoch+1 || p.LeaderEpoch > old.LeaderEpoch+1:
		c.fail("C2", "an epoch is left out")
	}
}

// leads looks at a new leader.
func (c *partitionStep) leads() {
	b, ok := c.image.Broker(c.p.Leader)
	if !ok || !b.Active() {
		c.fail("C4", "the leader is not active")
	}
	if ok && !b.HasOnlineDirectory(c.p.Directory(c.p.Leader)) {
		c.fail("K16", "its directory is offline")
	}
	if c.old == nil {
		return
	}
	// The change that ends a reassignment may elect whom it takes into the ISR.
	if !c.old.Reassigning() {
		c.elected++
	} else if c.p.LeaderRecoveryState != kafka.Recovering {
		return
	}
	if slices.Contains(c.old.ISR, c.p.Leader) || slices.Contains(c.old.ELR(), c.p.Leader) {
		return
	}
	c.unclean++
	switch {
	case len(c.p.ISR) != 1 || c.p.LeaderRecoveryState != kafka.Recovering:
		c.fail("C6", "the leader may have lost records")
	case !c.mayBeUnclean():
		c.fail("C6", "the leader may have lost records, which is not allowed")
	}
}

// mayBeUnclean reports whether a leader may be one that has lost records: the
// configuration allows it, somebody asked for it, or it led last and nobody
// else was eligible (KIP-966).
func (c *partitionStep) mayBeUnclean() bool {
	last := c.old.LastKnownELR()
	return c.asked || c.setting("unclean.leader.election.enable") == "true" || c.elr && len(last) == 1 && last[0] == c.p.Leader
}

// setting is a configuration of the topic, else the cluster's.
func (c *partitionStep) setting(name string) string {
	if v, ok := c.image.Config(metadata.ConfigResource{Type: metadata.TopicConfig, Name: c.topic})[name]; ok {
		return v
	}
	return c.image.Config(metadata.ConfigResource{Type: metadata.BrokerConfig})[name]
}

// minISR is min.insync.replicas, at most the replicas that there are.
func (c *partitionStep) minISR() int {
	least, err := strconv.Atoi(c.setting("min.insync.replicas"))
	if err != nil {
		least = 1
	}
	return min(least, len(c.p.Replicas))
}

// reassigned looks at a change of the replicas.
func (c *partitionStep) reassigned() {
	old, p := c.old, c.p
	if slices.Equal(old.Replicas, p.Replicas) {
		return
	}
	if came := except(p.Replicas, old.Replicas); !among(p.AddingReplicas, came) {
		c.fail("C9", "a replica comes that is not added")
	}
	gone := except(old.Replicas, p.Replicas)
	if p.Reassigning() || among(old.AddingReplicas, gone) {
		return // it goes on, or is cancelled
	}
	added := except(old.AddingReplicas, gone)
	if !among(p.ISR, added) && p.LeaderRecoveryState != kafka.Recovering {
		c.fail("C9", "it ends before what it adds is in sync")
	}
	// In sync before are those of the former replicas that it has not added, but
	// for whom the leader or a fence took out in the same change.
	before := except(old.ISR, old.AddingReplicas)
	before = except(before, except(except(before, gone), p.ISR))
	if least := c.minISR(); len(before) >= least && len(p.ISR) < least && p.LeaderRecoveryState != kafka.Recovering {
		c.fail("C9", "its end leaves fewer in sync than min.insync.replicas, which as many were before")
	}
}

// among reports whether all ids are in a list.
func among(list, ids []kafka.BrokerID) bool {
	return !slices.ContainsFunc(ids, func(id kafka.BrokerID) bool { return !slices.Contains(list, id) })
}

// except gives ids without those of gone; ids stays as it is.
func except(ids, gone []kafka.BrokerID) []kafka.BrokerID {
	return slices.DeleteFunc(slices.Clone(ids), func(id kafka.BrokerID) bool { return slices.Contains(gone, id) })
}
