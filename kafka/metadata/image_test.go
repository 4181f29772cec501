package metadata

import (
	"testing"

	"kbench/kafka"
)

func TestDeltaLeavesBase(t *testing.T) {
	id := kafka.UUID{1}
	d := NewDelta(Empty())
	must(t, d.PutTopic("a", id))
	must(t, d.SetPartition("a", 0, Partition{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1, 2}, Leader: 1}))
	must(t, d.SetPartition("a", 300, Partition{Replicas: []kafka.BrokerID{2, 1}, ISR: []kafka.BrokerID{2, 1}, Leader: 2}))
	base := d.Apply(10, 1)
	if base.NumPartitions() != 2 || base.LeaderCount(1) != 1 || base.LeaderCount(2) != 1 {
		t.Fatalf("partitions %d, led %d and %d", base.NumPartitions(), base.LeaderCount(1), base.LeaderCount(2))
	}
	before := base.Digest()

	d = NewDelta(base)
	change := NewPartitionChange(id, 300)
	change.Leader = 1
	must(t, d.Replay(change))
	next := d.Apply(11, 1)
	if base.Digest() != before || base.LeaderCount(2) != 1 {
		t.Fatal("the base image changed")
	}
	p, _ := next.Partition(kafka.TopicPartition{Topic: "a", Partition: 300})
	if p.Leader != 1 || p.LeaderEpoch != 1 || p.PartitionEpoch != 1 || next.LeaderCount(1) != 2 || next.LeaderCount(2) != 0 {
		t.Fatalf("got %v, led %d and %d", p, next.LeaderCount(1), next.LeaderCount(2))
	}
	n := 0
	for tp := range d.ChangedPartitions() {
		n++
		if tp.Partition != 300 {
			t.Errorf("changed %v", tp)
		}
	}
	if n != 1 || d.NumChangedPartitions() != 1 {
		t.Errorf("%d changed", n)
	}
	if next.Digest() == before {
		t.Error("the digest of another image is the same")
	}

	d = NewDelta(next)
	must(t, d.Replay(&RemoveTopicRecord{TopicID: id}))
	gone := d.Apply(12, 1)
	if gone.NumTopics() != 0 || gone.NumPartitions() != 0 || gone.LeaderCount(1) != 0 || gone.Digest() != Empty().Digest() {
		t.Error("something of the topic is left")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
