package raft

import (
	"time"

	"kbench/kafka"
)

// peer is the state of the requests to one node: at most one is out.
type peer struct {
	id      kafka.BrokerID
	sent    uint64        // id of the request that is out, 0 if none
	expires time.Duration // when it is given up
	retryAt time.Duration // no request before that
}

func (p *peer) ready(now time.Duration) bool { return p.sent == 0 && p.retryAt <= now }

// peerOf finds or makes the peer with id. There are as many as voters,
// bootstrap servers and leaders ever seen.
func (m *Machine) peerOf(id kafka.BrokerID) *peer {
	for i := range m.peers {
		if m.peers[i].id == id {
			return &m.peers[i]
		}
	}
	m.peers = append(m.peers, peer{id: id})
	return &m.peers[len(m.peers)-1]
}

// send sends msg to node id unless a request to it is out or backs off.
func (m *Machine) send(id kafka.BrokerID, msg Message) {
	p := m.peerOf(id)
	m.lastID++
	p.sent, p.expires = m.lastID, m.now+m.cfg.RequestTimeout
	m.eff.Send = append(m.eff.Send, Send{m.lastID, id, msg})
}

func (m *Machine) canSend(id kafka.BrokerID) bool { return m.peerOf(id).ready(m.now) }

// answered ends request id and gives the peer it was sent to, nil if the
// machine does not wait for it any more.
func (m *Machine) answered(id uint64) *peer {
	for i := range m.peers {
		if p := &m.peers[i]; id != 0 && p.sent == id {
			p.sent = 0
			return p
		}
	}
	return nil
}

// fail makes the machine wait before it asks p again.
func (m *Machine) fail(p *peer) { p.retryAt = m.now + m.cfg.RetryBackoff }

// expirePeers gives up requests that are out for too long.
func (m *Machine) expirePeers() {
	for i := range m.peers {
		if p := &m.peers[i]; p.sent != 0 && p.expires <= m.now {
			p.sent = 0
			m.fail(p)
		}
	}
}

// resetPeers forgets every request that is out: answers to them are ignored.
func (m *Machine) resetPeers() {
	for i := range m.peers {
		m.peers[i].sent, m.peers[i].retryAt = 0, 0
	}
}

// peerDeadline is when the next request expires or the next back-off ends.
func (m *Machine) peerDeadline() time.Duration {
	d := Never
	for i := range m.peers {
		switch p := &m.peers[i]; {
		case p.sent != 0:
			d = min(d, p.expires)
		case p.retryAt > m.now:
			d = min(d, p.retryAt)
		}
	}
	return d
}

// bootstrap yields the servers that a node without a leader may ask.
func (m *Machine) bootstrap(yield func(kafka.BrokerID) bool) {
	for _, b := range m.cfg.Bootstrap {
		if !yield(b) {
			return
		}
	}
	if len(m.cfg.Bootstrap) > 0 {
		return
	}
	for _, v := range m.voters {
		if !yield(v.ID) {
			return
		}
	}
}

// anyBootstrap picks a bootstrap server that can be asked now, at random; ok
// is false if none can or one is being asked already.
func (m *Machine) anyBootstrap() (id kafka.BrokerID, ok bool) {
	ready := m.scratchIDs[:0]
	for b := range m.bootstrap {
		p := m.peerOf(b)
		if p.sent != 0 {
			return 0, false
		}
		if b != m.cfg.NodeID && p.ready(m.now) {
			ready = append(ready, b)
		}
	}
	m.scratchIDs = ready
	if len(ready) == 0 {
		return 0, false
	}
	return ready[m.rng.IntN(len(ready))], true
}
