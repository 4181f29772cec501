package zkcluster

import (
	"math/rand/v2"
	"time"

	"kbench/internal/sim/seeded"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// world is one run.
type world struct {
	opt       Options
	rng       *rand.Rand
	p         profile
	now       time.Duration
	queue     seeded.Queue[func()]
	ready     []*proc
	server    *server
	hosts     []*host // by id; 0 is the administrator's
	dedicated []kafka.BrokerID
	cut       map[[2]kafka.BrokerID]bool // between which hosts nothing passes
	settling  bool
	machines  int // made so far
	admin     *admin
	judge     *judge
	trace     trace
	cov       Coverage
}

// Run simulates the cluster of a seed until an invariant breaks or the events
// are used up; then it ends all faults and sees whether the cluster comes to
// rest as it should.
func Run(opt Options) Result {
	if opt.Events == 0 {
		opt.Events = 3000
	}
	w := newWorld(opt)
	for w.cov.Events < int64(opt.Events) && w.judge.violation == nil {
		w.step()
	}
	if w.judge.violation == nil {
		w.settle()
	}
	w.end()
	w.cov.Seeds = 1
	return Result{Violation: w.judge.violation, Trace: uint64(w.trace.Hash), Coverage: w.cov}
}

// end stops all processes.
func (w *world) end() {
	for _, h := range w.hosts {
		if h.up {
			h.up = false
			h.end()
		}
	}
}

func newWorld(opt Options) *world {
	w := &world{
		opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x7a6b636c7573)), cut: map[[2]kafka.BrokerID]bool{},
		trace: trace{Hash: seeded.NewHash, log: opt.Log},
	}
	w.trace.now = &w.now
	w.p = newProfile(w.rng)
	w.judge = newJudge(w)
	w.server = newServer(w)
	n := w.p.brokers
	if w.p.dedicated {
		n += candidates
	}
	for id := range kafka.BrokerID(n + 1) {
		h := &host{w: w, id: id}
		w.hosts = append(w.hosts, h)
		switch {
		case id == 0:
			h.up = true
		default:
			if !h.hasBroker() {
				w.dedicated = append(w.dedicated, id)
			}
			w.after(w.delay(10*time.Millisecond), h.start)
		}
	}
	w.admin = newAdmin(w)
	w.after(w.p.fault*2, w.fault)
	return w
}

// after makes do happen d from now.
func (w *world) after(d time.Duration, do func()) { w.at(w.now+d, do) }

func (w *world) at(t time.Duration, do func()) {
	w.queue.Push(t, do)
}

// step lets the next thing happen.
func (w *world) step() {
	e := w.queue.Pop()
	w.cov.Events++
	w.now = max(w.now, e.At)
	w.trace.Add(uint64(w.now), e.Seq)
	e.What()
	w.resume()
	w.judge.afterEvent()
}

// delay draws a time around a mean; one in twenty is four times as long.
func (w *world) delay(mean time.Duration) time.Duration {
	d := mean/4 + time.Duration(w.rng.Int64N(int64(mean*3/2)))
	if w.rng.IntN(20) == 0 {
		d = 2*mean + time.Duration(w.rng.Int64N(int64(mean*2)))
	}
	return d
}

func (w *world) lost() bool {
	return !w.settling && w.p.loss > 0 && w.rng.Float64() < w.p.loss
}

func (w *world) severed(a, b *host) bool {
	return a != b && w.cut[[2]kafka.BrokerID{min(a.id, b.id), max(a.id, b.id)}]
}

// atDoor is the answer of a candidate that is not controller and has not taken
// the request up.
type atDoor struct{ refusal any }

// rpc sends a request to a candidate; done gets the answer once, or false when
// none comes in time.
func (w *world) rpc(from, to *host, timeout time.Duration, build func(machine.CallID) machine.Input, done func(body any, ok bool)) {
	over, life := false, from.boot
	finish := func(body any, ok bool) {
		if !over && from.boot == life {
			over = true
			done(body, ok)
		}
	}
	var abandon func()
	from.after(timeout, func() {
		if abandon != nil && !over {
			abandon()
		}
		finish(nil, false)
	})
	if w.severed(from, to) || w.lost() {
		return
	}
	boot := to.boot
	w.after(w.delay(w.p.netDelay), func() {
		if to.boot != boot {
			return
		}
		to.deliver(func() {
			c := to.candidate
			if c == nil {
				finish(nil, false)
				return
			}
			answered := func(body any) {
				if !w.severed(from, to) && !w.lost() {
					from.after(w.delay(w.p.netDelay), func() { finish(body, true) })
				}
			}
			if !c.elected {
				_, refusal := machine.Refusal(build(0))
				answered(atDoor{refusal})
				return
			}
			id := c.call(build, answered)
			abandon = func() {
				if to.boot == boot && to.up && to.candidate != nil {
					to.candidate.post(machine.Abandon{Call: id})
				}
			}
		})
	})
}
