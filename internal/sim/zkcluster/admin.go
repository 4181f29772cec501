package zkcluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// admin is the clients and tools that want something of the cluster. They work
// on one thing at a time for each topic, and never touch a topic again of which
// they do not know what became.
type admin struct {
	w       *world
	h       *host
	client  *client
	topics  map[string]*topic
	made    int
	open    int // requests that change topics and have no answer yet
	history []checker.Operation
	configs map[string]map[string]string // acknowledged, by entity
	// notified are those of them that brokers are told of: by a change, not by
	// the creation of their topic.
	notified map[string]map[string]string
	value    int
}

// topic is what its clients know of one.
type topic struct {
	name       string
	id         kafka.UUID
	there      bool
	busy       bool // somebody waits for an answer
	unsure     bool // an answer was lost
	unclean    bool // may get an unclean leader
	partitions int32
	replicas   int
	targets    map[int32][]kafka.BrokerID // of reassignments acknowledged
}

// maxTopics bounds the topics of a run at one time.
const maxTopics = 6

func newAdmin(w *world) *admin {
	a := &admin{w: w, h: w.hosts[0], topics: map[string]*topic{}, configs: map[string]map[string]string{}, notified: map[string]map[string]string{}}
	a.client = w.connect(a.h, "tool", nil, 0, func(watchEvent) {})
	w.after(w.p.session/2, a.act)
	return a
}

// act wants something, and sets when the next thing is wanted.
func (a *admin) act() {
	w := a.w
	if w.settling {
		return
	}
	w.after(time.Duration(w.rng.Int64N(int64(2*w.p.admin)))+1, a.act)
	to := w.controller()
	t := a.pick()
	kind := w.rng.IntN(20)
	if t == nil && kind > 1 && kind != 19 {
		kind = 0
	}
	switch {
	case kind == 15 || kind == 16:
		a.configure(t)
	case kind == 17:
		a.byZnode(t)
	case to == nil:
	case kind <= 4:
		a.create(to)
	case kind <= 6:
		a.delete(to, t)
	case kind <= 8:
		a.expand(to, t)
	case kind <= 11:
		a.reassign(to, t)
	case kind == 12:
		a.cancel(to, t)
	case kind <= 14:
		a.elect(to, t)
	case kind == 18:
		to.deliver(func() {
			if to.candidate != nil {
				to.candidate.post(machine.Rebalance{})
			}
		})
	default:
		a.producerIDs(to)
	}
}

// pick is a topic that is there and that nobody works on; nil if none is.
func (a *admin) pick() *topic {
	var list []*topic
	for _, name := range sortedKeys(a.topics) {
		if t := a.topics[name]; t.there && !t.busy && !t.unsure {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[a.w.rng.IntN(len(list))]
}

// ask sends a request about t and lets done see the answer; code is what it
// says of t, of the whole where that failed. An answer that may hide a change is
// an unknown outcome.
func (a *admin) ask(to *host, t *topic, build func(machine.CallID) machine.Input, codeOf func(body any) kafka.ErrorCode, done func(outcome checker.Outcome, body any)) {
	t.busy = true
	a.open++
	delete(a.notified, "topics/"+t.name) // it may be deleted, or made anew
	a.w.rpc(a.h, to, a.w.p.callTimeout, build, func(body any, ok bool) {
		t.busy = false
		a.open--
		if _, refused := body.(atDoor); refused {
			return
		}
		code := kafka.RequestTimedOut
		if ok {
			code = codeOf(body)
		}
		a.w.trace.note("answer about %s: %v", t.name, code)
		switch code {
		case kafka.None:
			done(checker.Acknowledged, body)
		case kafka.RequestTimedOut, kafka.NotController, kafka.UnknownServerError:
			done(checker.Unknown, body)
		}
	})
}

func topicsCode(body any) kafka.ErrorCode {
	r := body.(machine.TopicsReply)
	if r.Code != kafka.None || len(r.Topics) == 0 {
		return r.Code
	}
	return r.Topics[0].Code
}

func (a *admin) record(op checker.Operation) {
	op.AtNs = int64(a.w.now)
	a.history = append(a.history, op)
}

func (a *admin) create(to *host) {
	var t *topic
	there := 0
	for _, name := range sortedKeys(a.topics) {
		o := a.topics[name]
		switch {
		case o.busy || o.there || o.unsure:
			there++
		case a.w.rng.IntN(2) == 0:
			t = o
		}
	}
	if there >= maxTopics {
		return
	}
	if t == nil {
		a.made++
		t = &topic{name: fmt.Sprintf("t%d", a.made)}
		a.topics[t.name] = t
	}
	t.partitions, t.replicas = int32(1+a.w.rng.IntN(3)), min(a.w.p.brokers, 1+a.w.rng.IntN(4))
	t.targets = map[int32][]kafka.BrokerID{}
	again := !t.id.IsZero()
	config := map[string]string{}
	if a.w.rng.IntN(4) == 0 {
		t.unclean = true
		config["unclean.leader.election.enable"] = "true"
	}
	entity := "topics/" + t.name
	a.ask(to, t, func(id machine.CallID) machine.Input {
		return machine.AdminCreateTopics{Call: id, Topics: []machine.NewTopic{{
			Name: t.name, Partitions: t.partitions, Replication: int16(t.replicas), Config: config,
		}}}
	}, topicsCode, func(o checker.Outcome, body any) {
		op := checker.Operation{Kind: checker.CreateTopic, Topic: t.name, Partitions: t.partitions, Outcome: o}
		if t.unsure = o == checker.Unknown; !t.unsure {
			op.ID = body.(machine.TopicsReply).Topics[0].ID
			t.there, t.id = true, op.ID
			a.configs[entity] = config
			a.w.cov.Created++
			if again {
				a.w.cov.Recreated++
			}
		}
		a.record(op)
	})
}

func (a *admin) delete(to *host, t *topic) {
	a.ask(to, t, func(id machine.CallID) machine.Input {
		return machine.AdminDeleteTopics{Call: id, Topics: []machine.TopicRef{{Name: t.name}}}
	}, topicsCode, func(o checker.Outcome, _ any) {
		t.unsure = o == checker.Unknown
		if !t.unsure {
			t.there = false
			delete(a.configs, "topics/"+t.name)
			a.w.cov.Deleted++
		}
		a.record(checker.Operation{Kind: checker.DeleteTopic, Topic: t.name, Outcome: o})
	})
}

func (a *admin) expand(to *host, t *topic) {
	count := t.partitions + 1
	if count > 4 {
		return
	}
	a.ask(to, t, func(id machine.CallID) machine.Input {
		return machine.AdminCreatePartitions{Call: id, Topics: []machine.MorePartitions{{Name: t.name, Count: count}}}
	}, topicsCode, func(o checker.Outcome, _ any) {
		t.unsure = o == checker.Unknown
		if !t.unsure {
			t.partitions = count
			a.w.cov.Expanded++
		}
		a.record(checker.Operation{Kind: checker.CreatePartitions, Topic: t.name, Partitions: count, Outcome: o})
	})
}

// target draws replicas.
func (a *admin) target(n int) []kafka.BrokerID {
	ids := make([]kafka.BrokerID, 0, a.w.p.brokers)
	for _, i := range a.w.rng.Perm(a.w.p.brokers) {
		ids = append(ids, kafka.BrokerID(i+1))
	}
	return ids[:min(n, len(ids))]
}

func reassignCode(body any) kafka.ErrorCode {
	r := body.(machine.AlterReassignmentsReply)
	if r.Code != kafka.None || len(r.Results) == 0 {
		return r.Code
	}
	return r.Results[0].Code
}

func (a *admin) reassign(to *host, t *topic) {
	p, target := a.w.rng.Int32N(t.partitions), a.target(max(1, t.replicas-1+a.w.rng.IntN(3)))
	a.alter(to, t, machine.Reassign{Partition: kafka.TopicPartition{Topic: t.name, Partition: p}, Replicas: target}, func() {
		t.targets[p] = target
		a.w.cov.Reassigned++
	})
}

func (a *admin) cancel(to *host, t *topic) {
	p := a.w.rng.Int32N(t.partitions)
	a.alter(to, t, machine.Reassign{Partition: kafka.TopicPartition{Topic: t.name, Partition: p}, Cancel: true}, func() {
		delete(t.targets, p)
		a.w.cov.Cancelled++
	})
}

func (a *admin) alter(to *host, t *topic, r machine.Reassign, acked func()) {
	a.ask(to, t, func(id machine.CallID) machine.Input {
		return machine.AlterReassignments{Call: id, Changes: []machine.Reassign{r}}
	}, reassignCode, func(o checker.Outcome, _ any) {
		if o == checker.Unknown {
			delete(t.targets, r.Partition.Partition)
			// Not asked again: the lost request may still be carried out.
			t.busy = true
			a.h.after(a.w.p.session*6, func() { t.busy = false })
			return
		}
		acked()
	})
}

func (a *admin) elect(to *host, t *topic) {
	unclean := a.w.rng.IntN(6) == 0
	t.unclean = t.unclean || unclean
	a.ask(to, t, func(id machine.CallID) machine.Input {
		e := machine.ElectLeaders{Call: id, Unclean: unclean}
		for p := range t.partitions {
			e.Partitions = append(e.Partitions, kafka.TopicPartition{Topic: t.name, Partition: p})
		}
		return e
	}, func(body any) kafka.ErrorCode { return body.(machine.ElectLeadersReply).Code }, func(checker.Outcome, any) { a.w.cov.Elected++ })
}

func (a *admin) producerIDs(to *host) {
	b := a.w.hosts[1+a.w.rng.IntN(a.w.p.brokers)]
	if b.broker == nil || b.frozen {
		return
	}
	epoch := b.broker.epoch
	a.w.rpc(b, to, a.w.p.callTimeout, func(id machine.CallID) machine.Input {
		return machine.AllocateProducerIDs{Call: id, Broker: b.id, Epoch: epoch}
	}, func(body any, _ bool) {
		if r, ok := body.(machine.AllocateProducerIDsReply); ok && r.Code == kafka.None {
			a.w.cov.ProducerIDBlocks++
			a.w.judge.gaveIDs(b.id, r.First, r.Count)
		}
	})
}

// configure writes a configuration and its notification, as any broker does.
func (a *admin) configure(t *topic) {
	t.busy = true
	a.value++
	config := map[string]string{"retention.ms": fmt.Sprint(a.value)}
	if a.w.rng.IntN(4) == 0 {
		t.unclean = true
		config["unclean.leader.election.enable"] = "true"
	}
	entity := "topics/" + t.name
	a.h.spawn(func(p *proc) {
		r := a.client.do(p, set(zk.ConfigPath+"/"+entity, config, anyVersion))
		if r.err == errNoNode {
			r = a.client.do(p, create(zk.ConfigPath+"/"+entity, config))
		}
		if r.err == nil {
			o := create(zk.ConfigChangesPath+"/config_change_", entity)
			o.sequential = true
			r = a.client.do(p, o)
		}
		if t.busy = false; r.err == nil {
			a.w.cov.Configured++
			a.configs[entity], a.notified[entity] = config, config
		}
	})
}

// byZnode asks for a reassignment or preferred elections in the old way.
func (a *admin) byZnode(t *topic) {
	tp := kafka.TopicPartition{Topic: t.name, Partition: a.w.rng.Int32N(t.partitions)}
	o := create(zk.PreferredPath, []kafka.TopicPartition{tp})
	if a.w.rng.IntN(2) == 0 {
		delete(t.targets, tp.Partition)
		o = create(zk.ReassignPath, []machine.ReassignTarget{{Partition: tp, Replicas: a.target(t.replicas)}})
		t.busy = true // its outcome is not told
		a.h.after(a.w.p.session*6, func() { t.busy = false })
	}
	a.h.spawn(func(p *proc) { a.client.do(p, o) })
}

// mayBeUnclean reports whether a topic has ever been allowed unclean leaders.
func (a *admin) mayBeUnclean(name string) bool {
	t := a.topics[name]
	return t != nil && t.unclean
}

// equalConfig compares configurations; none and an empty one are the same.
func equalConfig(a, b map[string]string) bool { return maps.Equal(a, b) }

func sameMembers(a, b []kafka.BrokerID) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id kafka.BrokerID) bool { return !slices.Contains(b, id) })
}
