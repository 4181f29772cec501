package zkcluster

import (
	"fmt"
	"slices"
	"strings"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// settle ends all faults and all wishes and gives the cluster time to come to
// rest. What it does not get done within that is the invariant that fails.
func (w *world) settle() {
	w.trace.note("all faults have ended")
	w.settling = true
	clear(w.cut)
	for _, h := range w.hosts {
		h.cutFromZK = false
		switch {
		case h.frozen:
			h.thaw()
		case !h.up:
			h.start()
		}
	}
	// A session has to expire, a controller to be elected, brokers to register,
	// each after a lost message or two; a dozen timeouts do for all of it.
	limit := w.now + 12*(w.p.session+w.p.requestTimeout+w.p.callTimeout)
	calm := 4 * (w.p.isrTick + w.p.requestTimeout)
	for next := w.now + calm; w.judge.violation == nil; {
		if w.now < next {
			w.step()
			continue
		}
		next = w.now + calm/4
		missing := w.missing()
		if missing == nil {
			w.judge.acknowledged()
			w.judge.context()
			return
		}
		if w.now > limit {
			w.judge.fail(missing.Invariant, 0, "%v after the end of all faults: %s", limit, missing.Detail)
		}
	}
}

func lacks(invariant, format string, a ...any) *checker.Broken {
	return &checker.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, a...)}
}

// missing is the first thing that keeps the cluster from rest:
//
//   - Z7: there is one controller, it has finished its failover, and the
//     election's znodes say so.
//   - Z8: every broker has one registration, of its session that lives.
//   - Z6: what the controller sent has been answered.
//   - Z10: no deletion is left, nor anything of a deleted topic.
//   - C9: no reassignment is left, and replicas are what was asked for last.
//   - C3, C1: every partition has a leader and its ISR is among its replicas.
//   - Z5: every broker's metadata are the znodes.
//   - Z9, C8: every broker leads and follows what the znodes say, and nothing
//     else; a leader knows the partition epoch.
//   - Configs: every broker has the configurations of the znodes.
//   - Answers: every client has its answer, or has given up waiting for it.
func (w *world) missing() *checker.Broken {
	h := w.controller()
	if h == nil {
		return lacks("Z7", "there is no controller")
	}
	c := h.candidate
	if n := w.server.tree.nodes[zk.ControllerPath]; !c.m.Active() || n == nil || n.data != c.id || c.epoch != w.epoch() {
		return lacks("Z7", "controller %d of epoch %d is not the active one", c.id, c.epoch)
	}
	for _, o := range w.hosts {
		if o != h && o.candidate != nil && o.candidate.elected {
			return lacks("Z7", "%d and %d are both controller", h.id, o.id)
		}
	}
	for _, look := range []func(*candidate) *checker.Broken{w.registrations, w.queues, w.leftovers, w.partitions, w.metadata, w.roles, w.configs, w.answers} {
		if m := look(c); m != nil {
			return m
		}
	}
	return nil
}

func (w *world) registrations(*candidate) *checker.Broken {
	for _, h := range w.hosts[1 : w.p.brokers+1] {
		n := w.server.tree.nodes[zk.BrokerPath(h.id)]
		switch {
		case !h.up || h.leaving || h.broker == nil:
			return lacks("Z8", "broker %d is still restarting", h.id)
		case n == nil:
			return lacks("Z8", "broker %d is not registered", h.id)
		case h.broker.client.srv == nil || n.owner != h.broker.client.id() || kafka.BrokerEpoch(n.czxid) != h.broker.epoch:
			return lacks("Z8", "broker %d has epoch %d, registered is %d of session %d", h.id, h.broker.epoch, n.czxid, n.owner)
		}
	}
	return nil
}

func (w *world) queues(c *candidate) *checker.Broken {
	if len(c.queue) > 0 || c.m.Waiting() {
		return lacks("Z7", "controller %d is busy", c.id)
	}
	for _, h := range w.hosts[1 : w.p.brokers+1] {
		switch s := c.senders[h.id]; {
		case s == nil:
			return lacks("Z6", "the controller has no queue to broker %d", h.id)
		case len(s.queue) > 0:
			return lacks("Z6", "%d requests to broker %d wait", len(s.queue), h.id)
		case s.track.last != s.sent:
			return lacks("Z6", "broker %d got request %d as the last, sent were %d", h.id, s.track.last, s.sent)
		}
	}
	return nil
}

func (w *world) leftovers(*candidate) *checker.Broken {
	nodes := w.server.tree.nodes
	if left := nodes[zk.DeleteTopicsPath].children; len(left) > 0 {
		return lacks("Z10", "the deletion of %s is not done", strings.Join(left, " "))
	}
	for _, name := range nodes["/config/topics"].children {
		if t := w.admin.topics[name]; nodes[zk.TopicPath(name)] == nil && (t == nil || !t.unsure) {
			return lacks("Z10", "the configuration of topic %s is left", name)
		}
	}
	if nodes[zk.ReassignPath] != nil {
		return lacks("C9", "%s is left: %v", zk.ReassignPath, nodes[zk.ReassignPath].data)
	}
	if nodes[zk.PreferredPath] != nil {
		return lacks("Z4", "%s is left", zk.PreferredPath)
	}
	return nil
}

// partitions looks at every topic's znode and states.
func (w *world) partitions(*candidate) *checker.Broken {
	nodes := w.server.tree.nodes
	for _, name := range nodes[zk.TopicsPath].children {
		d := nodes[zk.TopicPath(name)].data.(topicData)
		for p := range int32(len(d.partitions)) {
			tp, a := kafka.TopicPartition{Topic: name, Partition: p}, d.partitions[p]
			if a.Moving() {
				return lacks("C9", "the reassignment of %v is not done: %+v, state %+v", tp, a, w.state(tp))
			}
			if t := w.admin.topics[name]; t != nil && t.targets[p] != nil && !t.unsure && !slices.Equal(t.targets[p], a.Replicas) {
				return lacks("C9", "%v has replicas %v, asked for were %v", tp, a.Replicas, t.targets[p])
			}
			n := nodes[statePath(tp)]
			if n == nil {
				return lacks("Z4", "%v has no state", tp)
			}
			s := n.data.(machine.LeaderISR)
			if s.Leader < 0 {
				return lacks("C1", "%v has no leader: %+v, replicas %v", tp, s, a.Replicas)
			}
			if !w.complete(tp, d.id, s, a.Replicas) {
				return lacks("C3", "%v has ISR %v, replicas %v", tp, s.ISR, a.Replicas)
			}
		}
	}
	return nil
}

// complete reports whether all replicas are in the ISR that can be. Where the
// leader itself is occupied nobody leads, although the znode and the controller
// have it: no broker asks for an ISR, and what it lost it gets back with the next
// leader only. So in Kafka, whose controller heeds of the answers to LeaderAndIsr
// KAFKA_STORAGE_ERROR alone.
func (w *world) complete(tp kafka.TopicPartition, topic kafka.UUID, s machine.LeaderISR, replicas []kafka.BrokerID) bool {
	occupied := func(id kafka.BrokerID) bool { return w.occupied(tp, topic, id) }
	if occupied(s.Leader) {
		return !slices.ContainsFunc(s.ISR, func(id kafka.BrokerID) bool { return !slices.Contains(replicas, id) })
	}
	return sameMembers(slices.DeleteFunc(slices.Clone(s.ISR), occupied), slices.DeleteFunc(slices.Clone(replicas), occupied))
}

// replicas are those that a topic's znode has, none for another topic.
func (w *world) replicas(tp kafka.TopicPartition, id kafka.UUID) []kafka.BrokerID {
	if n := w.server.tree.nodes[zk.TopicPath(tp.Topic)]; n != nil && n.data.(topicData).id == id {
		return n.data.(topicData).partitions[tp.Partition].Replicas
	}
	return nil
}

// occupied reports whether a broker has a replica of an earlier topic of the same
// name that was reassigned away from it, where the request to delete it was lost
// with its controller. It refuses the later topic's with INCONSISTENT_TOPIC_ID,
// and nobody asks again: so in Kafka.
func (w *world) occupied(tp kafka.TopicPartition, topic kafka.UUID, id kafka.BrokerID) bool {
	r := w.hosts[id].broker.roles[tp]
	return r != nil && r.topicID != topic && w.judge.moved[replicaOf{r.topicID, tp.Partition, id}]
}

// state is a partition's state with its version.
func (w *world) state(tp kafka.TopicPartition) (s machine.LeaderISR) {
	if n := w.server.tree.nodes[statePath(tp)]; n != nil {
		s = n.data.(machine.LeaderISR)
		s.Version = kafka.PartitionEpoch(n.version)
	}
	return s
}

func sameState(a, b *machine.LeaderISR) bool {
	return a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch && a.Version == b.Version && slices.Equal(a.ISR, b.ISR)
}

// forgotten reports whether a broker may have a topic that is no more: nobody
// waits until all have heard of a deletion. The successor of a controller that
// died with its requests knows nothing of the topic, nor is a broker told that
// was not registered then and has lived on. So in Kafka.
func (w *world) forgotten(b *broker, topic kafka.UUID, c *candidate) bool {
	d, gone := w.judge.deleted[topic]
	return gone && (d.epoch < c.epoch || d.zxid < int64(b.epoch))
}

func (w *world) metadata(c *candidate) *checker.Broken {
	topics := w.server.tree.nodes[zk.TopicsPath].children
	for _, h := range w.hosts[1 : w.p.brokers+1] {
		b := h.broker
		for id := range kafka.BrokerID(w.p.brokers) {
			if !b.live[id+1] || len(b.live) != w.p.brokers {
				return lacks("Z5", "broker %d knows live brokers %v", b.id, b.live)
			}
		}
		for _, name := range sortedKeys(b.cache) {
			if w.server.tree.nodes[zk.TopicPath(name)] == nil && !w.forgotten(b, b.cache[name].id, c) {
				return lacks("Z5", "broker %d serves topics %v, ZooKeeper has %v", b.id, sortedKeys(b.cache), topics)
			}
		}
		for _, name := range topics {
			d, have := w.server.tree.nodes[zk.TopicPath(name)].data.(topicData), b.cache[name]
			if have == nil || have.id != d.id || len(have.parts) != len(d.partitions) {
				return lacks("Z5", "broker %d serves topic %s as %+v", b.id, name, have)
			}
			for p, a := range d.partitions {
				got, s := have.parts[p], w.state(kafka.TopicPartition{Topic: name, Partition: p})
				if !sameState(&got.State, &s) || !slices.Equal(got.Replicas, a.Replicas) || len(got.Offline) > 0 {
					return lacks("Z5", "broker %d serves %s-%d as %+v, ZooKeeper has %+v with replicas %v", b.id, name, p, got, s, a.Replicas)
				}
			}
		}
	}
	return nil
}

func (w *world) roles(*candidate) *checker.Broken {
	hosted := map[kafka.BrokerID]int{}
	for _, name := range w.server.tree.nodes[zk.TopicsPath].children {
		d := w.server.tree.nodes[zk.TopicPath(name)].data.(topicData)
		for p, a := range d.partitions {
			tp := kafka.TopicPartition{Topic: name, Partition: p}
			s := w.state(tp)
			for _, id := range a.Replicas {
				if w.occupied(tp, d.id, id) {
					continue
				}
				hosted[id]++
				r := w.hosts[id].broker.roles[tp]
				switch {
				case r == nil || r.stopped || r.topicID != d.id || r.state.LeaderEpoch != s.LeaderEpoch || r.state.Leader != s.Leader:
					return lacks("Z5", "broker %d has %v as %+v, ZooKeeper has %+v", id, tp, r, s)
				case id == s.Leader && !sameState(&r.state, &s):
					return lacks("Z9", "leader %d of %v has %+v, ZooKeeper has %+v", id, tp, r.state, s)
				}
			}
		}
	}
	for _, h := range w.hosts[1 : w.p.brokers+1] {
		strays := 0
		var have []kafka.TopicPartition
		for tp, r := range h.broker.roles {
			have = append(have, tp)
			// Nobody waits until a replica is deleted that was reassigned away, and
			// it stays where the request is lost with its controller, as in Kafka.
			if w.judge.moved[replicaOf{r.topicID, tp.Partition, h.id}] && !slices.Contains(w.replicas(tp, r.topicID), h.id) {
				strays++
			}
		}
		if n := len(h.broker.roles) - strays; n != hosted[h.id] {
			slices.SortFunc(have, comparePartitions)
			return lacks("C8", "broker %d has replicas %v, %d of them moved away, ZooKeeper assigns it %d", h.id, have, strays, hosted[h.id])
		}
	}
	return nil
}

func (w *world) configs(*candidate) *checker.Broken {
	for _, name := range w.server.tree.nodes["/config/topics"].children {
		entity := "topics/" + name
		now, _ := w.server.tree.nodes["/config/"+entity].data.(map[string]string)
		if want, ok := w.admin.configs[entity]; ok && !equalConfig(now, want) {
			return lacks("acknowledged", "the configuration of %s is %v, acknowledged was %v", name, now, want)
		}
		for _, h := range w.hosts[1 : w.p.brokers+1] {
			if told, ok := w.admin.notified[entity]; ok && !equalConfig(h.broker.configs[entity], told) {
				return lacks("Z5", "broker %d has configuration %v of %s, notified was %v", h.id, h.broker.configs[entity], name, told)
			}
		}
	}
	return nil
}

// answers waits for the requests of clients. The history knows an operation from
// its answer on, so that one without says nothing yet of what it has done: a
// successor may have finished the deletion of a controller that died, long
// before the client gives up on that one, and the topic would count as lost.
func (w *world) answers(*candidate) *checker.Broken {
	if w.admin.open > 0 {
		return lacks("acknowledged", "%d requests of clients have no answer", w.admin.open)
	}
	return nil
}

// acknowledged judges what clients were told against what brokers serve.
func (j *judge) acknowledged() {
	h := checker.History{Operations: j.w.admin.history}
	for _, host := range j.w.hosts[1 : j.w.p.brokers+1] {
		v := checker.View{Broker: host.id}
		for _, name := range sortedKeys(host.broker.cache) {
			t := host.broker.cache[name]
			if j.w.server.tree.nodes[zk.TopicPath(name)] == nil {
				j.w.cov.Forgotten++
				continue // metadata has judged it
			}
			out := checker.Topic{Name: name, ID: t.id}
			for n := range int32(len(t.parts)) {
				p := t.parts[n]
				out.Partitions = append(out.Partitions, checker.Partition{
					Index: n, Leader: p.State.Leader, LeaderEpoch: p.State.LeaderEpoch, Replicas: p.Replicas, ISR: p.State.ISR,
				})
			}
			v.Topics = append(v.Topics, out)
		}
		h.Views = append(h.Views, v)
	}
	if len(h.Operations) == 0 {
		return // the run was too short for any; an empty history proves nothing
	}
	for _, r := range checker.Check(h) {
		if !r.OK() && !(r.Name == "acknowledged" && strings.HasSuffix(r.Faults[0], "holds no acknowledged operation")) {
			j.fail(r.Name, 0, "%s", r.Faults[0])
		}
	}
}

// context is Z4: what the controller would tell a broker that it had to tell
// everything, and the reassignments that it knows, are the znodes.
func (j *judge) context() {
	w := j.w
	c := w.controller().candidate
	to := w.hosts[1].id
	var told []machine.MetadataPartition
	live := 0
	for _, e := range c.m.Step(machine.Resync{Broker: to}) {
		if u, ok := e.(*machine.UpdateMetadata); ok {
			told = append(told, u.Partitions...)
			live = len(u.Live)
		}
	}
	count := 0
	for _, name := range w.server.tree.nodes[zk.TopicsPath].children {
		count += len(w.server.tree.nodes[zk.TopicPath(name)].data.(topicData).partitions)
	}
	if len(told) != count || c.m.Partitions() != count || live != w.p.brokers {
		j.fail("Z4", c.id, "the controller knows %d partitions and %d brokers, ZooKeeper has %d and %d", len(told), live, count, w.p.brokers)
		return
	}
	for i := range told {
		p := &told[i]
		tp := kafka.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		d, _ := w.server.tree.nodes[zk.TopicPath(p.Topic)].data.(topicData)
		if s := w.state(tp); !sameState(&p.State, &s) || p.TopicID != d.id || !slices.Equal(p.Replicas, d.partitions[p.Partition].Replicas) {
			j.fail("Z4", c.id, "the controller has %v as %+v, ZooKeeper as %+v with replicas %v", tp, p, s, d.partitions[p.Partition].Replicas)
		}
	}
	for _, e := range c.m.Step(machine.ListReassignments{Call: -1, All: true}) {
		if r, ok := e.(*machine.Reply); ok && len(r.Body.(machine.ListReassignmentsReply).Partitions) > 0 {
			j.fail("Z4", c.id, "the controller knows of reassignments %v, ZooKeeper of none", r.Body)
		}
	}
}
