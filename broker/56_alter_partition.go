package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/replica"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

const (
	// alterBatch bounds the partitions of one AlterPartition request: under
	// the 10,000 records of one controller operation.
	alterBatch = 5000
	// alterRetry is how long a proposal waits that the controller could not
	// take for the time being, or did not answer.
	alterRetry = 200 * time.Millisecond
)

// runAlter sends ISR changes to the controller, one request in flight, as
// Kafka's AlterPartitionManager does.
func (b *Broker) runAlter(ctx context.Context) {
	var retry <-chan time.Time // runs while proposals wait for another attempt
	for {
		select {
		case <-b.replicas.ISRReady():
		case <-retry:
			retry = nil
			b.replicas.RetryISR()
			continue // it made ISRReady readable
		case <-ctx.Done():
			return
		}
		for more := true; more && ctx.Err() == nil; {
			var proposals []*replica.Proposal
			proposals, more = b.replicas.Take(b.now(), alterBatch, b.eligible)
			if len(proposals) == 0 {
				continue
			}
			again, err := b.alterPartitions(ctx, proposals)
			if err != nil && !pause(ctx, alterRetry) { // nobody to ask: what else waits would fail too
				return
			}
			if again && retry == nil {
				retry = time.After(alterRetry)
			}
		}
	}
}

// alterPartitions asks for a batch of ISR changes and hands each its outcome.
// It reports whether some wait for another attempt; the error says that the
// request as a whole failed, so that what became of it is not known.
func (b *Broker) alterPartitions(ctx context.Context, proposals []*replica.Proposal) (again bool, err error) {
	outcomes, err := b.sendAlter(ctx, proposals)
	if err != nil {
		b.log.Debug("AlterPartition failed", "partitions", len(proposals), "reason", err)
	}
	for i, p := range proposals {
		o := replica.Outcome{Code: kafka.NetworkException}
		if err == nil {
			o = outcomes[i]
			b.tellAcked(p, o)
		}
		again = b.replicas.Complete(p, o) || again
	}
	return again, err
}

// ackedPerSecond bounds what the trace tells of acknowledged ISRs: the next
// seconds have more, and traces are for what is rare.
const ackedPerSecond = 20

// acked counts what was told in a second of Broker.now.
type acked struct {
	second int64
	told   int
}

// tellAcked traces an acknowledged state of a partition, of which a run is judged
// by the first of each second. It is for runAlter alone.
func (b *Broker) tellAcked(p *replica.Proposal, o replica.Outcome) {
	if b.cfg.Trace == nil || o.Code != kafka.None {
		return
	}
	if second := b.now() / int64(time.Second); second != b.acked.second {
		b.acked.second, b.acked.told = second, 0
	}
	if b.acked.told++; b.acked.told > ackedPerSecond {
		return
	}
	e := trace.Event{
		Kind: trace.BrokerISRAcknowledged, Topic: p.Topic, Partition: p.Partition,
		Broker: int32(o.Leader), Epoch: int64(o.LeaderEpoch), N: int64(o.PartitionEpoch), ISR: trace.IDs(o.ISR),
	}
	if !p.TopicID.IsZero() {
		e.TopicID = p.TopicID.String()
	}
	b.cfg.Trace.Emit(e)
}

type partitionRef struct {
	name string
	id   kafka.UUID
	p    int32
}

// sendAlter gives one outcome for each proposal, or an error for all.
func (b *Broker) sendAlter(ctx context.Context, proposals []*replica.Proposal) ([]replica.Outcome, error) {
	if w, ok := b.plane.(isrWriter); ok && w.writesISR() {
		return w.writeISR(ctx, proposals)
	}
	var version int16
	kresp, err := b.alter.request(ctx, func(v wire.Versions) (kmsg.Request, error) {
		most := int16(3)
		for _, p := range proposals {
			if p.TopicID.IsZero() {
				most = 1
			}
		}
		var err error
		version, err = v.Pick(int16(kmsg.AlterPartition), 0, most)
		return b.alterRequest(version, proposals), err
	})
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.AlterPartitionResponse)
	if err := kafka.ErrorCode(resp.ErrorCode).Err(); err != nil {
		return nil, fmt.Errorf("AlterPartition: %w", err)
	}
	return matchOutcomes(version, proposals, resp), nil
}

func (b *Broker) alterRequest(version int16, proposals []*replica.Proposal) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = version
	req.BrokerID, req.BrokerEpoch = int32(b.cfg.ID), int64(b.plane.epoch())
	at := map[string]int{}
	for _, p := range proposals {
		i, ok := at[p.Topic]
		if !ok {
			i = len(req.Topics)
			at[p.Topic] = i
			t := kmsg.NewAlterPartitionRequestTopic()
			t.Topic, t.TopicID = p.Topic, p.TopicID
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewAlterPartitionRequestTopicPartition()
		part.Partition, part.LeaderEpoch, part.PartitionEpoch = p.Partition, int32(p.LeaderEpoch), int32(p.PartitionEpoch)
		for _, m := range p.ISR {
			if version >= 3 {
				e := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
				e.BrokerID, e.BrokerEpoch = int32(m.ID), int64(m.Epoch)
				part.NewEpochISR = append(part.NewEpochISR, e)
			} else {
				part.NewISR = append(part.NewISR, int32(m.ID))
			}
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
	}
	return req
}

// matchOutcomes finds each proposal's part of the response; one that is
// missing failed.
func matchOutcomes(version int16, proposals []*replica.Proposal, resp *kmsg.AlterPartitionResponse) []replica.Outcome {
	byRef := make(map[partitionRef]*kmsg.AlterPartitionResponseTopicPartition, len(proposals))
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			byRef[partitionRef{t.Topic, t.TopidID, t.Partitions[j].Partition}] = &t.Partitions[j]
		}
	}
	outcomes := make([]replica.Outcome, len(proposals))
	for i, p := range proposals {
		ref := partitionRef{name: p.Topic, p: p.Partition}
		if version >= 2 {
			ref = partitionRef{id: p.TopicID, p: p.Partition}
		}
		part := byRef[ref]
		if part == nil {
			outcomes[i].Code = kafka.UnknownServerError
			continue
		}
		o := replica.Outcome{
			Code: kafka.ErrorCode(part.ErrorCode), Leader: kafka.BrokerID(part.LeaderID),
			LeaderEpoch: kafka.LeaderEpoch(part.LeaderEpoch), PartitionEpoch: kafka.PartitionEpoch(part.PartitionEpoch),
		}
		for _, id := range part.ISR {
			o.ISR = append(o.ISR, kafka.BrokerID(id))
		}
		outcomes[i] = o
	}
	return outcomes
}
