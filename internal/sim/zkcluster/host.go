package zkcluster

import (
	"time"

	"kbench/kafka"
)

// host is a process: a broker, a candidate, or both. It dies with all it knows,
// and freezes as by SIGSTOP: what arrives then waits.
type host struct {
	w         *world
	id        kafka.BrokerID
	broker    *broker    // nil on a dedicated candidate, and while down
	candidate *candidate // nil on the others, and while down
	up        bool
	boot      int
	frozen    bool
	cutFromZK bool
	leaving   bool // in controlled shutdown
	held      []func()
	clients   []*client
	procs     []*proc
}

// deliver runs do in the process as it is now, later if it is frozen, never if
// it dies before.
func (h *host) deliver(do func()) {
	switch {
	case !h.up:
	case h.frozen:
		boot := h.boot
		h.held = append(h.held, func() {
			if h.up && h.boot == boot {
				do()
			}
		})
	default:
		do()
	}
}

// after runs do in this life of the process, d from now.
func (h *host) after(d time.Duration, do func()) {
	boot := h.boot
	h.w.after(d, func() {
		if h.boot == boot {
			h.deliver(do)
		}
	})
}

func (h *host) start() {
	h.up, h.frozen, h.leaving = true, false, false
	h.boot++
	h.w.trace.note("%d starts", h.id)
	if h.hasBroker() {
		h.broker = newBroker(h)
		h.spawn(h.broker.run)
	}
	if h.hasCandidate() {
		h.candidate = newCandidate(h)
		h.spawn(h.candidate.run)
	}
}

func (h *host) hasBroker() bool { return int(h.id) <= h.w.p.brokers }

func (h *host) hasCandidate() bool {
	if h.w.p.dedicated {
		return !h.hasBroker()
	}
	return int(h.id) <= candidates
}

// candidates is how many there are.
const candidates = 3

func (h *host) spawn(body func(p *proc)) { h.procs = append(h.procs, h.w.spawn(body)) }

// crash ends the process; its sessions stay until they expire.
func (h *host) crash() {
	if !h.up {
		return
	}
	h.w.trace.note("%d dies", h.id)
	h.up, h.frozen = false, false
	for _, c := range h.clients {
		if c.err == nil {
			if c.up {
				h.w.server.quiet(c.srv)
				h.w.server.data.forget(c.srv)
				h.w.server.kids.forget(c.srv)
			}
			c.die(errKilled)
		}
	}
	h.end()
}

// exit ends the process in good order: its sessions end with it.
func (h *host) exit() {
	if !h.up {
		return
	}
	h.w.trace.note("%d exits", h.id)
	h.up, h.frozen = false, false
	for _, c := range h.clients {
		c.close()
	}
	h.end()
}

func (h *host) end() {
	for _, p := range h.procs {
		p.kill()
	}
	if h.candidate != nil {
		h.candidate.end()
	}
	h.procs, h.clients, h.held = nil, nil, nil
	h.broker, h.candidate = nil, nil
}

// freeze stops the process until thaw. The server hears nothing of it meanwhile.
func (h *host) freeze() {
	h.frozen = true
	for _, c := range h.clients {
		if c.up {
			h.w.server.quiet(c.srv)
		}
	}
}

// thaw lets the process go on with all that waited for it.
func (h *host) thaw() {
	if !h.frozen {
		return
	}
	h.frozen = false
	held := h.held
	h.held = nil
	for _, c := range h.clients {
		switch {
		case c.srv == nil || c.err != nil:
		case c.srv.expired:
			c.h.after(h.w.delay(h.w.p.zkDelay), func() { c.die(errExpired) })
		case c.up:
			c.srv.silent++
		}
	}
	for _, do := range held {
		do()
	}
}

// disconnect breaks the connections to ZooKeeper; cut also keeps new ones away.
func (h *host) disconnect() {
	for _, c := range h.clients {
		c.lose()
	}
}
