package workloads

import (
	"reflect"
	"testing"

	"kbench/kafka"
)

// placed is a cluster that has brokers and nothing else.
type placed struct {
	Cluster
	nodes []Node
}

func (p placed) Brokers() []Node { return p.nodes }

// Two tries for one topic ask for one assignment, and all partitions are on
// live brokers as long as there are enough.
func TestPlace(t *testing.T) {
	c := placed{nodes: []Node{{ID: 1, Live: true}, {ID: 2, Live: true}, {ID: 3}, {ID: 4, Live: true}}}
	topic := newTopic{name: "a", partitions: 300, replication: 3}
	first, err := place(c, topic)
	if err != nil {
		t.Fatal(err)
	}
	again, err := place(c, topic)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("another try asks for another assignment, %v", err)
	}
	leads := map[kafka.BrokerID]int{}
	for i, p := range first {
		if len(p) != 3 {
			t.Fatalf("partition %d is %+v", i, p)
		}
		leads[p[0]]++
		for _, id := range p {
			if id == 3 {
				t.Fatalf("partition %d is on a broker that is not live", i)
			}
		}
	}
	for _, id := range []kafka.BrokerID{1, 2, 4} {
		if n := leads[id]; n < 90 || n > 110 {
			t.Errorf("broker %d is the first of %d of 300 partitions", id, n)
		}
	}
	topic.replication = 4
	if got, err := place(c, topic); err != nil || len(got[0]) != 4 {
		t.Errorf("with too few live brokers: %+v, %v", got, err)
	}
	topic.replication = 5
	if _, err := place(c, topic); err == nil {
		t.Error("5 replicas on 4 brokers were placed")
	}
}
