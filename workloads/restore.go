package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
)

const (
	// electBatch bounds one ElectLeaders: every election is a record.
	electBatch = 5000
	// maxElectRounds bounds the rounds without progress.
	maxElectRounds = 20
)

// bringBack undoes the fault, waits for the cluster's health and gives the
// leaderships back. A trial after which the cluster does not become healthy is
// invalid, and the error ends the workload.
func (t *trialRun) bringBack(ctx context.Context, victim kafka.BrokerID, fault Fault) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.phase("restore")
	undo := fault.Undo()
	healedNs, err := t.undo(ctx, victim, undo)
	if err != nil {
		t.invalid("node %d could not be brought back: %v", victim, err)
		return fmt.Errorf("%s node %d: %w", undo, victim, err)
	}
	t.event(EventHealed, t.out.N, victim, healedNs, "%s", undo)
	if err := t.healthy(ctx); err != nil {
		t.invalid("not healthy after the fault: %v", err)
		return err
	}
	t.event(EventPhase, t.out.N, victim, trace.Now(), "healthy again")
	if err := t.rebalance(ctx); err != nil {
		t.invalid("leaders are not balanced after the fault: %v", err)
		return err
	}
	t.event(EventRestored, t.out.N, victim, trace.Now(), "healthy and balanced")
	return nil
}

// undo brings a node back and says when. One that did not stop when it was
// told to is killed first.
func (t *trialRun) undo(ctx context.Context, victim kafka.BrokerID, how Fault) (ns int64, err error) {
	ns, err = t.Cluster.Inject(ctx, victim, how)
	if err == nil || how != FaultStart {
		return ns, err
	}
	if _, kerr := t.Cluster.Inject(ctx, victim, FaultKill); kerr != nil {
		return 0, errors.Join(err, kerr)
	}
	if e := <-t.awaitExit(ctx, victim); e.err != nil {
		return 0, errors.Join(err, e.err)
	}
	return t.Cluster.Inject(ctx, victim, how)
}

func (t *loss) restore(ctx context.Context) error { return t.bringBack(ctx, t.victim, t.fault) }

// rebalance has the first replica of each partition elected, so that the next
// trial finds the leaderships spread as the first did. Where elections are not
// served it leaves them be and says so.
func (t *trialRun) rebalance(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.p.TrialTimeout, fmt.Errorf("not within %v", t.p.TrialTimeout))
	defer cancel()
	least, idle := -1, 0
	for {
		left, err := t.unbalanced(ctx)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if least >= 0 && len(left) >= least {
			idle++
		} else {
			least, idle = len(left), 0
		}
		if idle == maxElectRounds {
			return fmt.Errorf("%d partitions are not led by their first replica after %d elections without progress", len(left), idle)
		}
		err = t.electAll(ctx, left)
		if errors.Is(err, errNotServed) {
			t.note(0, "%d partitions stay with another leader than their first replica: elections are not served", len(left))
			return nil
		}
		if err != nil && ctx.Err() == nil {
			t.admin.forget()
		}
		// Elections reach the brokers a little later than their answer.
		if pause(ctx, min(time.Duration(1+idle)*50*time.Millisecond, time.Second)) != nil {
			return fmt.Errorf("elect preferred leaders of %d partitions: %w", len(left), errors.Join(context.Cause(ctx), err))
		}
	}
}

// unbalanced lists what the first live broker serves as led by another than
// its first replica.
func (t *trialRun) unbalanced(ctx context.Context) ([]kafka.TopicPartition, error) {
	live := liveBrokers(t.Cluster)
	if len(live) == 0 {
		return nil, errors.New("no live broker")
	}
	p := newPeer(live[0])
	defer p.close()
	m, err := sweep(ctx, p)
	if err != nil {
		return nil, err
	}
	return notPreferred(t.own(m)), nil
}

// electAll asks for all elections before anybody looks again: a look at millions
// of partitions takes longer than a batch of elections.
func (t *trialRun) electAll(ctx context.Context, tps []kafka.TopicPartition) error {
	for batch := range slices.Chunk(tps, electBatch) {
		if err := t.elect(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (t *trialRun) elect(ctx context.Context, tps []kafka.TopicPartition) error {
	ctx, cancel := context.WithTimeout(ctx, 35*time.Second)
	defer cancel()
	addr, err := t.admin.target(ctx)
	if err != nil {
		return err
	}
	resp, err := t.admin.send(ctx, addr, apiElectLeaders, electRequest(tps))
	if err != nil {
		return err
	}
	return kafka.ErrorCode(resp.(*kmsg.ElectLeadersResponse).ErrorCode).Err()
}
