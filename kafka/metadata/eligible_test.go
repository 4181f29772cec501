package metadata

import (
	"slices"
	"testing"

	"kbench/kafka"
)

// TestEligibleReplicas follows KIP-966's lists through changes, snapshots and
// a ClearElrRecord.
func TestEligibleReplicas(t *testing.T) {
	a, b := kafka.UUID{1}, kafka.UUID{2}
	type ids = []kafka.BrokerID
	part := func(topic kafka.UUID, n int32, elr ids) Record {
		return &PartitionRecord{TopicID: topic, PartitionID: n, Replicas: ids{1, 2, 3}, ISR: ids{1}, Leader: 1, EligibleLeaderReplicas: elr}
	}
	base := replayAll(t, Empty(),
		&FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: int16(V4_4_IV2)},
		&TopicRecord{Name: "a", TopicID: a}, part(a, 0, ids{2}), part(a, 1, nil),
		&TopicRecord{Name: "b", TopicID: b}, part(b, 0, ids{3}),
	)
	change := NewPartitionChange(a, 0)
	change.LastKnownELR = ids{3}
	next := replayAll(t, base, change)
	p, _ := next.Partition(kafka.TopicPartition{Topic: "a"})
	if !slices.Equal(p.ELR(), ids{2}) || !slices.Equal(p.LastKnownELR(), ids{3}) || p.Validate() != nil {
		t.Fatalf("got %v", p)
	}
	if again := replayAll(t, Empty(), slices.Collect(next.Records())...); again.Digest() != next.Digest() || next.Digest() == base.Digest() {
		t.Error("a snapshot loses what is eligible, or a digest does not tell")
	}
	one := replayAll(t, next, &ClearElrRecord{TopicName: "a"})
	all := replayAll(t, next, &ClearElrRecord{})
	for _, c := range []struct {
		image *Image
		tp    kafka.TopicPartition
		elr   int
		epoch kafka.PartitionEpoch
	}{
		{one, kafka.TopicPartition{Topic: "a"}, 0, 2},
		{one, kafka.TopicPartition{Topic: "a", Partition: 1}, 0, 0}, // had none: it stays as it is
		{one, kafka.TopicPartition{Topic: "b"}, 1, 0},
		{all, kafka.TopicPartition{Topic: "b"}, 0, 1},
	} {
		p, _ := c.image.Partition(c.tp)
		if len(p.ELR()) != c.elr || p.PartitionEpoch != c.epoch {
			t.Errorf("%v: %v, want %d eligible at partition epoch %d", c.tp, p, c.elr, c.epoch)
		}
	}
	d := NewDelta(next)
	if d.Replay(&ClearElrRecord{TopicName: "nowhere"}) == nil {
		t.Error("an unknown topic was cleared")
	}
	p = &Partition{Replicas: ids{1, 2}, ISR: ids{1}, Leader: 1, Eligible: &Eligible{ELR: ids{1}}}
	if p.Validate() == nil {
		t.Error("a replica is both in the ISR and eligible")
	}
}

// TestCordonedDirectories keeps apart that a broker told of none and that it
// has not told, and writes them only where the level has them.
func TestCordonedDirectories(t *testing.T) {
	dir := kafka.UUID{9}
	for _, c := range []struct {
		level MetadataVersion
		want  []kafka.UUID
	}{{V4_0_IV3, nil}, {V4_4_IV2, []kafka.UUID{}}} {
		image := replayAll(t, Empty(),
			&FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: int16(c.level)},
			&RegisterBrokerRecord{BrokerID: 1, BrokerEpoch: 5, LogDirs: []kafka.UUID{dir}},
			&BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 5, CordonedLogDirs: []kafka.UUID{}},
		)
		again := replayAll(t, Empty(), slices.Collect(image.Records())...)
		broker, _ := again.Broker(1)
		if (broker.CordonedLogDirs == nil) != (c.want == nil) || len(broker.CordonedLogDirs) != 0 {
			t.Errorf("level %s: %v, want %v", c.level, broker.CordonedLogDirs, c.want)
		}
	}
}
