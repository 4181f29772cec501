package broker

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/kraftcontroller/raftclient"
)

// window is a listener of a broker with one handler, which tells of what
// handlers have begun.
type window struct {
	addr  string
	begun chan int16 // keys
}

func openWindow(t *testing.T, apis []wire.API) *window {
	t.Helper()
	w := &window{begun: make(chan int16, 10)}
	for i := range apis {
		handle := apis[i].Handle
		apis[i].Handle = func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
			w.begun <- r.Key
			return handle(ctx, r)
		}
	}
	requests, err := wire.NewRequestChannel(1, wire.DefaultQueuedRequests)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := wire.NewServer(wire.ServerConfig{APIs: apis, Listener: "PLAINTEXT", Logger: testLog(), Requests: requests})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = ln.Addr().String()
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

// waits sends a request that will wait, and then one that must be answered while
// it does.
func (w *window) waits(t *testing.T, name string, req kmsg.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	conn, err := wire.Dial(ctx, w.addr, wire.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = conn.Request(ctx, req)
	}()
	<-w.begun
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 9
	ask[*kmsg.MetadataResponse](t, w.addr, metadata)
	<-w.begun
	select {
	case <-answered:
		t.Errorf("%s did not wait", name)
	default:
	}
	conn.Close()
	<-answered
}

// A fetch that finds nothing, an acks=-1 that waits for the ISR, and what waits
// for the controller are all parked in Kafka.
func TestWaitingRequestsHoldNoHandler(t *testing.T) {
	r := newZKRig(t, 3)
	r.create("a", 1, 2)
	one := r.brokers[1]
	r.brokers[2].stop(t)
	r.onAllocate = func(ctx context.Context) { <-ctx.Done() }
	w := openWindow(t, one.APIs())

	one.plane.topicConfig(t.Context(), "a") // a produce that reads it parks before
	produce := produceOne("a", kafka.UUID{}, 0, -1, 10, records(1))
	produce.TimeoutMillis = int32(deadline.Milliseconds())
	w.waits(t, "Produce", produce)
	for name, replica := range map[string]int32{"a consumer's Fetch": -1, "a follower's Fetch": 3} {
		fetch := kmsg.NewPtrFetchRequest()
		fetch.Version, fetch.MaxWaitMillis, fetch.MinBytes, fetch.ReplicaID = 12, int32(deadline.Milliseconds()), 1, replica
		if replica < 0 {
			ft, fp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
			ft.Topic, fp.PartitionMaxBytes = "a", 1<<20
			ft.Partitions = append(ft.Partitions, fp)
			fetch.Topics = append(fetch.Topics, ft)
		}
		w.waits(t, name, fetch)
	}
	other := openWindow(t, r.brokers[3].APIs())
	id := kmsg.NewPtrInitProducerIDRequest()
	id.Version = 4
	other.waits(t, "InitProducerId", id)
	r.brokers[3].producers.mu.Lock() // by one that waits for a block
	other.waits(t, "a second InitProducerId", id)
	r.brokers[3].producers.mu.Unlock()

	b, err := New(Config{ID: 9, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 1}}}, r.plane())
	if err != nil {
		t.Fatal(err)
	}
	update := kmsg.NewPtrUpdateMetadataRequest()
	update.Version = 8
	openWindow(t, b.APIs()).waits(t, "UpdateMetadata before the registration", update)
}

func TestForwardedRequestsHoldNoHandler(t *testing.T) {
	voter := raftclient.Voter{ID: 100, Host: "127.0.0.1", Port: 1} // nobody
	p := startProcess(t, 1, 0, KRaft(KRaftConfig{Voters: []raftclient.Voter{voter}, MetadataInMemory: true}), func(c *Config) {
		c.ClusterID, c.RequestTimeout = testCluster, time.Hour
	})
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	openWindow(t, p.APIs()).waits(t, "CreateTopics", create)
}
