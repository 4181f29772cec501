package workloads

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

const (
	// produceTimeout bounds one produce; one without an answer by then was not
	// acknowledged.
	produceTimeout = time.Second
	// produceWindow bounds the produces to one broker that wait.
	produceWindow = 256
)

// produceProbe produces one small record to each partition of a sample at a
// constant rate, all partitions of one leader in one request, and keeps what
// was acknowledged. It follows leaders as a client does that hears of them at
// once.
type produceProbe struct {
	partitions []kafka.TopicPartition
	leader     func(kafka.TopicPartition) kafka.BrokerID
	peers      map[kafka.BrokerID]*peer
	windows    map[kafka.BrokerID]chan struct{}
	batch      []byte
	curve      availability
	refused    atomic.Pointer[error] // the last refusal, for who waits in vain
	*outageBook

	cancel context.CancelFunc
	done   chan struct{}
	slips  slips
}

func startProduce(ctx context.Context, nodes []Node, partitions []kafka.TopicPartition, leader func(kafka.TopicPartition) kafka.BrokerID, rate float64) *produceProbe {
	ctx, cancel := context.WithCancel(ctx)
	p := &produceProbe{
		partitions: partitions, leader: leader, batch: smallBatch(time.Now().UnixMilli()),
		peers: map[kafka.BrokerID]*peer{}, windows: map[kafka.BrokerID]chan struct{}{},
		outageBook: newOutageBook(partitions, max(1024, int(4*rate*produceTimeout.Seconds()))),
		cancel:     cancel, done: make(chan struct{}),
	}
	for _, n := range nodes {
		p.peers[n.ID], p.windows[n.ID] = newPeer(n), make(chan struct{}, produceWindow)
	}
	go p.run(ctx, Constant{rate})
	return p
}

func (p *produceProbe) run(ctx context.Context, pacer Pacer) {
	defer close(p.done)
	var wg sync.WaitGroup
	p.slips = drive(ctx, trace.Now(), 0, pacer, func(o op) bool {
		byLeader := map[kafka.BrokerID][]kafka.TopicPartition{}
		for _, tp := range p.partitions {
			id := p.leader(tp)
			byLeader[id] = append(byLeader[id], tp)
		}
		taken := true
		for id, tps := range byLeader {
			window, known := p.windows[id]
			if !known { // nobody leads
				p.failed(tps, failure{intendedNs: o.intendedNs, by: kafka.NoLeader})
				continue
			}
			select {
			case window <- struct{}{}:
			default:
				p.failed(tps, failure{intendedNs: o.intendedNs, by: kafka.NoLeader})
				taken = false
				continue
			}
			wg.Go(func() {
				defer func() { <-window }()
				p.produce(ctx, o, id, tps)
			})
		}
		return taken
	})
	wg.Wait()
}

// produce sends one request and notes each partition's outcome.
func (p *produceProbe) produce(ctx context.Context, o op, id kafka.BrokerID, tps []kafka.TopicPartition) {
	one, cancel := context.WithTimeout(ctx, produceTimeout)
	defer cancel()
	resp, err := p.peers[id].request(one, apiProduce, produceRequest(tps, p.batch))
	doneNs := trace.Now()
	if ctx.Err() != nil && err != nil {
		p.abandoned(o, tps)
		return
	}
	if err != nil {
		p.refused.Store(&err)
	}
	no := failure{intendedNs: o.intendedNs, by: id, refusedNs: doneNs}
	if one.Err() != nil {
		no.refusedNs = 0
	}
	acked := map[kafka.TopicPartition]bool{}
	if err == nil {
		for _, t := range resp.(*kmsg.ProduceResponse).Topics {
			for _, part := range t.Partitions {
				tp := kafka.TopicPartition{Topic: t.Topic, Partition: part.Partition}
				if acked[tp] = part.ErrorCode == 0; !acked[tp] {
					why := fmt.Errorf("broker %d refuses %s: %w", id, tp, kafka.ErrorCode(part.ErrorCode).Err())
					p.refused.Store(&why)
				}
			}
		}
	}
	var failed []kafka.TopicPartition
	for _, tp := range tps {
		if !acked[tp] {
			failed = append(failed, tp)
			continue
		}
		p.acked(tp, acks{o.intendedNs, doneNs, id})
	}
	p.curve.add(o.intendedNs, len(tps)-len(failed), true)
	p.failed(failed, no)
}

func (p *produceProbe) failed(tps []kafka.TopicPartition, f failure) {
	p.curve.add(f.intendedNs, len(tps), false)
	for _, tp := range tps {
		p.outageBook.failed(tp, f)
	}
}

// abandoned takes produces without an answer when the probe ends. Those after
// which a later one was acknowledged had failed; the others are open.
func (p *produceProbe) abandoned(o op, tps []kafka.TopicPartition) {
	tps = slices.DeleteFunc(tps, func(tp kafka.TopicPartition) bool { return !p.overtaken(tp, o.intendedNs) })
	p.failed(tps, failure{intendedNs: o.intendedNs, by: kafka.NoLeader})
}

// produceRequest names partitions of one leader; tps is sorted.
func produceRequest(tps []kafka.TopicPartition, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = 1, int32(produceTimeout.Milliseconds())
	for _, tp := range tps {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewProduceRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = tp.Partition, batch
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, part)
	}
	return req
}

// begin forgets what was before the fault.
func (p *produceProbe) begin(ns int64) {
	p.outageBook.begin(ns)
	p.curve.begin(ns)
}

// stop ends the probe and gives how it kept its times.
func (p *produceProbe) stop() slips {
	p.cancel()
	<-p.done
	for _, peer := range p.peers {
		peer.close()
	}
	return p.slips
}

// awaitAcks waits until each partition has an acknowledgement of a produce
// due at ns or later.
func (p *produceProbe) awaitAcks(ctx context.Context, timeout time.Duration, ns int64) error {
	var missing kafka.TopicPartition
	err := await(ctx, timeout, "an acknowledged produce to each sampled partition", func() (ok bool) {
		missing, ok = p.ackedSince(ns)
		return ok
	})
	if err == nil {
		return nil
	}
	if why := p.refused.Load(); why != nil {
		return fmt.Errorf("%w; none of %s; the last that failed: %w", err, missing, *why)
	}
	return fmt.Errorf("%w; none of %s", err, missing)
}

// smallBatch is a record batch with one record of 8 bytes.
func smallBatch(timestampMs int64) []byte { return recordBatch(timestampMs, 1, len(payload)) }

// payload is repeated to fill records.
const payload = "kbench.."

// recordBatch is a record batch (magic 2) of n records of a size, without a
// producer id.
func recordBatch(timestampMs int64, n, sizeBytes int) []byte {
	value := []byte(strings.Repeat(payload, sizeBytes/len(payload)+1)[:sizeBytes])
	var records []byte
	for i := range n {
		r := kmsg.NewRecord()
		r.Value, r.OffsetDelta = value, int32(i)
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length of zero took one byte
		records = r.AppendTo(records)
	}
	b := kmsg.NewRecordBatch()
	b.Magic, b.PartitionLeaderEpoch = 2, -1
	b.FirstTimestamp, b.MaxTimestamp = timestampMs, timestampMs
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
	b.NumRecords, b.LastOffsetDelta, b.Records = int32(n), int32(n-1), records
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
