package machine

import (
	"fmt"
	"iter"
	"slices"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/refusal"
)

// claim begins an epoch as the active controller. All brokers count as just
// heard of, and none as having seen any metadata, so that no controlled
// shutdown is granted before every active broker has sent a heartbeat.
func (m *Machine) claim(in Claim) error {
	if in.Epoch <= m.epoch {
		return fmt.Errorf("machine: claim of epoch %d after epoch %d", in.Epoch, m.epoch)
	}
	if in.NextOffset <= m.log.committed.last {
		return fmt.Errorf("machine: claim of epoch %d with next offset %d, but %d is committed", in.Epoch, in.NextOffset, m.log.committed.last)
	}
	m.renounce()
	m.active, m.epoch = true, in.Epoch
	m.log.skipTo(in.NextOffset - 1)
	m.sessions = newSessions(m.cfg.SessionTimeout, m.now, m.image())
	m.tasks = startTasks(m.cfg, m.now)
	_, err := m.carryOut(Request{}, decision{
		records:    m.activationRecords(),
		whenStable: []Event{{Activated, kafka.NoLeader}},
	})
	return err
}

// activationRecords abort a transaction that the last controller left open,
// give partitions a leader that have none and could, since it failed between the
// batches of a broker's coming, and give an empty log its features. That the log is empty is read from the
// image, so that it is true again when such records were undone (KAFKA-20839).
func (m *Machine) activationRecords() iter.Seq[metadata.Record] {
	var records []metadata.Record
	head := m.log.head()
	if head.before != nil {
		reason := "the controller failed over"
		records = append(records, &metadata.AbortTransactionRecord{Reason: &reason})
	}
	records = slices.AppendSeq(records, m.elections())
	if head.visible().FeatureLevel(metadata.MetadataVersionFeature) == 0 {
		first := m.bootstrapRecords()
		if m.cfg.MetadataVersion.HasTransactions() {
			name := "Bootstrap records"
			records = append(records, &metadata.BeginTransactionRecord{Name: &name})
			first = append(first, &metadata.EndTransactionRecord{})
		}
		records = append(records, first...)
	}
	return slices.Values(records)
}

// elections give a leader to partitions that have none and could.
func (m *Machine) elections() iter.Seq[metadata.Record] {
	return func(yield func(metadata.Record) bool) {
		if m.image().OfflineCount() == 0 {
			return
		}
		for t := range m.image().Topics() {
			for n, p := range t.All() {
				if p.Leader != kafka.NoLeader {
					continue
				}
				if r, ok := m.partitionChange(t, p).record(t.ID(), n, p); ok && r.Leader >= 0 && !yield(r) {
					return
				}
			}
		}
	}
}

// bootstrapRecords are those of an empty log: its levels and what else its
// directory was formatted with. Where eligible leader replicas are kept from the
// beginning, min.insync.replicas is the same on all brokers from the beginning,
// as Kafka has it.
func (m *Machine) bootstrapRecords() []metadata.Record {
	records := slices.Clone(m.cfg.Bootstrap)
	if _, given := bootstrapLevel(records, metadata.MetadataVersionFeature); !given {
		level := &metadata.FeatureLevelRecord{Name: metadata.MetadataVersionFeature, FeatureLevel: int16(m.cfg.MetadataVersion)}
		records = append([]metadata.Record{level}, records...)
	}
	if level, _ := bootstrapLevel(records, metadata.ELRVersionFeature); level > 0 {
		records = append(records, leastMinISR())
	}
	return records
}

// bootstrapLevel finds the level of a feature among records.
func bootstrapLevel(records []metadata.Record, name string) (level int16, given bool) {
	for _, r := range records {
		if f, ok := r.(*metadata.FeatureLevelRecord); ok && f.Name == name {
			level, given = f.FeatureLevel, true
		}
	}
	return level, given
}

// renounce fails all that waits and undoes what is not committed.
func (m *Machine) renounce() {
	if !m.active {
		return
	}
	m.active = false
	for _, p := range m.purgatory.clear() {
		if p.request.Body != nil {
			m.respond(p.request.ID, refusal.Of(p.request.Body, kafka.NotController, notController))
		}
	}
	m.log.revert()
	m.sessions = sessions{}
	m.tasks = idleTasks()
	clear(m.buckets)
}

// committed moves the stable offset. A standby replays; the active controller
// has done so when it decided.
func (m *Machine) committed(in Committed) error {
	if len(in.Values) == 0 {
		return nil
	}
	last := in.BaseOffset + kafka.Offset(len(in.Values)) - 1
	if last <= m.log.committed.last {
		return nil // a snapshot held it
	}
	if in.BaseOffset != m.log.committed.last+1 {
		return fmt.Errorf("machine: offset %d is committed after %d", in.BaseOffset, m.log.committed.last)
	}
	if m.active {
		if in.Epoch != m.epoch {
			return fmt.Errorf("machine: active in epoch %d: the offsets %d to %d were appended in epoch %d", m.epoch, in.BaseOffset, last, in.Epoch)
		}
		commit := m.log.commit
		if in.Control {
			commit = m.log.commitControl
		}
		if err := commit(last); err != nil {
			return fmt.Errorf("machine: active in epoch %d: %w", m.epoch, err)
		}
		for _, p := range m.purgatory.release(last) {
			m.release(p)
			m.heartbeatAnswered(p.request)
		}
		return nil
	}
	if in.Control {
		m.log.committed.last = last
		return nil
	}
	next, err := m.log.replay(m.log.committed, in.BaseOffset, in.Epoch, len(in.Values), func(i int) (metadata.Record, error) {
		r, _, err := metadata.ReadRecord(in.Values[i])
		return r, err
	})
	if err != nil {
		return fmt.Errorf("machine: standby, epoch %d: %w", in.Epoch, err)
	}
	m.log.committed = next
	return nil
}

// load takes the state from a snapshot.
func (m *Machine) load(in Snapshot) error {
	if m.active {
		return fmt.Errorf("machine: active in epoch %d: the snapshot at %d cannot be loaded", m.epoch, in.EndOffset)
	}
	delta := metadata.NewDelta(metadata.Empty())
	n := 0
	for value, err := range in.Values {
		if err != nil {
			return fmt.Errorf("machine: snapshot at %d: %w", in.EndOffset, err)
		}
		r, _, err := metadata.ReadRecord(value)
		if level, ok := r.(*metadata.FeatureLevelRecord); err == nil && ok {
			err = supportedLevel(level)
		}
		if err == nil {
			err = delta.Replay(r)
		}
		if err != nil {
			return fmt.Errorf("machine: snapshot at %d, data record %d: %w", in.EndOffset, n, err)
		}
		n++
	}
	last := in.EndOffset - 1
	unclean := m.log.unclean
	m.log = newState()
	m.log.unclean = unclean
	m.log.committed = point{last: last, image: delta.Apply(last, int32(in.Epoch))}
	return nil
}
