package broker

import (
	"slices"
	"testing"
	"time"

	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/kafka/metadata"
	"kbench/zkcontroller/zk"
)

// With an inter-broker protocol before 2.7 the leader writes its ISR itself, on
// the version that it knows, tells the controller by a notification, and takes
// over what another wrote so as not to fail for ever (KAFKA-2729).
func TestLeadersWriteISRsBeforeKIP497(t *testing.T) {
	r := newZKRig(t, 0)
	var err error
	if r.protocol, err = ibp.Parse("2.6"); err != nil {
		t.Fatal(err)
	}
	for id := kafka.BrokerID(1); id <= 2; id++ {
		r.start(id, 0, func(c *Config) { c.ReplicaLagMax = 500 * time.Millisecond })
	}
	r.update(nil)
	s := r.session()
	for _, p := range []string{zk.TopicPath("a"), zk.PartitionsPath("a"), zk.PartitionPath("a", 0)} {
		if c := s.Do(t.Context(), zk.Create(p, nil)); c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	alone := zk.EncodeState(zk.PartitionState{Leader: 1, ControllerEpoch: 1, ISR: []kafka.BrokerID{1}})
	if c := s.Do(t.Context(), zk.Create(zk.StatePath("a", 0), alone)); c.Err != nil {
		t.Fatal(c.Err)
	}
	tp := kafka.TopicPartition{Topic: "a"}
	r.mu.Lock()
	r.ids["a"] = randomUUID()
	r.truth[tp] = &metadata.Partition{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1}, Leader: 1}
	r.mu.Unlock()
	r.push([]kafka.TopicPartition{tp})
	state := func() zk.PartitionState {
		st, err := zk.DecodeState(s.Do(t.Context(), zk.Get(zk.StatePath("a", 0))).Data)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	isr := func(want ...kafka.BrokerID) func() bool {
		return func() bool { return slices.Equal(slices.Sorted(slices.Values(state().ISR)), want) }
	}
	eventually(t, "the follower is in the ISR of the znode", isr(1, 2))
	if st := state(); st.Leader != 1 || st.LeaderEpoch != 0 || st.ControllerEpoch != 1 {
		t.Errorf("%+v", st)
	}
	if r.altered > 0 {
		t.Errorf("%d AlterPartition requests", r.altered)
	}
	p := r.brokers[1].plane.(*zkPlane)
	now := time.Now()
	if tps := p.isr.due(now); tps != nil {
		t.Errorf("%v are told at once", tps)
	}
	p.isr.add(tp, now)
	p.tellISR(t.Context(), s, now.Add(6*time.Second))
	notes := s.Do(t.Context(), zk.Children(zk.ISRChangesPath)).Children
	if len(notes) != 1 {
		t.Fatalf("the controller is told by %d notifications", len(notes))
	}
	if told, err := zk.DecodePartitionSet(s.Do(t.Context(), zk.Get(zk.ISRChangesPath+"/"+notes[0])).Data); err != nil || !slices.Equal(told, []kafka.TopicPartition{tp}) {
		t.Errorf("%v are told, %v", told, err)
	}
	// Another wrote meanwhile: the first attempt to shrink fails, a later one not.
	if w := s.Do(t.Context(), zk.Set(zk.StatePath("a", 0), zk.EncodeState(state()), zk.AnyVersion)); w.Err != nil {
		t.Fatal(w.Err)
	}
	r.kill(2)
	eventually(t, "the follower has left the ISR of the znode", isr(1))
}

// A change is told when none came for a while, or after a minute all the same.
func TestISRNotesLinger(t *testing.T) {
	n := newISRNotes()
	began := time.Now()
	tp := kafka.TopicPartition{Topic: "a"}
	n.lastPropagate = began
	for i := range 20 { // a change every 4 s
		at := began.Add(time.Duration(i) * 4 * time.Second)
		n.add(tp, at)
		tps := n.due(at.Add(time.Second))
		if minute := at.Add(time.Second).Sub(began) >= n.most; (tps != nil) != minute {
			t.Fatalf("after %v: %v", at.Sub(began), tps)
		}
		if tps != nil {
			return
		}
	}
	t.Error("never told")
}
