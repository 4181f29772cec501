package workloads

import (
	"context"
	"time"

	"kbench/kafka"
)

// lookEvery is how long it may go unseen that a fault of the timeline took a
// broker away, or gave it back.
const lookEvery = 20 * time.Millisecond

// absent are the brokers that faults of the timeline have taken away: no change
// is to be served by them until they are back and have served one. It is guarded
// by its spread.
type absent struct {
	live map[kafka.BrokerID]bool // as of the last look
	gone map[kafka.BrokerID]bool
	// asked is the change by which a broker that is back is seen to serve again.
	asked map[kafka.BrokerID]string
}

// lookForAbsent follows which brokers are live until ctx ends.
func (s *spread) lookForAbsent(ctx context.Context) {
	for pause(ctx, lookEvery) == nil {
		live := map[kafka.BrokerID]bool{}
		for _, n := range liveBrokers(s.Cluster) {
			live[n.ID] = true
		}
		s.present(live)
	}
}

// present hears which brokers are live. Changes that wait for one that is not do
// so no longer.
func (s *spread) present(live map[kafka.BrokerID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if live[n.ID] {
			continue
		}
		s.absent.gone[n.ID] = true
		delete(s.absent.asked, n.ID)
		s.pending[n.ID] = nil
		for _, c := range s.open {
			if c.seenBy[n.ID] == 0 {
				c.absent[n.ID] = true
				s.finish(c)
			}
		}
	}
	s.absent.live = live
}

// awaits has a broker probed for a change that it is to serve. One that is gone
// is not to; where it is back, the first change since then tells when it serves
// again.
func (s *spread) awaits(n Node, c *change) {
	if s.absent.gone[n.ID] {
		c.absent[n.ID] = true
		if _, asked := s.absent.asked[n.ID]; asked || !s.absent.live[n.ID] {
			return
		}
		s.absent.asked[n.ID] = c.subject
	}
	s.pending[n.ID] = append(s.pending[n.ID], c.subject)
}

// servesAgain hears of a broker that is back that it serves a change.
func (s *spread) servesAgain(id kafka.BrokerID, c *change) {
	delete(s.absent.asked, id)
	delete(s.absent.gone, id)
	s.askNoMore(id, c.subject)
	s.finish(c)
}

// tells reports whether a broker that is back is asked about a change.
func (a absent) tells(c *change) bool {
	for _, subject := range a.asked {
		if subject == c.subject {
			return true
		}
	}
	return false
}
