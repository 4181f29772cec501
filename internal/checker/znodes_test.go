package checker

import (
	"slices"
	"testing"

	"kbench/kafka"
)

// TestZnodes: each invariant of the znodes' history finds what is planted for
// it, and nothing is found without.
func TestZnodes(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "t"}
	topic := func(z *Znodes, a ZnodeAssignment) { z.Topic("t", id(1), map[int32]ZnodeAssignment{0: a}) }
	begin := func(z *Znodes) {
		z.ControllerEpoch(0)
		z.ControllerEpoch(1)
		z.Broker(1, 10)
		z.ProducerIDs(0, 999)
		topic(z, ZnodeAssignment{Replicas: []kafka.BrokerID{1, 2}})
		z.State(tp, ZnodeState{Leader: 1, ControllerEpoch: 1, ISR: []kafka.BrokerID{1, 2}})
	}
	next := func(leader kafka.BrokerID, epoch kafka.LeaderEpoch, isr ...kafka.BrokerID) ZnodeState {
		return ZnodeState{Leader: leader, LeaderEpoch: epoch, ControllerEpoch: 1, PartitionEpoch: 1, ISR: isr}
	}
	acked := func(s ZnodeState) AckedISR {
		return AckedISR{Partition: tp, TopicID: id(1), Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, ISR: s.ISR}
	}
	for name, c := range map[string]struct {
		plant func(*Znodes)
		found []string
	}{
		"sound": {func(z *Znodes) {
			z.State(tp, next(2, 1, 2))
			z.AckedISR(acked(next(2, 1, 2)))
			z.BrokerGone(1)
			z.Broker(1, 11)
			z.ProducerIDs(1000, 1999)
			z.StateGone(tp)
			z.TopicGone("t")
			z.Topic("t", id(2), nil)
		}, nil},
		"a replica moves": {func(z *Znodes) {
			topic(z, ZnodeAssignment{Replicas: []kafka.BrokerID{3, 1, 2}, Adding: []kafka.BrokerID{3}, Removing: []kafka.BrokerID{2}})
			z.State(tp, next(1, 0, 1, 2, 3))
			topic(z, ZnodeAssignment{Replicas: []kafka.BrokerID{3, 1}})
		}, nil},
		"two leaders in an epoch":  {func(z *Znodes) { z.State(tp, next(2, 0, 2)) }, []string{"C1", "C2"}},
		"leader epoch back":        {func(z *Znodes) { z.State(tp, next(-1, -1, 1)) }, []string{"C2"}},
		"partition epoch left out": {func(z *Znodes) { s := next(2, 1, 2); s.PartitionEpoch = 2; z.State(tp, s) }, []string{"C2"}},
		"empty ISR":                {func(z *Znodes) { z.State(tp, next(-1, 1)) }, []string{"C3"}},
		"leader outside of ISR":    {func(z *Znodes) { z.State(tp, next(2, 1, 1)) }, []string{"C3"}},
		"ISR outside of replicas":  {func(z *Znodes) { z.State(tp, next(1, 0, 1, 3)) }, []string{"C3"}},
		"ISR with a broker twice":  {func(z *Znodes) { z.State(tp, next(1, 0, 1, 1)) }, []string{"C3"}},
		"unclean without leave":    {func(z *Znodes) { z.State(tp, next(1, 0, 1)); s := next(2, 1, 2); s.PartitionEpoch = 2; z.State(tp, s) }, []string{"C6"}},
		"unclean and not recovering": {func(z *Znodes) {
			z.Unclean = func(string) bool { return true }
			z.State(tp, next(1, 0, 1))
			s := next(2, 1, 2)
			s.PartitionEpoch = 2
			z.State(tp, s)
		}, []string{"C6"}},
		"acknowledged and not there": {func(z *Znodes) { z.AckedISR(acked(next(1, 0, 1))) }, []string{"C7"}},
		"acknowledged and different": {func(z *Znodes) { z.State(tp, next(1, 0, 1)); z.AckedISR(acked(next(1, 0, 1, 2))) }, []string{"C7"}},
		"another id":                 {func(z *Znodes) { z.Topic("t", id(2), nil) }, []string{"C8"}},
		"an id again":                {func(z *Znodes) { z.TopicGone("t"); z.Topic("t", id(1), nil) }, []string{"C8"}},
		"adds what is not a replica": {func(z *Znodes) {
			topic(z, ZnodeAssignment{Replicas: []kafka.BrokerID{1, 2}, Adding: []kafka.BrokerID{3}})
		}, []string{"C9"}},
		"producer ids twice":          {func(z *Znodes) { z.ProducerIDs(500, 1499) }, []string{"C10"}},
		"controller epoch by two":     {func(z *Znodes) { z.ControllerEpoch(3) }, []string{"Z1"}},
		"of a controller yet to come": {func(z *Znodes) { s := next(2, 1, 2); s.ControllerEpoch = 2; z.State(tp, s) }, []string{"Z3"}},
		"of a former controller":      {func(z *Znodes) { s := next(2, 1, 2); s.ControllerEpoch = 0; z.State(tp, s) }, []string{"Z3"}},
		"registered twice":            {func(z *Znodes) { z.Broker(1, 11) }, []string{"Z8"}},
		"registration of old":         {func(z *Znodes) { z.BrokerGone(1); z.Broker(1, 9) }, []string{"Z8"}},
	} {
		t.Run(name, func(t *testing.T) {
			z := NewZnodes()
			begin(z)
			c.plant(z)
			var found []string
			for _, b := range z.Broken {
				found = append(found, b.Invariant)
			}
			if slices.Sort(found); !slices.Equal(found, c.found) || z.Looked == 0 {
				t.Errorf("found %v, want %v", z.Broken, c.found)
			}
		})
	}
}
