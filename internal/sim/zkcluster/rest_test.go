package zkcluster

import (
	"maps"
	"slices"
	"testing"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/zkcontroller/machine"
)

// restful runs a world for a while and lets it come to rest.
func restful(t *testing.T) *world {
	t.Helper()
	w := newWorld(Options{Seed: 1})
	t.Cleanup(w.end)
	for range 500 {
		w.step()
	}
	w.settle()
	if w.judge.violation != nil || w.missing() != nil {
		t.Fatalf("not at rest: %v, %v", w.judge.violation, w.missing())
	}
	return w
}

// TestRestWaitsForAnswers asks for a deletion whose answer never comes: what the
// cluster holds may not be judged before the client has given up, for until then
// the history does not know of the deletion.
func TestRestWaitsForAnswers(t *testing.T) {
	w := restful(t)
	made := &topic{name: "made", there: true}
	w.admin.topics[made.name] = made
	w.admin.record(checker.Operation{Kind: checker.CreateTopic, Topic: made.name, Partitions: 1, Outcome: checker.Acknowledged})
	to := w.controller()
	w.cut[[2]kafka.BrokerID{0, to.id}] = true
	w.admin.delete(to, made)
	asked := w.now
	for w.now < asked+w.p.callTimeout {
		if m := w.missing(); m == nil || m.Invariant != "acknowledged" {
			t.Fatalf("%v after the deletion was asked for, without an answer: missing is %v", w.now-asked, m)
		}
		w.step()
	}
	if m := w.missing(); m != nil {
		t.Fatalf("after the client has given up: %v", m)
	}
	if w.judge.acknowledged(); w.judge.violation != nil {
		t.Fatalf("the topic counts as lost: %v", w.judge.violation)
	}
}

// TestRestWithReplicaOfEarlierTopic lets a follower have a replica of an earlier
// topic instead of its own, for which the leader cannot take it into the ISR:
// that may be only where a reassignment had moved the earlier one away.
func TestRestWithReplicaOfEarlierTopic(t *testing.T) {
	w := restful(t)
	tp, id := follower(t, w)
	earlier := kafka.UUID{1}
	w.hosts[id].broker.roles[tp] = &role{topicID: earlier}
	n := w.server.tree.nodes[statePath(tp)]
	s := n.data.(machine.LeaderISR)
	s.ISR = slices.DeleteFunc(slices.Clone(s.ISR), func(r kafka.BrokerID) bool { return r == id })
	n.data = s
	w.hosts[s.Leader].broker.roles[tp].state.ISR = s.ISR
	for _, look := range []func(*candidate) *checker.Broken{w.partitions, w.roles} {
		if look(nil) == nil {
			t.Error("a replica is not what it should be, and nothing is missing")
		}
	}
	w.judge.moved[replicaOf{earlier, tp.Partition, id}] = true
	for _, look := range []func(*candidate) *checker.Broken{w.partitions, w.roles} {
		if m := look(nil); m != nil {
			t.Errorf("with a replica that was moved away: %v", m)
		}
	}
}

// TestRestWithLeaderOfEarlierTopic lets the broker that should lead have a replica
// of an earlier topic instead, so that nobody asks for a follower to come back
// into the ISR.
func TestRestWithLeaderOfEarlierTopic(t *testing.T) {
	w := restful(t)
	tp, id := follower(t, w)
	earlier := kafka.UUID{1}
	n := w.server.tree.nodes[statePath(tp)]
	s := n.data.(machine.LeaderISR)
	leader := s.Leader
	s.ISR = slices.DeleteFunc(slices.Clone(s.ISR), func(r kafka.BrokerID) bool { return r == id })
	n.data = s
	w.hosts[leader].broker.roles[tp] = &role{topicID: earlier}
	for _, look := range []func(*candidate) *checker.Broken{w.partitions, w.roles} {
		if look(nil) == nil {
			t.Error("a leader is not what it should be, and nothing is missing")
		}
	}
	w.judge.moved[replicaOf{earlier, tp.Partition, leader}] = true
	for _, look := range []func(*candidate) *checker.Broken{w.partitions, w.roles} {
		if m := look(nil); m != nil {
			t.Errorf("with a leader's replica that was moved away: %v", m)
		}
	}
	s.ISR = append(s.ISR, kafka.BrokerID(w.p.brokers+1))
	n.data = s
	if w.partitions(nil) == nil {
		t.Error("a broker without a replica is in the ISR, and nothing is missing")
	}
}

// follower is a replica that does not lead.
func follower(t *testing.T, w *world) (kafka.TopicPartition, kafka.BrokerID) {
	t.Helper()
	for _, h := range w.hosts[1 : w.p.brokers+1] {
		for _, tp := range slices.SortedFunc(maps.Keys(h.broker.roles), comparePartitions) {
			if h.broker.roles[tp].state.Leader != h.id {
				return tp, h.id
			}
		}
	}
	t.Fatal("no partition has a follower")
	return kafka.TopicPartition{}, 0
}
