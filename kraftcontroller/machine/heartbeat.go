package machine

import (
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// control is the state of a broker as its heartbeats see it.
//
//	fenced      -> shutdownNow          it wants to shut down
//	fenced      -> unfenced             it does not want to be fenced, has seen
//	                                    its own registration, and did not begin
//	                                    to shut down: Kafka lets a heartbeat from
//	                                    before that, which comes late, unfence
//	                                    and elect it
//	unfenced    -> fenced               it wants to be fenced
//	unfenced    -> shutdownNow          it wants to be fenced and to shut down,
//	                                    or to shut down and leads nothing
//	unfenced    -> controlledShutdown   it wants to shut down and leads
//	controlledShutdown -> itself        it still leads, or an active broker has
//	                                    not seen its shutdown yet
//	controlledShutdown -> shutdownNow   otherwise; it is fenced
type control uint8

const (
	fenced control = iota
	unfenced
	controlledShutdown
	shutdownNow
)

func controlOf(b *metadata.Broker) control {
	switch {
	case b.Fenced:
		return fenced
	case b.InControlledShutdown:
		return controlledShutdown
	}
	return unfenced
}

// heartbeat decides BrokerHeartbeat (63). Without a change of state its time
// is constant, but for a broker that is shutting down, where it is that of a
// walk over the brokers.
func (m *Machine) heartbeat(r Request, req *kmsg.BrokerHeartbeatRequest) error {
	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	b, ok := m.image().Broker(kafka.BrokerID(req.BrokerID))
	if !ok || int64(b.Epoch) != req.BrokerEpoch {
		resp.ErrorCode, resp.IsFenced = int16(kafka.StaleBrokerEpoch), true
		_, err := m.carryOut(r, refuse(resp))
		return err
	}
	if err := m.heedDirectories(b, req); err != nil {
		return err
	}
	b, _ = m.image().Broker(b.ID)
	current, s := controlOf(b), m.sessions.brokers[b.ID]
	inherited := current == controlledShutdown && s.shutdownOffset == kafka.NoOffset
	if inherited { // it began under another controller
		s.shutdownOffset = m.log.head().last
	}
	next := m.nextControl(b, current, req)
	m.sessions.touch(s, m.now, kafka.Offset(req.CurrentMetadataOffset))

	resp.IsCaughtUp = kafka.Offset(req.CurrentMetadataOffset) >= m.log.seen(b)
	resp.IsFenced = next == fenced || next == shutdownNow
	resp.ShouldShutdown = next == shutdownNow
	d := decision{response: resp}
	switch {
	case next != current:
		d.records = m.controlRecords(b, current, next)
	case inherited && m.image().LeaderCount(b.ID) > 0:
		// That controller did not live to move all that the broker leads.
		d.records = m.walk(gone(b.ID))
	default:
		// What it is told is stable already. To wait for what was appended for
		// others would keep it silent for that long.
		d.immediate = m.log.stable(b)
	}
	if next == shutdownNow {
		d.whenStable = []Event{{ShutdownGranted, b.ID}}
	}
	last, err := m.carryOut(r, d)
	if next == controlledShutdown && d.records != nil {
		s.shutdownOffset = last
	}
	return err
}

// heartbeatWaits notes that a heartbeat waits for its answer, where r is one.
func (m *Machine) heartbeatWaits(r Request) {
	if s := m.sender(r); s != nil {
		s.owed++
	}
}

// heartbeatAnswered notes that it has it: the broker's session begins anew.
func (m *Machine) heartbeatAnswered(r Request) {
	if s := m.sender(r); s != nil {
		s.owed--
		m.sessions.touch(s, m.now, s.seen)
	}
}

// sender gives the session of a broker that sent a heartbeat, nil where r is
// none or its broker has registered anew.
func (m *Machine) sender(r Request) *session {
	req, ok := r.Body.(*kmsg.BrokerHeartbeatRequest)
	if !ok {
		return nil
	}
	if b, ok := m.image().Broker(kafka.BrokerID(req.BrokerID)); !ok || int64(b.Epoch) != req.BrokerEpoch {
		return nil
	}
	return m.sessions.brokers[kafka.BrokerID(req.BrokerID)]
}

func (m *Machine) nextControl(b *metadata.Broker, current control, req *kmsg.BrokerHeartbeatRequest) control {
	switch current {
	case fenced:
		switch {
		case req.WantShutdown:
			return shutdownNow
		case !req.WantFence && !b.InControlledShutdown && kafka.Offset(req.CurrentMetadataOffset) >= m.log.seen(b):
			return unfenced
		}
	case unfenced:
		switch {
		case req.WantFence && req.WantShutdown:
			return shutdownNow
		case req.WantFence:
			return fenced
		case req.WantShutdown && m.image().LeaderCount(b.ID) > 0:
			return controlledShutdown
		case req.WantShutdown:
			return shutdownNow
		}
	case controlledShutdown:
		if m.image().LeaderCount(b.ID) == 0 && m.sessions.brokers[b.ID].shutdownOffset <= m.sessions.lowestActive(m.image()) {
			return shutdownNow
		}
	}
	return current
}

// controlRecords are those of a change of a broker's state, and tells of it.
func (m *Machine) controlRecords(b *metadata.Broker, current, next control) iter.Seq[metadata.Record] {
	change := &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch}
	switch next {
	case unfenced:
		m.event(BrokerUnfenced, b.ID)
		change.Fenced = -1
		if m.image().OfflineCount() == 0 {
			return slices.Values([]metadata.Record{change})
		}
		return m.afterChange(change, withoutLeader(b.ID))
	case controlledShutdown:
		m.event(ShutdownBegun, b.ID)
		change.InControlledShutdown = 1
		return m.afterChange(change, gone(b.ID))
	}
	if current == fenced {
		return nil // a fenced broker may stop as it is
	}
	if next == fenced {
		m.event(BrokerFenced, b.ID)
	}
	return m.fence(b)
}

// afterChange walks the change of a registration and then those of partitions
// that follow from it.
func (m *Machine) afterChange(change metadata.Record, s sweep) iter.Seq[metadata.Record] {
	partitions := m.walk(s)
	return func(yield func(metadata.Record) bool) {
		if !yield(change) {
			return
		}
		for r := range partitions {
			if !yield(r) {
				return
			}
		}
	}
}
