package machine

import (
	"slices"

	"kbench/kafka"
)

// isrNotified takes up what leaders of an inter-broker protocol before 2.7 say:
// they wrote ISRs themselves, the controller reads them and tells all brokers.
func (m *Machine) isrNotified(f *flow) error {
	notes := &ReadNotes{Queue: ISRNotes}
	if err := f.do(notes); err != nil || len(notes.Names) == 0 {
		return err
	}
	var ps []*partition
	for _, tp := range notes.Partitions {
		if p := m.ctx.partition(tp); p != nil {
			ps = append(ps, p)
		}
	}
	m.ctx.sortPartitions(ps)
	ps = slices.Compact(ps)
	reads, err := m.readStates(f, ps)
	if err != nil {
		return err
	}
	var fresh []*partition
	for i, p := range ps {
		if reads[i].Found {
			p.ls, p.known = reads[i].State, true
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 {
		m.sendMetadata(m.ctx.registered(), fresh)
	}
	if err := m.completeReassignments(f, fresh); err != nil {
		return err
	}
	return f.do(&RemoveNotes{Queue: ISRNotes, Names: notes.Names})
}

// logDirNotified asks brokers of which a log directory failed for all their
// replicas: those that they cannot serve are in the answers to LeaderAndIsr.
func (m *Machine) logDirNotified(f *flow) error {
	notes := &ReadNotes{Queue: LogDirNotes}
	if err := f.do(notes); err != nil || len(notes.Names) == 0 {
		return err
	}
	slices.Sort(notes.Brokers)
	var rs []replica
	for _, id := range slices.Compact(notes.Brokers) {
		if m.ctx.broker(id) == nil {
			continue
		}
		for _, p := range m.ctx.partitionsOn(id) {
			if m.ctx.isUp(p, id) && p.replicaState(id).mayBecome(ReplicaOnline) {
				rs = append(rs, replica{p, id})
			}
		}
	}
	if err := m.moveReplicas(f, rs, ReplicaOnline); err != nil {
		return err
	}
	return f.do(&RemoveNotes{Queue: LogDirNotes, Names: notes.Names})
}

// ReadNotes lists a queue of notifications, arming its children watch, and reads
// them; those that cannot be read name nothing.
type ReadNotes struct {
	Queue      Notes
	Names      []string
	Partitions []kafka.TopicPartition // of ISRNotes
	Brokers    []kafka.BrokerID       // of LogDirNotes
}

// RemoveNotes removes entries of a queue of notifications, fenced.
type RemoveNotes struct {
	Queue Notes
	Names []string
}

// LogDirNotified: the children of /log_dir_event_notification changed.
type LogDirNotified struct{}

func (*ReadNotes) batch()     {}
func (*ReadNotes) effect()    {}
func (*RemoveNotes) batch()   {}
func (*RemoveNotes) effect()  {}
func (LogDirNotified) input() {}
