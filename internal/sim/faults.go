package sim

import (
	"time"

	"kbench/kraftcontroller/raft"
)

// fault strikes, and sets when the next one does.
func (w *world) fault() {
	if w.net.whole {
		return
	}
	w.after(time.Duration(w.rng.Int64N(int64(2*w.p.fault)))+1, event{kind: evFault})
	if w.opt.Metadata && w.rng.IntN(4) == 0 {
		w.brokerFault()
		return
	}
	n := w.victim()
	lasts := time.Duration(w.rng.Int64N(int64(4 * w.p.fetchTimeout)))
	kinds := 13
	if w.p.dynamic {
		kinds = 18
	}
	switch w.rng.IntN(kinds) {
	case 0, 1:
		n.crash()
	case 2:
		if n.up {
			n.crashAt = 1 + w.rng.IntN(stages)
		}
	case 3, 4:
		w.cov.Partitions++
		w.net.heal()
		bits := w.rng.Uint64()
		w.trace.note("partition %b", bits&(1<<w.net.n-1))
		w.net.partition(func(i int) bool { return bits>>i&1 == 1 })
		w.after(lasts, event{kind: evHeal})
	case 5:
		w.cov.Partitions++
		w.net.heal()
		w.trace.note("isolate %d", n.id)
		w.net.partition(func(i int) bool { return i == n.id })
		w.after(lasts, event{kind: evHeal})
	case 6:
		w.net.storm = true
		w.trace.note("storm")
		w.after(lasts, event{kind: evHeal})
	case 7:
		w.pause(n, lasts)
	case 8:
		w.cov.SlowDisks++
		n.slow = time.Duration(w.rng.Int64N(int64(w.p.fetchTimeout * 2)))
		w.trace.note("slow disk of %d: %v", n.id, n.slow)
		w.after(lasts, event{kind: evCalm, node: n.id})
	case 9:
		if n.up && !n.paused {
			n.step(raft.Resign{Epoch: n.machine.Role().Epoch})
		}
	case 10:
		if n.up && !n.paused {
			w.cov.Shutdowns++
			w.trace.note("shut down %d", n.id)
			n.step(raft.Shutdown{Timeout: w.p.fetchTimeout * 2})
		}
	case 11:
		n.takeSnapshot()
	case 12:
		n.failSync = true
	default:
		w.changeVoters()
	}
}

// brokerFault crashes a broker, makes it leave in good order, or takes one of its
// directories from it.
func (w *world) brokerFault() {
	n := w.nodes[w.p.controllers()+w.rng.IntN(w.p.brokers)]
	if n.broker == nil || n.paused {
		return
	}
	switch w.rng.IntN(5) {
	case 0, 1:
		n.crash()
	case 2, 3:
		w.trace.note("broker %d wants to leave", n.id)
		n.broker.leaving = true
	default:
		w.trace.note("broker %d loses a directory", n.id)
		w.cov.DirectoriesLost++
		n.broker.offline = true
	}
}

// victim is a leader half of the time, else any node.
func (w *world) victim() *node {
	if n := w.leader(); n != nil && w.rng.IntN(2) == 0 {
		return n
	}
	return w.nodes[w.rng.IntN(len(w.nodes))]
}

// pause stops a node as SIGSTOP does: what arrives waits for it.
func (w *world) pause(n *node, d time.Duration) {
	if !n.up || n.paused {
		return
	}
	w.cov.Pauses++
	w.trace.note("pause %d for %v", n.id, d)
	n.paused = true
	w.after(d, event{kind: evResume, node: n.id, boot: n.boot})
}
