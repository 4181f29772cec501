package metadata

import (
	"fmt"
	"slices"
	"strings"
	"sync"
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

// Two goroutines may change the same image, each for itself, while others
// read it; the race detector judges.
func TestImageIsShared(t *testing.T) {
	image := bigImage(t, 20, 10)
	want := image.Digest()
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			d := NewDelta(image)
			for topic := range image.Topics() {
				change := NewPartitionChange(topic.ID(), int32(g))
				change.Leader = kafka.NoLeader
				if err := d.Replay(change); err != nil {
					t.Error(err)
				}
			}
			name := fmt.Sprint("new-", g)
			if err := d.PutTopic(name, kafka.UUID{byte(g + 100)}); err != nil {
				t.Error(err)
			}
			if next := d.Apply(1, 1); next.OfflineCount() != 20 || next.NumTopics() != 21 {
				t.Errorf("%d offline in %d topics", next.OfflineCount(), next.NumTopics())
			}
		})
	}
	group.Wait()
	if image.Digest() != want || image.OfflineCount() != 0 {
		t.Error("the shared image changed")
	}
}

func TestDeltaRefuses(t *testing.T) {
	d := NewDelta(bigImage(t, 2, 1))
	known, _ := d.Image().Topic("topic-00000")
	id := known.ID()
	d.PutBroker(Broker{ID: 1, Epoch: 5})
	d.SetNextProducerID(1000)
	before := d.Image().Digest()
	replay := func(r Record) func() error { return func() error { return d.Replay(r) } }
	strange := NewPartitionChange(kafka.UUID{9, 9}, 0)
	beyond := NewPartitionChange(id, 7)
	uneven := NewPartitionChange(id, 0)
	uneven.Directories = []kafka.UUID{{1}}
	for _, c := range []struct {
		do   func() error
		want string
	}{
		{func() error { return d.PutTopic("topic-00000", kafka.UUID{5}) }, "topic topic-00000 has the id"},
		{func() error { return d.PutTopic("other", id) }, "belongs to topic-00000 already"},
		{func() error { return d.SetPartition("none", 0, Partition{}) }, "belongs to no known topic"},
		{func() error { return d.SetPartition("topic-00000", -1, Partition{}) }, "is not in 0..16777215"},
		{func() error { return d.SetPartition("topic-00000", MaxPartitionsPerTopic, Partition{}) }, "is not in 0..16777215"},
		{replay(strange), "topic id CQkAAAAAAAAAAAAAAAAAAA is unknown"},
		{replay(beyond), "change partition topic-00000-7: it is unknown"},
		{replay(uneven), "1 directories for 3 replicas"},
		{replay(&PartitionRecord{TopicID: id, Replicas: []kafka.BrokerID{1}, Directories: []kafka.UUID{{1}, {2}}}), "2 directories for 1 replicas"},
		{replay(&PartitionRecord{TopicID: id, PartitionID: 1 << 20, Replicas: []kafka.BrokerID{1}}), "partitions, whose numbers begin at 0"},
		{replay(&PartitionRecord{TopicID: kafka.UUID{9}}), "is unknown"},
		{replay(&RemoveTopicRecord{TopicID: kafka.UUID{9}}), "is unknown"},
		{replay(&UnregisterBrokerRecord{BrokerID: 7}), "unregister broker 7: it is not registered"},
		{replay(&FenceBrokerRecord{ID: 1, Epoch: 4}), "fence broker 1: the record's epoch 4 is not that of its registration, 5"},
		{replay(&UnfenceBrokerRecord{ID: 1, Epoch: 6}), "unfence broker 1"},
		{replay(&BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 5, Fenced: 2}), "fenced is 2"},
		{replay(&BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 5, InControlledShutdown: -1}), "in controlled shutdown is -1"},
		{replay(&ProducerIDsRecord{NextProducerID: 1000}), "the next id 1000 is not above the last, 1000"},
	} {
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if d.Image().Digest() != before {
		t.Error("what was refused changed something")
	}
	must(t, d.PutTopic("topic-00000", id))
	if d.RemoveTopic("none") || d.RemoveBroker(9) {
		t.Error("something was removed that was not there")
	}
}

// Records of brokers and configurations in old and new forms.
func TestReplayRegistration(t *testing.T) {
	rack := "r"
	d := NewDelta(Empty())
	for _, r := range []Record{
		&RegisterBrokerRecord{BrokerID: 1, BrokerEpoch: 5, Fenced: true, Rack: &rack, LogDirs: []kafka.UUID{{9}, {3}}, EndPoints: []RecordEndpoint{
			{Endpoint: kafka.Endpoint{Listener: "A", Host: "h", Port: 1}},
			{Endpoint: kafka.Endpoint{Listener: "B", Host: "h", Port: 2}, SecurityProtocol: 3},
		}, Features: []RecordFeature{{Name: "f", Min: 1, Max: 2}}},
		&UnfenceBrokerRecord{ID: 1, Epoch: 5},
		&BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 5, InControlledShutdown: 1, LogDirs: []kafka.UUID{{4}, {2}}},
		&RegisterControllerRecord{ControllerID: 7},
		&RegisterControllerRecord{ControllerID: 8},
		&UnregisterControllerRecord{ControllerID: 7},
		&FeatureLevelRecord{Name: "x", FeatureLevel: 3},
		&FeatureLevelRecord{Name: MetadataVersionFeature, FeatureLevel: 25},
		&FeatureLevelRecord{Name: "y", FeatureLevel: 1},
		&FeatureLevelRecord{Name: "y"},
		&NoOpRecord{}, &ZkMigrationStateRecord{}, &ClearElrRecord{},
	} {
		must(t, d.Replay(r))
	}
	image := d.Apply(1, 1)
	b, _ := image.Broker(1)
	want := Broker{
		ID: 1, Epoch: 5, Rack: "r", InControlledShutdown: true, LogDirs: []kafka.UUID{{2}, {4}}, SecurityProtocols: []int16{0, 3},
		Endpoints: []kafka.Endpoint{{Listener: "A", Host: "h", Port: 1}, {Listener: "B", Host: "h", Port: 2}},
		Features:  map[string]VersionRange{"f": {1, 2}},
	}
	if !b.Equal(&want) || b.Active() {
		t.Errorf("got %+v", b)
	}
	if e, ok := b.Endpoint("B"); !ok || e.Port != 2 {
		t.Error("listener B is not found")
	}
	var keys []int16
	var names []string
	for r := range image.Records() {
		keys = append(keys, r.Key())
		if f, ok := r.(*FeatureLevelRecord); ok {
			names = append(names, f.Name)
		}
	}
	if !slices.Equal(keys, []int16{12, 12, 0, 27}) || image.FeatureLevel("y") != 0 || image.FeatureLevel("x") != 3 {
		t.Errorf("snapshot of keys %v", keys)
	}
	if names[0] != MetadataVersionFeature {
		t.Errorf("the first features are %v", names)
	}
	if image.Digest(WithoutBrokers, WithoutFeatures, WithoutControllers) != Empty().Digest(WithoutBrokers, WithoutFeatures, WithoutControllers) {
		t.Error("a part that is left out counts")
	}
}

func TestDirectories(t *testing.T) {
	if !IsReservedDirectory(LostDirectory) || !IsReservedDirectory(kafka.UUID{15: 99}) || IsReservedDirectory(kafka.UUID{15: 100}) || IsReservedDirectory(kafka.UUID{1}) {
		t.Error("IsReservedDirectory")
	}
	p := Partition{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1}, Directories: []kafka.UUID{{8}, {9}}}
	change := NewPartitionChange(kafka.UUID{}, 0)
	change.Replicas = []kafka.BrokerID{2, 3}
	next, err := p.Changed(change)
	must(t, err)
	if next.Directory(2) != (kafka.UUID{9}) || next.Directory(3) != UnassignedDirectory || p.Directory(1) != (kafka.UUID{8}) {
		t.Errorf("directories %v", next.Directories)
	}
}

func TestPartitionValidate(t *testing.T) {
	type ids = []kafka.BrokerID
	for want, p := range map[string]Partition{
		"":                                 {Replicas: ids{1, 2}, ISR: ids{2}, Leader: 2},
		"no replicas":                      {Leader: -1},
		"broker 1 is in the replicas":      {Replicas: ids{1, 1}, Leader: -1},
		"broker 2 is in the ISR twice":     {Replicas: ids{1, 2}, ISR: ids{2, 2}, Leader: -1},
		"broker 3 is in the ISR and no":    {Replicas: ids{1, 2}, ISR: ids{3}, Leader: -1},
		"leader 1 is not in the ISR [2]":   {Replicas: ids{1, 2}, ISR: ids{2}, Leader: 1},
		"1 directories for 2 replicas":     {Replicas: ids{1, 2}, Leader: -1, Directories: []kafka.UUID{{}}},
		"leader 5 is not in the ISR [1 2]": {Replicas: ids{1, 2}, ISR: ids{1, 2}, Leader: 5},
	} {
		if err := p.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", &p, err, want)
		}
	}
}

// TestCollidingTopic: names that differ in "." and "_" alone are one.
func TestCollidingTopic(t *testing.T) {
	d := NewDelta(Empty())
	for i, name := range []string{"a.b", "plain", "x_y"} {
		if err := d.PutTopic(name, kafka.UUID{byte(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	image := d.Apply(0, 0)
	d = NewDelta(image)
	d.RemoveTopic("a.b")
	less := d.Apply(1, 0)
	for _, c := range []struct {
		image *Image
		name  string
		other string // "" for none
	}{
		{image, "a.b", "a.b"},
		{image, "a_b", "a.b"},
		{image, "ab", ""},
		{image, "plain", "plain"},
		{image, "x.y", "x_y"},
		{less, "a_b", ""},
		{less, "x.y", "x_y"},
	} {
		if other, ok := c.image.CollidingTopic(c.name); ok != (c.other != "") || ok && other != c.other {
			t.Errorf("%s collides with %q, %v, want %q", c.name, other, ok, c.other)
		}
	}
}
