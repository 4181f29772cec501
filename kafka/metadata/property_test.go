package metadata

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kbench/kafka"
)

// model is the naive image: maps, copied whole.
type model struct {
	topics  map[string]kafka.UUID
	parts   map[kafka.TopicPartition]Partition
	brokers map[kafka.BrokerID]Broker
	configs map[ConfigResource]map[string]string
}

func newModel() *model {
	return &model{
		map[string]kafka.UUID{},
		map[kafka.TopicPartition]Partition{},
		map[kafka.BrokerID]Broker{},
		map[ConfigResource]map[string]string{},
	}
}

func (m *model) image(t *rapid.T) *Image {
	d := NewDelta(Empty())
	for _, name := range slices.Sorted(maps.Keys(m.topics)) {
		noError(t, d.PutTopic(name, m.topics[name]))
	}
	for tp, p := range m.parts {
		noError(t, d.SetPartition(tp.Topic, tp.Partition, p))
	}
	for _, b := range m.brokers {
		d.PutBroker(b)
	}
	for r, values := range m.configs {
		for k, v := range values {
			d.SetConfig(r, k, &v)
		}
	}
	return d.Apply(0, 0)
}

func noError(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func drawPartition(t *rapid.T) Partition {
	replicas := rapid.SliceOfNDistinct(rapid.Map(rapid.Int32Range(0, 5), func(i int32) kafka.BrokerID { return kafka.BrokerID(i) }), 1, 3, rapid.ID).Draw(t, "replicas")
	isr := replicas[:rapid.IntRange(1, len(replicas)).Draw(t, "isr")]
	p := Partition{
		Replicas: replicas, ISR: slices.Clone(isr), Leader: isr[0],
		LeaderEpoch:    kafka.LeaderEpoch(rapid.Int32Range(0, 9).Draw(t, "epoch")),
		PartitionEpoch: kafka.PartitionEpoch(rapid.Int32Range(0, 9).Draw(t, "partitionEpoch")),
	}
	if rapid.Bool().Draw(t, "leaderless") {
		p.Leader = kafka.NoLeader
	}
	if rapid.Bool().Draw(t, "directories") {
		for range replicas {
			p.Directories = append(p.Directories, UnassignedDirectory)
		}
	}
	return p
}

// TestImageIsItsRecords checks, for random changes applied in random groups,
// that the image equals the naive model and the replay of its own snapshot,
// that counts are those of a recount, that the base of each delta is
// untouched, and that the delta names just what changed.
func TestImageIsItsRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, image := newModel(), Empty()
		names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		var ids byte
		for step := range rapid.IntRange(1, 12).Draw(t, "deltas") {
			before := image.Digest()
			d := NewDelta(image)
			for range rapid.IntRange(0, 40).Draw(t, "changes") {
				name := names.Draw(t, "topic")
				switch rapid.IntRange(0, 9).Draw(t, "kind") {
				case 0:
					if _, ok := m.topics[name]; !ok {
						ids++
						m.topics[name] = kafka.UUID{ids}
						noError(t, d.Replay(&TopicRecord{Name: name, TopicID: kafka.UUID{ids}}))
					}
				case 1:
					id, known := m.topics[name]
					err := d.Replay(&RemoveTopicRecord{TopicID: id})
					if (err == nil) != known {
						t.Fatalf("remove of topic %q known=%v: %v", name, known, err)
					}
					delete(m.topics, name)
					delete(m.configs, ConfigResource{TopicConfig, name})
					maps.DeleteFunc(m.parts, func(tp kafka.TopicPartition, _ Partition) bool { return tp.Topic == name })
				case 2:
					b := Broker{
						ID:    kafka.BrokerID(rapid.Int32Range(0, 3).Draw(t, "broker")),
						Epoch: kafka.BrokerEpoch(step), Fenced: rapid.Bool().Draw(t, "fenced"),
						Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9092}},
					}
					m.brokers[b.ID] = b
					noError(t, d.Replay(b.Record()))
				case 3:
					r := ConfigResource{TopicConfig, name}
					if _, ok := m.topics[name]; !ok {
						r = ConfigResource{BrokerConfig, ""}
					}
					key, value := fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "key")), fmt.Sprint(step)
					if rapid.Bool().Draw(t, "unset") {
						d.SetConfig(r, key, nil)
						delete(m.configs[r], key)
						if len(m.configs[r]) == 0 {
							delete(m.configs, r)
						}
					} else {
						d.SetConfig(r, key, &value)
						if m.configs[r] == nil {
							m.configs[r] = map[string]string{}
						}
						m.configs[r][key] = value
					}
				default:
					id, known := m.topics[name]
					tp := kafka.TopicPartition{Topic: name, Partition: rapid.SampledFrom([]int32{0, 1, 255, 256, 700}).Draw(t, "partition")}
					p := drawPartition(t)
					if old, ok := m.parts[tp]; ok && rapid.Bool().Draw(t, "change") {
						change := NewPartitionChange(id, tp.Partition)
						change.Leader = old.ISR[len(old.ISR)-1]
						noError(t, d.Replay(change))
						old.Leader, old.LeaderEpoch, old.PartitionEpoch = change.Leader, old.LeaderEpoch+1, old.PartitionEpoch+1
						m.parts[tp] = old
						continue
					}
					if err := d.Replay(p.Record(id, tp.Partition)); (err == nil) != known {
						t.Fatalf("partition of topic %q known=%v: %v", name, known, err)
					}
					if known {
						m.parts[tp] = p
					}
				}
			}
			base := image
			image = d.Apply(kafka.Offset(step), 1)
			if base.Digest() != before {
				t.Fatal("the delta changed its base")
			}
			checkDelta(t, d, base, image)
			checkImage(t, m, image)
		}
	})
}

func checkImage(t *rapid.T, m *model, image *Image) {
	if want := m.image(t).Digest(); image.Digest() != want {
		t.Fatalf("digest %x, the model has %x", image.Digest(), want)
	}
	d := NewDelta(Empty())
	for r := range image.Records() {
		b, err := AppendRecord(nil, r, DefaultMetadataVersion.RecordVersion(r))
		noError(t, err)
		again, _, err := ReadRecord(b)
		noError(t, err)
		noError(t, d.Replay(again))
	}
	if got := d.Apply(0, 0).Digest(); got != image.Digest() {
		t.Fatalf("digest %x, its snapshot replays to %x", image.Digest(), got)
	}
	led, n := map[kafka.BrokerID]int{}, 0
	for tp, p := range image.Partitions() {
		want := m.parts[tp]
		if !p.Equal(&want) {
			t.Fatalf("%v is %v, the model has %v", tp, p, &want)
		}
		n++
		led[p.Leader]++
	}
	if n != len(m.parts) || n != image.NumPartitions() || image.NumTopics() != len(m.topics) {
		t.Fatalf("%d partitions walked, %d counted, %d in the model", n, image.NumPartitions(), len(m.parts))
	}
	imbalanced := 0
	for _, p := range image.Partitions() {
		if !p.HasPreferredLeader() {
			imbalanced++
		}
	}
	if image.ImbalanceCount() != imbalanced {
		t.Fatalf("%d partitions are not led by their first replica, counted as %d", imbalanced, image.ImbalanceCount())
	}
	if image.OfflineCount() != led[kafka.NoLeader] {
		t.Fatalf("%d partitions have no leader, counted as %d", led[kafka.NoLeader], image.OfflineCount())
	}
	for id := range kafka.BrokerID(6) {
		if image.LeaderCount(id) != led[id] {
			t.Fatalf("broker %d leads %d, counted as %d", id, led[id], image.LeaderCount(id))
		}
	}
	for name, id := range m.topics {
		if topic, ok := image.TopicByID(id); !ok || topic.Name() != name {
			t.Fatalf("topic %s is not found by its id", name)
		}
	}
}

func checkDelta(t *rapid.T, d *Delta, base, next *Image) {
	changed := map[kafka.TopicPartition]bool{}
	for tp, p := range d.ChangedPartitions() {
		if now, ok := next.Partition(tp); !ok || now != p || changed[tp] {
			t.Fatalf("changed partition %v is not in the image, or comes twice", tp)
		}
		changed[tp] = true
	}
	for tp, p := range next.Partitions() {
		if old, ok := base.Partition(tp); (!ok || old != p) && !changed[tp] {
			t.Fatalf("%v changed and the delta does not say so", tp)
		}
	}
	removed := map[kafka.UUID]bool{}
	for topic := range d.RemovedTopics() {
		removed[topic.ID()] = true
	}
	for topic := range base.Topics() {
		if _, ok := next.TopicByID(topic.ID()); ok == removed[topic.ID()] {
			t.Fatalf("topic %s is there=%v and removed=%v", topic.Name(), ok, removed[topic.ID()])
		}
	}
}
