package broker

import (
	"context"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// benchBroker holds n partitions in topics of 100 and runs nothing.
func benchBroker(b *testing.B, n int) *Broker {
	b.Helper()
	br, err := New(Config{ID: 1, Endpoints: []kafka.Endpoint{{Listener: "L", Host: "h", Port: 1}}}, ZooKeeper(ZooKeeperConfig{Servers: []string{"h:1"}}))
	if err != nil {
		b.Fatal(err)
	}
	d := metadata.NewDelta(metadata.Empty())
	for id := kafka.BrokerID(1); id <= 3; id++ {
		d.PutBroker(metadata.Broker{ID: id, Endpoints: []kafka.Endpoint{{Listener: "L", Host: "h", Port: uint16(id)}}})
	}
	ids := []kafka.BrokerID{1, 2, 3}
	for i := range n {
		topic := "topic-" + strconv.Itoa(i/100)
		if i%100 == 0 {
			if err := d.PutTopic(topic, randomUUID()); err != nil {
				b.Fatal(err)
			}
		}
		if err := d.SetPartition(topic, int32(i%100), metadata.Partition{Replicas: ids, ISR: ids, Leader: 1}); err != nil {
			b.Fatal(err)
		}
	}
	br.publish(d.Apply(1, 1))
	return br
}

// BenchmarkMetadataTopic is what a probe asks: one topic of 100 partitions.
func BenchmarkMetadataTopic(b *testing.B) {
	br := benchBroker(b, 10_000)
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	name := "topic-7"
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	benchMetadata(b, br, req)
}

// BenchmarkMetadataAll is the full sweep over 100,000 partitions.
func BenchmarkMetadataAll(b *testing.B) {
	br := benchBroker(b, 100_000)
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	benchMetadata(b, br, req)
}

func benchMetadata(b *testing.B, br *Broker, req *kmsg.MetadataRequest) {
	r := &wire.Request{Key: 3, Version: 12, Listener: "L", Body: req}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		resp, err := br.handleMetadata(context.Background(), r)
		if err != nil {
			b.Fatal(err)
		}
		resp.SetVersion(12)
		out = resp.AppendTo(out[:0])
	}
}
