package workloads

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// Who waits in vain for acknowledgements hears why there are none.
func TestAwaitAcksSaysWhatWasRefused(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "a", Partition: 3}
	srv, err := wire.NewServer(wire.ServerConfig{Listener: "FAKE", APIs: []wire.API{{
		Key: apiProduce.key, MinVersion: apiProduce.minVersion, MaxVersion: apiProduce.maxVersion,
		Handle: func(context.Context, *wire.Request) (kmsg.Response, error) {
			resp, rt, rp := kmsg.NewPtrProduceResponse(), kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = tp.Partition, int16(kafka.NotEnoughReplicas)
			rt.Topic, rt.Partitions = tp.Topic, append(rt.Partitions, rp)
			resp.Topics = append(resp.Topics, rt)
			return resp, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close(context.Background())
	p := startProduce(t.Context(), []Node{{ID: 1, Addr: ln.Addr().String()}}, []kafka.TopicPartition{tp},
		func(kafka.TopicPartition) kafka.BrokerID { return 1 }, 100)
	defer p.stop()
	if err := await(t.Context(), time.Minute, "a refusal", func() bool { return p.refused.Load() != nil }); err != nil {
		t.Fatal(err)
	}
	if err := p.awaitAcks(t.Context(), time.Millisecond, 0); !errors.Is(err, kafka.NotEnoughReplicas) {
		t.Errorf("got %v", err)
	}
}
