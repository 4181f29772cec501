package zkcluster

import (
	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// run is the life of a broker: it registers in one session after another and
// follows the changes of configurations.
func (b *broker) run(p *proc) {
	b.p = p
	b.h.after(b.w.p.isrTick, b.tick)
	previous := int64(0)
	for !p.dead {
		b.client = b.w.connect(b.h, "broker", p, previous, b.onEvent)
		for !b.client.up && b.client.err == nil && p.park() {
		}
		if p.dead {
			return
		}
		previous, b.client.previous = b.client.id(), previous
		if b.register() {
			b.follow()
		}
	}
}

func (b *broker) onEvent(e watchEvent) {
	b.news = true
	b.p.wake()
}

// register creates the broker's znode: one of its own session is its own work,
// one of its last session is replaced, one of another it waits for.
func (b *broker) register() bool {
	path := zk.BrokerPath(b.id)
	reg := machine.Broker{ID: b.id, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: uint16(b.id)}}}
	for b.client.err == nil && !b.p.dead {
		o := create(path, reg)
		o.ephemeral = true
		r := b.client.do(b.p, o)
		if r.err == nil {
			return b.registered(r.czxid)
		}
		if r.err != errNodeExists {
			return false
		}
		switch r = b.client.do(b.p, get(path)); {
		case r.err == errNoNode:
		case r.err != nil:
			return false
		case r.owner == b.client.id():
			b.w.cov.LostRegistrations++
			return b.registered(r.czxid)
		case r.owner == b.client.previous:
			b.client.do(b.p, remove(path))
		default:
			b.w.cov.RegistrationWaits++
			b.client.nodes[path] = true
			for b.client.err == nil && b.client.do(b.p, exists(path)).exists && b.p.park() {
			}
			delete(b.client.nodes, path)
		}
	}
	return false
}

func (b *broker) registered(czxid int64) bool {
	b.epoch = kafka.BrokerEpoch(czxid)
	b.w.trace.note("broker %d is registered with epoch %d", b.id, b.epoch)
	return true
}

// follow reads the changes of configurations until the session is over.
func (b *broker) follow() {
	b.client.lists[zk.ConfigChangesPath] = true
	for b.news = true; b.client.err == nil && !b.p.dead; {
		if !b.news {
			b.p.park()
			continue
		}
		b.news = false
		b.catchUp()
	}
}

func (b *broker) catchUp() {
	r := b.client.do(b.p, children(zk.ConfigChangesPath))
	if r.err != nil {
		return
	}
	for _, name := range r.children {
		n := sequenceOf(name)
		if n <= b.seen {
			continue
		}
		change := b.client.do(b.p, get(zk.ConfigChangesPath+"/"+name))
		entity, ok := change.data.(string)
		if !ok && change.err != errNoNode {
			return
		}
		config := b.client.do(b.p, get(zk.ConfigPath+"/"+entity))
		if config.err != nil && config.err != errNoNode {
			return
		}
		b.configs[entity], _ = config.data.(map[string]string)
		b.seen = n
	}
}

// leave is a controlled shutdown: the broker asks a few times, then stops.
func (b *broker) leave(tries int) {
	h := b.h
	ask := h.w.hosts[max(b.controller, 0)]
	h.w.rpc(h, ask, h.w.p.callTimeout, func(call machine.CallID) machine.Input {
		return machine.ControlledShutdown{Call: call, Broker: b.id, Epoch: b.epoch}
	}, func(body any, ok bool) {
		reply, _ := body.(machine.ControlledShutdownReply)
		granted := ok && reply.Code == kafka.None && len(reply.Remaining) == 0
		switch {
		case granted:
			h.w.cov.ShutdownsGranted++
			h.exit()
		case tries > 1:
			h.after(h.w.p.retry*4, func() { b.leave(tries - 1) })
		default:
			h.exit()
		}
	})
}
