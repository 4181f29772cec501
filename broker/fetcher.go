package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/replica"
	"kbench/kafka/wire"
)

const (
	// followerFetchVersion has topic ids (13) and the follower's broker epoch
	// (15, KIP-903).
	followerFetchVersion = 15
	// namedFetchVersion serves topics that have no id.
	namedFetchVersion = 12
	// Reconnects to a leader back off as Kafka's reconnect.backoff does.
	reconnectMin = 50 * time.Millisecond
	reconnectMax = time.Second
)

// startFetcher gives a leader broker its fetcher goroutine.
func (b *Broker) startFetcher(f *replica.Fetcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx == nil {
		b.waiting = append(b.waiting, f)
		return
	}
	if ctx := b.ctx; !b.ending {
		b.wg.Go(func() { b.runFetcher(ctx, f) })
	}
}

// runFetcher follows one leader broker until ctx ends, connecting again as
// often as needed.
func (b *Broker) runFetcher(ctx context.Context, f *replica.Fetcher) {
	backoff := reconnectMin
	for ctx.Err() == nil {
		if !b.awaitMembers(ctx, f) {
			return
		}
		began := b.cfg.Now()
		err := b.follow(ctx, f)
		if ctx.Err() != nil {
			return
		}
		b.log.Debug("replica fetcher stopped", "leader", int32(f.Leader()), "reason", err)
		if b.cfg.Now().Sub(began) > reconnectMax {
			backoff = reconnectMin
		}
		if !pause(ctx, backoff) {
			return
		}
		backoff = min(2*backoff, reconnectMax)
	}
}

// awaitMembers waits until there is something to follow.
func (b *Broker) awaitMembers(ctx context.Context, f *replica.Fetcher) bool {
	for b.replicas.Idle(f) {
		select {
		case <-f.Wake():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// follow fetches over one connection until it fails.
func (b *Broker) follow(ctx context.Context, f *replica.Fetcher) error {
	addr, ok := b.addressOf(f.Leader())
	if !ok {
		return fmt.Errorf("broker %d is not in the metadata or has no listener %s", f.Leader(), b.listener())
	}
	dialing, cancel := context.WithTimeout(ctx, b.cfg.RequestTimeout)
	conn, err := wire.Dial(dialing, addr, b.dialOptions("fetcher", b.cfg.Identity))
	cancel()
	if err != nil {
		return err
	}
	defer conn.Close()
	b.replicas.Reset(f)
	for {
		req := b.followerRequest()
		wait, ok := b.replicas.Build(b.now(), f, req, b.cfg.FetchWait)
		if !ok {
			select {
			case <-f.Wake():
				continue
			case <-conn.Done():
				return conn.Err()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := b.fetchOnce(ctx, conn, f, req, wait); err != nil {
			return err
		}
	}
}

func (b *Broker) followerRequest() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = followerFetchVersion
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(b.cfg.ID), int64(b.plane.epoch())
	req.MinBytes, req.MaxBytes = 1, 10<<20
	return req
}

func (b *Broker) fetchOnce(ctx context.Context, conn *wire.Conn, f *replica.Fetcher, req *kmsg.FetchRequest, wait time.Duration) error {
	req.MaxWaitMillis = int32((wait + time.Millisecond - 1) / time.Millisecond)
	for i := range req.Topics {
		if req.Topics[i].TopicID == [16]byte{} {
			req.Version, req.ReplicaID = namedFetchVersion, int32(b.cfg.ID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait+b.cfg.RequestTimeout)
	defer cancel()
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return err
	}
	if err := b.replicas.Handle(b.now(), f, resp.(*kmsg.FetchResponse)); err != nil {
		return fmt.Errorf("fetch from broker %d: %w", f.Leader(), err)
	}
	return nil
}
