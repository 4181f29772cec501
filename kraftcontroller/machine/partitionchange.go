package machine

import (
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// election says how a partition gets its leader: Kafka's
// PartitionChangeBuilder.Election.
type election uint8

const (
	electOnline    election = iota // keep a leader that is valid, else the first in sync or eligible
	electPreferred                 // the first replica if it is valid, else as electOnline
	electUnclean                   // as electOnline, else one that may have lost records
)

// partitionChange is what is wanted of a partition. From it follows the record
// that gets there, in the order of Kafka's PartitionChangeBuilder: a
// reassignment that can be completed is, the eligible leader replicas follow
// the ISR, then a leader is elected.
type partitionChange struct {
	isr                        []kafka.BrokerID
	replicas, adding, removing []kafka.BrokerID
	recovery                   kafka.LeaderRecoveryState
	election                   election
	electorate                 electorate
	version                    metadata.MetadataVersion
	// elr says that the feature of eligible leader replicas is on (KIP-966).
	// Without it an ISR is never emptied: its last member stays.
	elr    bool
	minISR int // of the topic, at most its replication factor; only with elr
	// unclean lost what it had not flushed: it is no more eligible. NoLeader
	// for none.
	unclean kafka.BrokerID
	// directory gives that of a new replica.
	directory func(kafka.BrokerID) kafka.UUID
	// moved and movedTo put one replica into a directory; NoLeader for none.
	moved   kafka.BrokerID
	movedTo kafka.UUID
}

// partitionChange begins from what a partition of t is.
func (m *Machine) partitionChange(t *metadata.Topic, p *metadata.Partition) partitionChange {
	c := partitionChange{
		electorate: m.activeBroker, version: m.version(), elr: m.elrEnabled(),
		directory: m.defaultDirectory, unclean: kafka.NoLeader, moved: kafka.NoLeader,
	}
	if c.elr {
		c.minISR = effectiveMinISR(m.image(), t)
	}
	c.begin(p)
	return c
}

// begin wants p as it is.
func (c *partitionChange) begin(p *metadata.Partition) {
	c.isr, c.recovery = p.ISR, p.LeaderRecoveryState
	c.replicas, c.adding, c.removing = p.Replicas, p.AddingReplicas, p.RemovingReplicas
}

// record gives the change, or false if the partition is as wanted.
func (c partitionChange) record(topic kafka.UUID, number int32, p *metadata.Partition) (*metadata.PartitionChangeRecord, bool) {
	r := metadata.NewPartitionChange(topic, number)
	c.completeReassignment()
	eligible := c.eligible(p)
	eligible = c.elect(r, p, eligible)
	if r.Leader == metadata.LeaderUnchanged && !containsAll(c.replicas, p.Replicas) {
		// Replicas that are removed must hear that they follow no more.
		r.Leader = p.Leader
	}
	if !slices.Equal(eligible, p.ELR()) {
		r.EligibleLeaderReplicas = notNil(eligible)
	}
	if r.ISR == nil && (len(c.isr) > 0 || c.elr) && !slices.Equal(c.isr, p.ISR) {
		r.ISR = notNil(c.isr)
	}
	if r.Leader == metadata.LeaderUnchanged && r.ISR != nil && c.version.BumpsLeaderEpochOnShrink() && !containsAll(r.ISR, p.ISR) {
		r.Leader = p.Leader
	}
	c.rememberLeader(r, p)
	c.assign(r, p)
	if c.recovery != p.LeaderRecoveryState {
		r.LeaderRecoveryState = c.recovery
	}
	return r, changes(r)
}

// completeReassignment drops the replicas that are being removed once all that
// are being added are in sync. Where more go than come, all that stay must be:
// they are all the copies there will be.
func (c *partitionChange) completeReassignment() {
	if len(c.adding) == 0 && len(c.removing) == 0 {
		return
	}
	isr, replicas := except(c.isr, c.removing), except(c.replicas, c.removing)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, c.adding) {
		return
	}
	if len(c.adding) < len(c.removing) && !containsAll(isr, replicas) {
		return
	}
	c.isr, c.replicas, c.adding, c.removing = isr, replicas, nil, nil
}

// eligible gives the eligible leader replicas that go with the wanted ISR: none
// while it has its least size, else all that were in sync or eligible and have
// not lost anything. Kafka keeps those that are no replicas any more as well;
// here they go.
func (c *partitionChange) eligible(p *metadata.Partition) []kafka.BrokerID {
	if !c.elr || len(c.isr) >= c.minISR {
		return nil
	}
	var ids []kafka.BrokerID
	for _, id := range slices.Concat(p.ELR(), p.ISR) {
		if id != c.unclean && slices.Contains(c.replicas, id) && !slices.Contains(c.isr, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// elect puts the leader that the partition ought to have into r, and gives
// what is left eligible.
func (c *partitionChange) elect(r *metadata.PartitionChangeRecord, p *metadata.Partition, eligible []kafka.BrokerID) []kafka.BrokerID {
	won := c.leader(p, eligible)
	switch {
	case won.Leader == p.Leader:
		return eligible
	case won.Unclean:
		r.Leader, r.ISR = won.Leader, []kafka.BrokerID{won.Leader}
		c.recovery = kafka.Recovering
		return nil
	case slices.Contains(eligible, won.Leader):
		c.isr, eligible = []kafka.BrokerID{won.Leader}, without(eligible, won.Leader)
	}
	r.Leader = won.Leader
	return eligible
}

// leader chooses among the ISR, or among what is eligible where it is empty.
func (c *partitionChange) leader(p *metadata.Partition, eligible []kafka.BrokerID) metadata.Elected {
	candidates := c.isr
	if len(candidates) == 0 {
		candidates = eligible
	}
	live := func(id kafka.BrokerID) bool {
		if id == c.moved {
			b := c.electorate(id)
			return b != nil && b.HasOnlineDirectory(c.movedTo)
		}
		return c.electorate.mayLead(p, id)
	}
	ballot := metadata.Ballot{Replicas: c.replicas, ISR: candidates, Live: live}
	if c.election == electPreferred {
		if won, ok := metadata.ElectLeader(metadata.ElectPreferred, ballot); ok {
			return won
		}
	}
	if p.Leader != kafka.NoLeader && slices.Contains(candidates, p.Leader) && live(p.Leader) {
		return metadata.Elected{Leader: p.Leader, ISR: candidates}
	}
	if won, ok := metadata.ElectLeader(metadata.ElectOffline, ballot); ok {
		return won
	}
	// The replica that led last has lost least. Unlike some versions of
	// Kafka's, this one must be alive (KAFKA-19522).
	if last := p.LastKnownELR(); c.elr && len(candidates) == 0 && len(last) == 1 && slices.Contains(c.replicas, last[0]) && live(last[0]) {
		return metadata.Elected{Leader: last[0], Unclean: true}
	}
	if ballot.Unclean = c.election == electUnclean; !ballot.Unclean {
		return metadata.Elected{Leader: kafka.NoLeader}
	}
	won, _ := metadata.ElectLeader(metadata.ElectOffline, ballot)
	return won
}

// rememberLeader keeps the last leader of a partition that loses it, and forgets
// it once there is a leader again.
func (c *partitionChange) rememberLeader(r *metadata.PartitionChangeRecord, p *metadata.Partition) {
	last := p.LastKnownELR()
	switch {
	case !c.elr:
	case r.Leader == kafka.NoLeader:
		if p.Leader != kafka.NoLeader && !slices.Equal(last, []kafka.BrokerID{p.Leader}) {
			r.LastKnownELR = []kafka.BrokerID{p.Leader}
		}
	case len(last) > 0 && (r.Leader >= 0 || r.Leader == metadata.LeaderUnchanged && p.Leader != kafka.NoLeader):
		r.LastKnownELR = []kafka.BrokerID{}
	}
}

// assign puts the assignment into r where it changes.
func (c *partitionChange) assign(r *metadata.PartitionChangeRecord, p *metadata.Partition) {
	moved := !slices.Equal(c.replicas, p.Replicas)
	if c.version.HasDirectories() && (moved || c.moved != kafka.NoLeader) {
		if dirs := c.directories(p); !slices.Equal(dirs, p.Directories) {
			r.Directories = dirs
		}
	}
	if moved {
		r.Replicas = c.replicas
	}
	if !slices.Equal(c.removing, p.RemovingReplicas) {
		r.RemovingReplicas = notNil(c.removing)
	}
	if !slices.Equal(c.adding, p.AddingReplicas) {
		r.AddingReplicas = notNil(c.adding)
	}
}

func (c *partitionChange) directories(p *metadata.Partition) []kafka.UUID {
	dirs := make([]kafka.UUID, len(c.replicas))
	for i, id := range c.replicas {
		switch {
		case id == c.moved:
			dirs[i] = c.movedTo
		case !p.HasReplica(id):
			dirs[i] = c.directory(id)
		case p.Directories == nil: // from before there were directories
			dirs[i] = metadata.MigratingDirectory
		default:
			dirs[i] = p.Directory(id)
		}
	}
	return dirs
}

// changes reports whether a record says anything.
func changes(r *metadata.PartitionChangeRecord) bool {
	return r.ISR != nil || r.Leader != metadata.LeaderUnchanged || r.LeaderRecoveryState != metadata.RecoveryStateUnchanged ||
		r.Replicas != nil || r.AddingReplicas != nil || r.RemovingReplicas != nil || r.Directories != nil ||
		r.EligibleLeaderReplicas != nil || r.LastKnownELR != nil
}
