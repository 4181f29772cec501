package workloads

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

func TestSamplePartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []kafka.TopicPartition
		for topic := range rapid.IntRange(1, 30).Draw(t, "topics") {
			for p := range rapid.IntRange(1, 60).Draw(t, "partitions") {
				all = append(all, kafka.TopicPartition{Topic: fmt.Sprintf("t%02d", topic), Partition: int32(p)})
			}
		}
		n, seed := rapid.IntRange(1, 100).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		got := samplePartitions(all, n, seed, 1)
		if len(got) != min(n, len(all)) {
			t.Fatalf("%d of %d, wanted %d", len(got), len(all), n)
		}
		if !slices.IsSortedFunc(got, kafka.TopicPartition.Compare) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatal("not sorted or not distinct")
		}
		for _, tp := range got {
			if !slices.Contains(all, tp) {
				t.Fatalf("%v was not there", tp)
			}
		}
		if !slices.Equal(got, samplePartitions(all, n, seed, 1)) {
			t.Fatal("the same seed gives another sample")
		}
	})
}

func TestSampleStaysInFewTopics(t *testing.T) {
	var all []kafka.TopicPartition
	for topic := range 100 {
		for p := range 33 {
			all = append(all, kafka.TopicPartition{Topic: fmt.Sprintf("t%03d", topic), Partition: int32(p)})
		}
	}
	got := samplePartitions(all, 64, 1, 1)
	if n := len(topicsOf(got)); n != sampleTopics {
		t.Errorf("64 partitions over %d topics", n)
	}
	if slices.Equal(got, samplePartitions(all, 64, 1, 2)) {
		t.Error("two trials follow the same sample")
	}
}

func TestVictims(t *testing.T) {
	ids := []kafka.BrokerID{1, 2, 3}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		got := Victims(seed, ids, 9)
		if !slices.Equal(got, Victims(seed, ids, 9)) || len(got) != 9 {
			t.Fatalf("got %v", got)
		}
		for i := range 3 {
			round := slices.Clone(got[3*i : 3*i+3])
			slices.Sort(round)
			if !slices.Equal(round, ids) {
				t.Fatalf("round %d of %v does not have each broker once", i, got)
			}
			if i > 0 && got[3*i] == got[3*i-1] {
				t.Fatalf("the same victim twice in a row: %v", got)
			}
		}
	})
	if Victims(1, nil, 3) != nil {
		t.Error("victims of no brokers")
	}
	if got := Victims(1, ids[:1], 2); !slices.Equal(got, []kafka.BrokerID{1, 1}) {
		t.Errorf("got %v", got)
	}
}

func TestPlanBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := PopulateConfig{
			Prefix: "p", Replication: 3, Partitions: rapid.IntRange(1, 200_000).Draw(t, "partitions"),
			PartitionsPerTopic: rapid.IntRange(10, maxTopicRecords).Draw(t, "per topic"),
		}
		batches, err := planBatches(cfg, 3, nodeconfig.ModeZK)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, b := range batches {
			records := 0
			for _, topic := range b {
				records += int(topic.partitions) + 1
				total += int(topic.partitions)
				if topic.partitions < 1 {
					t.Fatal("an empty topic")
				}
			}
			if records > maxBatchRecords && len(b) > 1 || records >= 10_000 {
				t.Fatalf("%d records in one request", records)
			}
		}
		if total != cfg.Partitions {
			t.Fatalf("%d partitions planned", total)
		}
	})
	for want, cfg := range map[string]PopulateConfig{
		"create at least 1":      {Partitions: 0, PartitionsPerTopic: 1, Replication: 1},
		"1 to 9000 fit":          {Partitions: 1, PartitionsPerTopic: 9001, Replication: 1},
		"the cluster has 3":      {Partitions: 1, PartitionsPerTopic: 1, Replication: 4},
		"jute.maxbuffer":         {Partitions: 1_000_000, PartitionsPerTopic: 1, Replication: 3},
		"0 partitions a topic":   {Partitions: 1, Replication: 1},
		"replication 0: the clu": {Partitions: 1, PartitionsPerTopic: 1},
	} {
		if _, err := planBatches(cfg, 3, nodeconfig.ModeZK); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestSmallBatchIsKafkas(t *testing.T) {
	raw := smallBatch(1_700_000_000_000)
	var b kmsg.RecordBatch
	if err := b.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	if int(b.Length) != len(raw)-12 || b.Magic != 2 || b.NumRecords != 1 || b.LastOffsetDelta != 0 || b.ProducerID != -1 {
		t.Errorf("batch %+v", b)
	}
	if got := crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)); uint32(b.CRC) != got {
		t.Errorf("crc %x, want %x", uint32(b.CRC), got)
	}
	length, n := binary.Varint(b.Records)
	if int(length) != len(b.Records)-n {
		t.Errorf("record of %d bytes says %d", len(b.Records)-n, length)
	}
	var r kmsg.Record
	if err := r.ReadFrom(b.Records); err != nil || string(r.Value) != "kbench.." || r.Key != nil {
		t.Errorf("record %+v, %v", r, err)
	}
}
