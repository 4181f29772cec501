package zkcluster

import "iter"

// proc is a thread of a simulated process: straight-line code that parks while
// it waits and is resumed by the scheduler.
type proc struct {
	w      *world
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	parked bool
	queued bool // among those to be resumed
	dead   bool
}

// spawn makes a thread; it begins when the scheduler comes to it.
func (w *world) spawn(body func(p *proc)) *proc {
	p := &proc{w: w, parked: true}
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		body(p)
		p.dead = true
	})
	p.wake()
	return p
}

// park waits for wake; false says that the process has died, so that the caller
// must return.
func (p *proc) park() bool {
	if p.dead {
		return false
	}
	p.parked = true
	if !p.yield(struct{}{}) {
		p.dead = true
	}
	return !p.dead
}

// wake lets p go on once the event of the moment is over.
func (p *proc) wake() {
	if p.parked && !p.queued && !p.dead {
		p.queued = true
		p.w.ready = append(p.w.ready, p)
	}
}

// kill ends p: its park returns false, and so does every later one.
func (p *proc) kill() {
	if p.dead {
		return
	}
	p.dead = true
	p.stop()
}

// resume runs those that were woken, and those that they wake.
func (w *world) resume() {
	for i := 0; i < len(w.ready); i++ {
		p := w.ready[i]
		p.queued = false
		if !p.dead {
			p.parked = false
			p.next()
		}
	}
	w.ready = w.ready[:0]
}
