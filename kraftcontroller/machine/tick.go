package machine

import (
	"iter"
	"slices"
	"time"

	"kbench/kafka"
	"kbench/kafka/admin"
	"kbench/kafka/metadata"
)

// tasks are the due times of the periodic tasks, Never for one that is off.
type tasks struct{ noOp, balance, unclean, tokens time.Duration }

func idleTasks() tasks { return tasks{Never, Never, Never, Never} }

func startTasks(cfg Config, now time.Duration) tasks {
	t := tasks{
		noOp:    after(now, cfg.NoOpInterval),
		balance: after(now, cfg.LeaderBalanceInterval),
		unclean: after(now, cfg.UncleanElectionInterval),
		tokens:  Never,
	}
	if cfg.TokenSecret != "" {
		t.tokens = after(now, admin.TokenCheck)
	}
	return t
}

func after(now, interval time.Duration) time.Duration {
	if interval <= 0 {
		return Never
	}
	return now + interval
}

// deadline is when the next tick is due.
func (m *Machine) deadline() time.Duration {
	if !m.active {
		return Never
	}
	return min(m.sessions.due, m.tasks.noOp, m.tasks.balance, m.tasks.unclean, m.tasks.tokens)
}

// tick does what is due: fences one broker whose session ended (KAFKA-13173:
// the others wait for the next tick, which is due at once, so that heartbeats
// that wait come between) and runs the periodic tasks.
func (m *Machine) tick() error {
	if id, ok := m.sessions.stalest(m.image(), m.now); ok {
		if err := m.fenceStale(id); err != nil {
			return err
		}
	}
	if m.now >= m.tasks.noOp {
		m.tasks.noOp = after(m.now, m.cfg.NoOpInterval)
		if m.version() >= metadata.V3_3_IV1 {
			if _, err := m.carryOut(Request{}, atomicOf([]metadata.Record{&metadata.NoOpRecord{}}, nil)); err != nil {
				return err
			}
		}
	}
	if m.now >= m.tasks.balance {
		if err := m.balance(); err != nil {
			return err
		}
	}
	if m.now >= m.tasks.unclean {
		m.tasks.unclean = after(m.now, m.cfg.UncleanElectionInterval)
		if m.image().OfflineCount() > 0 {
			if _, err := m.carryOut(Request{}, decision{records: m.walk(withoutLeader(kafka.NoLeader))}); err != nil {
				return err
			}
		}
	}
	if m.now >= m.tasks.tokens {
		m.tasks.tokens = after(m.now, admin.TokenCheck)
		return m.sweepTokens()
	}
	return nil
}

func (m *Machine) fenceStale(id kafka.BrokerID) error {
	b, _ := m.image().Broker(id)
	m.event(BrokerFenced, id)
	_, err := m.carryOut(Request{}, decision{records: m.fence(b)})
	return err
}

// fence takes a broker out of all ISRs and leaderships and then fences it, in
// this order, so that a controller that fails between two batches leaves a
// broker that will be fenced by the next one.
func (m *Machine) fence(b *metadata.Broker) iter.Seq[metadata.Record] {
	partitions := m.walk(gone(b.ID))
	return func(yield func(metadata.Record) bool) {
		for r := range partitions {
			if !yield(r) {
				return
			}
		}
		yield(&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: 1})
	}
}

// balance gives preferred leaders their partitions back, at most
// maxBalanceElections at a time.
func (m *Machine) balance() error {
	m.tasks.balance = after(m.now, m.cfg.LeaderBalanceInterval)
	var records []metadata.Record
	for t := range m.image().Topics() {
		for n, p := range t.All() {
			if p.HasPreferredLeader() {
				continue
			}
			c := m.partitionChange(t, p)
			c.election = electPreferred
			r, ok := c.record(t.ID(), n, p)
			if !ok || r.Leader != p.Replicas[0] {
				continue
			}
			if len(records) == maxBalanceElections {
				m.tasks.balance = m.now + balanceContinue
				_, err := m.carryOut(Request{}, decision{records: slices.Values(records)})
				return err
			}
			records = append(records, r)
		}
	}
	_, err := m.carryOut(Request{}, decision{records: slices.Values(records)})
	return err
}
