package workloads

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// The clients that can produce beside a load.
const (
	producerPlain = "plain"
	producerFranz = "franz-go"
)

const (
	// maxProduceRequests bounds the requests or, with franz-go, the calls per
	// second; each carries as many records as the rate then takes.
	maxProduceRequests = 1000
	// maxProduces bounds the requests that wait for their answer.
	maxProduces = 4096
	// What dominates what franz-go measures, fixed: metadata is asked for anew
	// after a second, and after 10 ms where a produce failed; a record is tried
	// until it is delivered or 30 s old.
	franzMetadataMaxAge  = time.Second
	franzMetadataMinAge  = 10 * time.Millisecond
	franzDeliveryTimeout = 30 * time.Second
)

// traffic produces records to a sample of partitions at a rate, in an open loop.
type traffic struct {
	sample   []kafka.TopicPartition
	book     *leaderBook
	admin    *admin
	nodes    map[kafka.BrokerID]string
	records  int // of each request
	bytes    int
	batch    []byte // of records
	client   *kgo.Client
	produced func(int64) // latency from the intended time, ns
	window   chan struct{}

	acked, failed atomic.Int64       // requests
	curve         availability       // of the requests: acknowledged or not
	halt          context.CancelFunc // ends the load
	cancel        context.CancelFunc // gives up what is not answered
	done          chan struct{}
	slips         slips // valid after stop
}

// startTraffic begins to produce as the parameters say. produced hears of the
// latency of each acknowledged request.
func (t *trialRun) startTraffic(ctx context.Context, c *clients, produced func(int64)) (*traffic, error) {
	tr := &traffic{
		sample: c.sample, book: c.book, admin: t.admin, nodes: map[kafka.BrokerID]string{}, bytes: t.p.ProduceBytes,
		produced: produced, window: make(chan struct{}, maxProduces), done: make(chan struct{}),
	}
	var seeds []string
	for _, b := range t.Cluster.Brokers() {
		tr.nodes[b.ID] = b.Addr
		seeds = append(seeds, b.Addr)
	}
	requests := min(t.p.ProduceRate, maxProduceRequests)
	tr.records = max(1, int(t.p.ProduceRate/requests+0.5))
	tr.batch = recordBatch(time.Now().UnixMilli(), tr.records, tr.bytes)
	if t.p.Producer == producerFranz {
		var err error
		if tr.client, err = franzProducer(seeds, identityOf(t.Cluster.Brokers())); err != nil {
			return nil, err
		}
	}
	ctx, tr.cancel = context.WithCancel(ctx)
	loading, halt := context.WithCancel(ctx)
	tr.halt = halt
	startNs := trace.Now()
	tr.curve.begin(startNs)
	go func() {
		defer close(tr.done)
		var wg sync.WaitGroup
		tr.slips = drive(loading, startNs, 0, Constant{t.p.ProduceRate / float64(tr.records)}, func(o op) bool { return tr.start(ctx, &wg, o) })
		wg.Wait()
	}()
	return tr, nil
}

// franzProducer is a client with the settings that dominate what it measures.
func franzProducer(seeds []string, as *wire.Identity) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ClientID("kbench-producer"),
		kgo.MetadataMaxAge(franzMetadataMaxAge), kgo.MetadataMinAge(franzMetadataMinAge),
		kgo.RecordDeliveryTimeout(franzDeliveryTimeout), kgo.ProducerLinger(0),
		kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(maxProduces * 10),
	}
	if as != nil && as.TLS != nil {
		options = append(options, kgo.DialTLSConfig(as.TLS))
	}
	if as != nil && as.SASL != nil {
		options = append(options, kgo.SASL(as.SASL))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("start a franz-go producer: %w", err)
	}
	return client, nil
}

// clientSettings says in one line what the client was told.
func (p Params) clientSettings() string {
	if p.Producer != producerFranz {
		return fmt.Sprintf("plain produce requests, acks=1, one try, leaders known from probes of every broker, time-out %v", produceTimeout)
	}
	return fmt.Sprintf("franz-go, acks=1, not idempotent, linger 0, metadata.max.age %v, at least %v apart, delivery timeout %v", franzMetadataMaxAge, franzMetadataMinAge, franzDeliveryTimeout)
}

// start produces one request's records; false where too many wait.
func (tr *traffic) start(ctx context.Context, wg *sync.WaitGroup, o op) bool {
	select {
	case tr.window <- struct{}{}:
	default:
		return false
	}
	tp := tr.sample[o.n%int64(len(tr.sample))]
	wg.Add(1)
	over := func(err error) {
		tr.curve.add(o.intendedNs, 1, err == nil)
		switch {
		case err == nil:
			tr.acked.Add(1)
			tr.produced(trace.Now() - o.intendedNs)
		case ctx.Err() == nil:
			tr.failed.Add(1)
		}
		<-tr.window
		wg.Done()
	}
	if tr.client != nil {
		tr.buffer(ctx, tp, over)
		return true
	}
	go func() { over(tr.plain(ctx, tp)) }()
	return true
}

// buffer gives franz-go the records of one request; the last one delivered ends
// it.
func (tr *traffic) buffer(ctx context.Context, tp kafka.TopicPartition, over func(error)) {
	left := atomic.Int64{}
	left.Store(int64(tr.records))
	var failure atomic.Pointer[error]
	for range tr.records {
		r := &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Value: make([]byte, tr.bytes)}
		tr.client.TryProduce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failure.Store(&err)
			}
			if left.Add(-1) > 0 {
				return
			}
			if f := failure.Load(); f != nil {
				over(*f)
				return
			}
			over(nil)
		})
	}
}

// plain sends one request to the leader that the probes know.
func (tr *traffic) plain(ctx context.Context, tp kafka.TopicPartition) error {
	addr, ok := tr.nodes[tr.book.leader(tp)]
	if !ok {
		return fmt.Errorf("produce to %s: %w", tp, kafka.LeaderNotAvailable)
	}
	one, cancel := context.WithTimeout(ctx, produceTimeout)
	defer cancel()
	resp, err := tr.admin.send(one, addr, apiProduce, produceRequest([]kafka.TopicPartition{tp}, tr.batch))
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			if err := kafka.ErrorCode(p.ErrorCode).Err(); err != nil {
				return fmt.Errorf("produce to %s: %w", tp, err)
			}
		}
	}
	return nil
}

// stop ends the load, waits for the answers under way as long as one request may
// take, and gives the others up: they are open.
func (tr *traffic) stop() {
	tr.halt()
	select {
	case <-tr.done:
	case <-time.After(produceTimeout):
	}
	tr.cancel()
	<-tr.done
	if tr.client != nil {
		tr.client.Close()
	}
}
