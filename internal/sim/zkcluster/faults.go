package zkcluster

import (
	"time"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

// fault strikes, and sets when the next one does.
func (w *world) fault() {
	if w.settling {
		return
	}
	w.after(time.Duration(w.rng.Int64N(int64(2*w.p.fault)))+1, w.fault)
	h := w.victim()
	lasts := time.Duration(w.rng.Int64N(int64(3 * w.p.session)))
	switch w.rng.IntN(14) {
	case 0, 1:
		w.crash(h, lasts)
	case 2:
		if h.up {
			w.cov.Bounces++
			w.crash(h, w.delay(time.Millisecond))
		}
	case 3, 4:
		w.freeze(h, lasts)
	case 5:
		w.isolate(h, lasts)
	case 6, 7:
		w.cutFromZK(h, lasts)
	case 8, 9:
		h.disconnect()
	case 10:
		for _, h := range w.hosts {
			h.disconnect()
		}
	case 11:
		w.depose()
	default:
		w.shutDown(h, lasts)
	}
}

// victim is the controller half of the time, else any process.
func (w *world) victim() *host {
	if h := w.controller(); h != nil && w.rng.IntN(2) == 0 {
		return h
	}
	return w.hosts[1+w.rng.IntN(len(w.hosts)-1)]
}

// controller is a process that believes itself controller, at random if several
// do; nil if none.
func (w *world) controller() *host {
	var found *host
	k := 0
	for _, h := range w.hosts {
		if h.candidate != nil && h.candidate.elected {
			k++
			if w.rng.IntN(k) == 0 {
				found = h
			}
		}
	}
	return found
}

func (w *world) crash(h *host, downFor time.Duration) {
	if !h.up {
		return
	}
	w.cov.Crashes++
	h.crash()
	w.restart(h, downFor)
}

func (w *world) restart(h *host, in time.Duration) {
	boot := h.boot
	w.after(in, func() {
		if !h.up && h.boot == boot {
			h.start()
		}
	})
}

func (w *world) freeze(h *host, d time.Duration) {
	if !h.up || h.frozen {
		return
	}
	w.cov.Freezes++
	w.trace.note("%d freezes for %v", h.id, d)
	h.freeze()
	boot := h.boot
	w.after(d, func() {
		if h.boot == boot {
			w.trace.note("%d goes on", h.id)
			h.thaw()
		}
	})
}

// isolate cuts one process off from all others, though not from ZooKeeper.
func (w *world) isolate(h *host, d time.Duration) {
	w.cov.Partitions++
	w.trace.note("%d is isolated for %v", h.id, d)
	for _, o := range w.hosts {
		if o != h {
			w.cut[[2]kafka.BrokerID{min(h.id, o.id), max(h.id, o.id)}] = true
		}
	}
	w.after(d, func() {
		for _, o := range w.hosts {
			delete(w.cut, [2]kafka.BrokerID{min(h.id, o.id), max(h.id, o.id)})
		}
	})
}

func (w *world) cutFromZK(h *host, d time.Duration) {
	if h.cutFromZK {
		return
	}
	w.cov.Cuts++
	w.trace.note("%d is cut from ZooKeeper for %v", h.id, d)
	h.cutFromZK = true
	h.disconnect()
	w.after(d, func() { h.cutFromZK = false })
}

// depose deletes /controller, as an administrator does who wants another one:
// the controller lives on until it hears of it.
func (w *world) depose() {
	if n := w.server.tree.nodes[zk.ControllerPath]; n != nil {
		w.cov.Deposed++
		w.trace.note("/controller is deleted")
		w.server.delete(zk.ControllerPath)
	}
}

func (w *world) shutDown(h *host, downFor time.Duration) {
	if h.broker == nil || h.leaving || h.frozen {
		return
	}
	h.leaving = true
	w.trace.note("%d wants to stop", h.id)
	boot := h.boot
	h.broker.leave(3)
	w.after(4*w.p.callTimeout+downFor, func() {
		if h.boot != boot {
			return
		}
		if h.up {
			h.thaw()
			h.exit()
		}
		w.restart(h, 0)
	})
}
