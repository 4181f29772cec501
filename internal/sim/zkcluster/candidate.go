package zkcluster

import (
	"math/rand/v2"
	"time"

	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

type inputKind uint8

const (
	machineInput inputKind = iota
	controllerChanged
	controllerDeleted
	sessionExpired
)

// input is one element of a candidate's queue.
type input struct {
	kind inputKind
	in   machine.Input
}

// candidate is the event thread of one controller candidate: zkcontroller's
// Controller around a real machine.
type candidate struct {
	w        *world
	h        *host
	id       kafka.BrokerID
	p        *proc
	m        *machine.Machine
	client   *client
	queue    []input
	elected  bool
	epoch    kafka.ControllerEpoch
	version  int32 // of /controller_epoch: the fence
	failures int
	senders  map[kafka.BrokerID]*sender
	lastCall machine.CallID
	calls    map[machine.CallID]func(body any)
	balance  time.Duration // when leaders are moved back next; 0: never
}

func newCandidate(h *host) *candidate {
	c := &candidate{w: h.w, h: h, id: h.id, senders: map[kafka.BrokerID]*sender{}, calls: map[machine.CallID]func(any){}}
	h.w.machines++
	cfg := machine.Config{
		ID: h.id, Dedicated: h.w.dedicated, Protocol: h.w.p.protocol, PerPartition: h.w.p.perPartition, OneByOne: h.w.p.perPartition, HeldStates: h.w.p.heldStates,
		Rand: rand.New(rand.NewPCG(h.w.opt.Seed, uint64(h.w.machines)<<8|uint64(h.id))),
	}
	c.m = machine.New(cfg)
	return c
}

// run is the life of the thread: one session after another.
func (c *candidate) run(p *proc) {
	c.p = p
	previous := int64(0)
	for !p.dead {
		c.client = c.w.connect(c.h, "controller", p, previous, c.onEvent)
		for !c.client.up && c.client.err == nil && p.park() {
		}
		if p.dead {
			return
		}
		previous = c.client.id()
		c.serve()
	}
}

func (c *candidate) serve() {
	c.client.nodes[zk.ControllerPath] = true
	c.elect()
	for !c.p.dead {
		e, ok := c.take()
		switch {
		case ok && e.kind == sessionExpired:
			c.step(machine.Resign{})
			return
		case ok:
			c.handle(e)
		case !c.p.dead:
			c.balance = c.w.now + c.w.p.rebalance
			c.step(machine.Rebalance{})
		}
	}
}

// take waits for the next event; false when leaders are to be moved back.
func (c *candidate) take() (input, bool) {
	for len(c.queue) == 0 {
		if c.elected && c.balance > 0 && c.w.now >= c.balance {
			return input{}, false
		}
		if !c.p.park() {
			return input{}, false
		}
	}
	e := c.queue[0]
	c.queue = c.queue[1:]
	return e, true
}

func (c *candidate) put(e input) {
	c.queue = append(c.queue, e)
	c.p.wake()
}

func (c *candidate) post(in machine.Input) { c.put(input{in: in}) }

func (c *candidate) handle(e input) {
	switch e.kind {
	case machineInput:
		c.step(e.in)
	case controllerDeleted, controllerChanged:
		c.elect()
	}
}

// onEvent queues what the session saw.
func (c *candidate) onEvent(e watchEvent) {
	switch {
	case e.kind == sessionOver:
		dropped := c.queue
		c.queue = nil
		c.put(input{kind: sessionExpired})
		for _, d := range dropped {
			c.preempt(d)
		}
	case e.kind == reconnected:
	case e.path == zk.ControllerPath && e.kind == nodeDeleted:
		c.put(input{kind: controllerDeleted})
	case e.path == zk.ControllerPath:
		c.put(input{kind: controllerChanged})
	case e.kind == nodeDeleted:
	default:
		if in := inputOf(e); in != nil {
			c.post(in)
		}
	}
}

// preempt refuses what was dropped from the queue.
func (c *candidate) preempt(e input) {
	if e.in == nil {
		return
	}
	if id, refusal := machine.Refusal(e.in); refusal != nil {
		c.answer(id, refusal)
	}
}

func inputOf(e watchEvent) machine.Input {
	switch e.path {
	case zk.BrokerIDsPath:
		return machine.BrokerChange{}
	case zk.TopicsPath:
		return machine.TopicChange{}
	case zk.DeleteTopicsPath:
		return machine.TopicDeletion{}
	case zk.PreferredPath:
		return machine.PreferredElection{}
	case zk.ReassignPath:
		if e.kind == nodeCreated {
			return machine.ZnodeReassignment{}
		}
		return nil
	case zk.ISRChangesPath:
		return machine.ISRNotified{}
	case zk.LogDirEventsPath:
		return machine.LogDirNotified{}
	case zk.ConfigChangesPath:
		return machine.ConfigChanged{}
	}
	if tp, ok := zk.PartitionOfPath(e.path); ok {
		return machine.ReassignISRChanged{Partition: tp}
	}
	if id, ok := zk.BrokerOfPath(e.path); ok {
		return machine.BrokerModified{Broker: id}
	}
	if topic, ok := zk.TopicOfPath(e.path); ok {
		return machine.TopicModified{Topic: topic}
	}
	return nil
}

func (c *candidate) resign() {
	if c.elected {
		c.step(machine.Resign{})
	}
}

// step gives the machine one input and goes on until it waits for nothing.
func (c *candidate) step(in machine.Input) {
	c.w.judge.input(c, in)
	c.w.trace.note("%d handles %T%+v", c.id, in, in)
	effects := c.m.Step(in)
	for {
		c.apply(effects)
		if !c.m.Waiting() {
			return
		}
		b := effects[len(effects)-1].(machine.Batch)
		err := c.runBatch(b)
		c.w.judge.batch(c, b, err)
		effects = c.m.Step(machine.Done{Err: err})
	}
}

func (c *candidate) apply(effects []machine.Effect) {
	if c.p.dead {
		return
	}
	for _, e := range effects {
		switch e := e.(type) {
		case *machine.LeaderAndISR:
			c.send(e.Broker, e)
		case *machine.UpdateMetadata:
			c.send(e.Broker, e)
		case *machine.StopReplica:
			c.send(e.Broker, e)
		case *machine.AddBroker:
			c.addSender(e.Broker)
		case *machine.RemoveBroker:
			c.removeSender(e.Broker)
		case *machine.Reply:
			c.reply(e)
		case *machine.Moment:
			if e.Kind == machine.Resigned {
				c.elected, c.balance = false, 0
				c.client.unwatchAll(zk.ControllerPath)
			}
			if e.Kind == machine.Active {
				c.w.cov.Failovers++
			}
			c.w.trace.note("%d: %s %d of epoch %d", c.id, momentNames[e.Kind], e.Broker, e.Epoch)
		case *machine.GiveUp:
			c.giveUp(e)
		case *machine.Queue:
			c.post(e.Event)
		case *machine.Note:
			c.w.trace.note("%d: %s", c.id, e.Text)
		}
	}
}

var momentNames = [...]string{"", "loaded", "active", "resigned", "broker dead", "broker live", "shutdown granted"}

// giveUp follows a resignation that the machine came to by itself.
func (c *candidate) giveUp(*machine.GiveUp) {
	c.failures++
	c.w.cov.GiveUps++
	if c.client.err != nil || c.p.dead {
		return
	}
	r := c.client.do(c.p, remove(zk.ControllerPath).fenced(c.version))
	if r.err != nil && r.err != errNoNode && c.client.err == nil {
		c.put(input{kind: controllerChanged})
	}
}

// end forgets the candidate with its process.
func (c *candidate) end() {
	if c.m.Waiting() {
		c.m.Step(machine.Resign{}) // ends the machine's own coroutine
	}
	for id := range c.senders {
		c.senders[id].gone = true
	}
}

// call takes a request; answered gets the body of its final reply.
func (c *candidate) call(build func(id machine.CallID) machine.Input, answered func(body any)) machine.CallID {
	c.lastCall++
	c.calls[c.lastCall] = answered
	c.post(build(c.lastCall))
	return c.lastCall
}

func (c *candidate) answer(id machine.CallID, body any) {
	if answered := c.calls[id]; answered != nil {
		delete(c.calls, id)
		answered(body)
	}
}

func (c *candidate) reply(e *machine.Reply) {
	if !e.Final {
		return
	}
	c.w.judge.replied(c, e)
	deliver := func() { c.answer(e.Call, e.Body) }
	if s := c.senders[c.id]; e.AfterMetadata && s != nil {
		s.put(request{mark: deliver})
		return
	}
	deliver()
}
