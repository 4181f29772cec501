package machine

import (
	"math"
	"time"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// sessions is what the active controller knows of brokers that is in no
// record: Kafka's BrokerHeartbeatManager. It is made anew at each claim.
type sessions struct {
	timeout time.Duration
	brokers map[kafka.BrokerID]*session
	// due is no later than the end of the first session that ends, Never
	// without sessions. A heartbeat leaves it as it is, so it may be early.
	due time.Duration
}

// session is what is known of one registered broker.
type session struct {
	lastContact time.Duration
	// owed counts its heartbeats that wait for an answer. A broker sends none
	// before it has that of the last, so that its silence means nothing until then.
	owed int
	// seen is the metadata offset of its last heartbeat, NoOffset before one.
	seen kafka.Offset
	// shutdownOffset is the offset that all active brokers must have seen
	// before its controlled shutdown is granted. It is set once (KAFKA-14292),
	// NoOffset before.
	shutdownOffset kafka.Offset
}

func newSessions(timeout, now time.Duration, image *metadata.Image) sessions {
	s := sessions{timeout: timeout, brokers: map[kafka.BrokerID]*session{}, due: now + timeout}
	for b := range image.Brokers() {
		s.register(b.ID, now)
	}
	return s
}

// register begins what is known of a broker.
func (s *sessions) register(id kafka.BrokerID, now time.Duration) *session {
	b := &session{lastContact: now, seen: kafka.NoOffset, shutdownOffset: kafka.NoOffset}
	s.brokers[id] = b
	return b
}

func (s *sessions) forget(id kafka.BrokerID) { delete(s.brokers, id) }

// touch notes a heartbeat.
func (s *sessions) touch(b *session, now time.Duration, seen kafka.Offset) {
	b.lastContact, b.seen = now, seen
	s.due = min(s.due, now+s.timeout)
}

// valid reports whether a broker is unfenced and was heard of within the
// timeout, or waits for an answer.
func (s *sessions) valid(b *metadata.Broker, now time.Duration) bool {
	known, ok := s.brokers[b.ID]
	return ok && !b.Fenced && (known.owed > 0 || now < known.lastContact+s.timeout)
}

// stalest gives the unfenced broker whose session ended first, if one ended,
// and notes when the next ends. Of several that ended at once it is that with
// the lowest id.
func (s *sessions) stalest(image *metadata.Image, now time.Duration) (kafka.BrokerID, bool) {
	if now < s.due {
		return kafka.NoLeader, false
	}
	found, oldest := kafka.NoLeader, time.Duration(math.MaxInt64)
	for b := range image.Brokers() {
		if known := s.brokers[b.ID]; !b.Fenced && known != nil && known.owed == 0 && known.lastContact < oldest {
			found, oldest = b.ID, known.lastContact
		}
	}
	if found == kafka.NoLeader {
		s.due = Never
		return found, false
	}
	s.due = oldest + s.timeout
	return found, now >= s.due
}

// lowestActive is the least metadata offset among the active brokers, beyond
// all offsets if there are none. It is asked only for brokers that are
// shutting down, so it may take the time of a walk.
func (s *sessions) lowestActive(image *metadata.Image) kafka.Offset {
	lowest := kafka.Offset(math.MaxInt64)
	for b := range image.Brokers() {
		if known := s.brokers[b.ID]; b.Active() && known != nil {
			lowest = min(lowest, known.seen)
		}
	}
	return lowest
}
