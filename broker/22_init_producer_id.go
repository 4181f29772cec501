package broker

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
)

// handleInitProducerID gives an idempotent producer its id from the block that
// the controller gave this broker (KIP-730). Transactions have no coordinator
// here.
func (b *Broker) handleInitProducerID(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil {
		resp.ErrorCode = int16(kafka.CoordinatorNotAvailable)
		return resp, nil
	}
	if req.ProducerID >= 0 && req.ProducerEpoch >= 0 && req.ProducerEpoch < math.MaxInt16-1 {
		resp.ProducerID, resp.ProducerEpoch = req.ProducerID, req.ProducerEpoch+1 // KIP-360
		return resp, nil
	}
	id, err := b.producers.next(ctx)
	if err != nil {
		b.log.Info("no producer id", "reason", err)
		resp.ErrorCode = int16(kafka.CoordinatorNotAvailable) // clients try again
		return resp, nil
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp, nil
}

// producerIDs hands out producer ids of blocks that the controller allocates.
type producerIDs struct {
	b  *Broker
	ch *channel

	mu        sync.Mutex // held while a block is asked for: others need it as well
	first, at int64
	length    int64
}

func (p *producerIDs) init(b *Broker) { p.b, p.ch = b, b.newChannel("producer-ids") }

func (p *producerIDs) next(ctx context.Context) (int64, error) {
	if !p.mu.TryLock() {
		wire.Park(ctx)
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	if p.at >= p.length {
		if err := p.allocate(ctx); err != nil {
			return -1, err
		}
	}
	p.at++
	return p.first + p.at - 1, nil
}

func (p *producerIDs) allocate(ctx context.Context) error {
	if t, ok := p.b.plane.(blockTaker); ok && t.takesProducerIDs() {
		first, length, err := t.takeProducerIDs(ctx)
		if err == nil {
			p.first, p.length, p.at = first, length, 0
		}
		return err
	}
	wire.Park(ctx) // Kafka's brokers ask for blocks on a thread of their own
	kresp, err := p.ch.request(ctx, func(wire.Versions) (kmsg.Request, error) {
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = int32(p.b.cfg.ID), int64(p.b.plane.epoch())
		return req, nil
	})
	if err != nil {
		return err
	}
	resp := kresp.(*kmsg.AllocateProducerIDsResponse)
	if err := kafka.ErrorCode(resp.ErrorCode).Err(); err != nil {
		return fmt.Errorf("AllocateProducerIds: %w", err)
	}
	if resp.ProducerIDLen <= 0 || resp.ProducerIDStart < 0 {
		return fmt.Errorf("AllocateProducerIds: controller gave a block of %d ids from %d", resp.ProducerIDLen, resp.ProducerIDStart)
	}
	p.first, p.length, p.at = resp.ProducerIDStart, int64(resp.ProducerIDLen), 0
	return nil
}
