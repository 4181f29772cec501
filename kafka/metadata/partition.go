package metadata

import (
	"fmt"
	"slices"

	"kbench/kafka"
)

// Partition is the state of one partition. It is immutable once it is in an
// Image: callers must not write to it or to its slices, and slices of several
// partitions may share memory.
type Partition struct {
	// Replicas is the assignment in order of preference: the first is the
	// preferred leader. Never empty in a valid image.
	Replicas []kafka.BrokerID
	// ISR holds the in-sync replicas, a subset of Replicas.
	ISR []kafka.BrokerID
	// AddingReplicas and RemovingReplicas are set while a reassignment runs
	// (KIP-455) and nil otherwise.
	AddingReplicas, RemovingReplicas []kafka.BrokerID
	// Directories has one log directory for each of Replicas (KIP-858), or is
	// nil where the cluster does not know them (metadata.version before 3.7-IV2).
	// In ZooKeeper mode it is nil, or has LostDirectory for what is offline.
	Directories []kafka.UUID
	// Leader is kafka.NoLeader where there is none.
	Leader              kafka.BrokerID
	LeaderEpoch         kafka.LeaderEpoch
	PartitionEpoch      kafka.PartitionEpoch
	LeaderRecoveryState kafka.LeaderRecoveryState
	// Eligible is nil where no replica is eligible beside the ISR, as in all
	// clusters without eligible leader replicas (KIP-966).
	Eligible *Eligible
}

// Eligible are the replicas that may become leader although they left the ISR
// (KIP-966). It is immutable like its partition.
type Eligible struct {
	// ELR holds replicas that left the ISR when it was smaller than
	// min.insync.replicas and have been alive since: none of them has lost an
	// acknowledged record. No member is in the ISR.
	ELR []kafka.BrokerID
	// LastKnown holds former members of ISR and ELR that were shut down
	// uncleanly; the first led last.
	LastKnown []kafka.BrokerID
}

// newEligible gives nil for two empty lists.
func newEligible(elr, lastKnown []kafka.BrokerID) *Eligible {
	if len(elr) == 0 && len(lastKnown) == 0 {
		return nil
	}
	return &Eligible{emptyToNil(elr), emptyToNil(lastKnown)}
}

// ELR gives the eligible leader replicas, nil for none.
func (p *Partition) ELR() []kafka.BrokerID {
	if p.Eligible == nil {
		return nil
	}
	return p.Eligible.ELR
}

// LastKnownELR gives the last known eligible leader replicas, nil for none.
func (p *Partition) LastKnownELR() []kafka.BrokerID {
	if p.Eligible == nil {
		return nil
	}
	return p.Eligible.LastKnown
}

// The directory ids that name no directory; the first hundred are reserved
// (KIP-858).
var (
	MigratingDirectory  = kafka.UUID{}
	UnassignedDirectory = kafka.UUID{15: 1}
	LostDirectory       = kafka.UUID{15: 2}
)

// IsReservedDirectory reports whether d is one of the hundred ids that a
// broker may not give to a directory.
func IsReservedDirectory(d kafka.UUID) bool {
	for _, b := range d[:15] {
		if b != 0 {
			return false
		}
	}
	return d[15] < 100
}

// HasReplica reports whether broker is assigned.
func (p *Partition) HasReplica(broker kafka.BrokerID) bool {
	return slices.Contains(p.Replicas, broker)
}

// InISR reports whether broker is in sync.
func (p *Partition) InISR(broker kafka.BrokerID) bool {
	return slices.Contains(p.ISR, broker)
}

// HasPreferredLeader reports whether the first replica leads.
func (p *Partition) HasPreferredLeader() bool {
	return len(p.Replicas) > 0 && p.Leader == p.Replicas[0]
}

// Reassigning reports whether a reassignment runs.
func (p *Partition) Reassigning() bool {
	return len(p.AddingReplicas) > 0 || len(p.RemovingReplicas) > 0
}

// Directory gives the log directory of a replica, UnassignedDirectory where
// it is not known.
func (p *Partition) Directory(broker kafka.BrokerID) kafka.UUID {
	if i := slices.Index(p.Replicas, broker); i >= 0 && i < len(p.Directories) {
		return p.Directories[i]
	}
	return UnassignedDirectory
}

// Equal reports whether both are the same state. Nil and empty slices are
// equal.
func (p *Partition) Equal(o *Partition) bool {
	return p.Leader == o.Leader && p.LeaderEpoch == o.LeaderEpoch &&
		p.PartitionEpoch == o.PartitionEpoch && p.LeaderRecoveryState == o.LeaderRecoveryState &&
		slices.Equal(p.Replicas, o.Replicas) && slices.Equal(p.ISR, o.ISR) &&
		slices.Equal(p.AddingReplicas, o.AddingReplicas) &&
		slices.Equal(p.RemovingReplicas, o.RemovingReplicas) &&
		slices.Equal(p.Directories, o.Directories) &&
		slices.Equal(p.ELR(), o.ELR()) && slices.Equal(p.LastKnownELR(), o.LastKnownELR())
}

// Validate checks what must hold of a partition in any image: replicas and
// ISR without repetition, the ISR a subset of the replicas, the leader in the
// ISR, eligible replicas beside the ISR, and one directory a replica where
// directories are known.
func (p *Partition) Validate() error {
	if len(p.Replicas) == 0 {
		return fmt.Errorf("no replicas")
	}
	if d, ok := repeated(p.Replicas); ok {
		return fmt.Errorf("broker %d is in the replicas twice", d)
	}
	if d, ok := repeated(p.ISR); ok {
		return fmt.Errorf("broker %d is in the ISR twice", d)
	}
	for _, b := range p.ISR {
		if !p.HasReplica(b) {
			return fmt.Errorf("broker %d is in the ISR and no replica", b)
		}
	}
	if p.Leader != kafka.NoLeader && !p.InISR(p.Leader) {
		return fmt.Errorf("leader %d is not in the ISR %v", p.Leader, p.ISR)
	}
	for _, b := range p.ELR() {
		if p.InISR(b) || !p.HasReplica(b) {
			return fmt.Errorf("broker %d is eligible, and in the ISR or no replica", b)
		}
	}
	if len(p.Directories) != 0 && len(p.Directories) != len(p.Replicas) {
		return fmt.Errorf("%d directories for %d replicas", len(p.Directories), len(p.Replicas))
	}
	return nil
}

// String gives one line for logs and golden traces.
func (p *Partition) String() string {
	s := fmt.Sprintf("replicas=%v isr=%v leader=%d epoch=%d/%d", p.Replicas, p.ISR, p.Leader, p.LeaderEpoch, p.PartitionEpoch)
	if len(p.AddingReplicas) > 0 {
		s += fmt.Sprintf(" adding=%v", p.AddingReplicas)
	}
	if len(p.RemovingReplicas) > 0 {
		s += fmt.Sprintf(" removing=%v", p.RemovingReplicas)
	}
	if p.LeaderRecoveryState != kafka.Recovered {
		s += " recovering"
	}
	if p.Eligible != nil {
		s += fmt.Sprintf(" elr=%v lastknown=%v", p.ELR(), p.LastKnownELR())
	}
	return s
}

// repeated finds a value that is in s twice. Replica lists are short, so the
// quadratic walk beats a set.
func repeated(s []kafka.BrokerID) (kafka.BrokerID, bool) {
	for i, b := range s {
		if slices.Contains(s[:i], b) {
			return b, true
		}
	}
	return 0, false
}
