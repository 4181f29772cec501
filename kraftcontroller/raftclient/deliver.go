package raftclient

import (
	"context"
	"errors"
	"fmt"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// deliverBytes bounds what is read from the log for one HandleCommit, beyond one
// batch: a broker publishes what it is given together.
const deliverBytes = 256 << 10

// deliverLoop calls the Listener until ctx ends or it fails.
func (c *Client) deliverLoop(ctx context.Context) {
	d := raft.NewDelivery()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = c.deliver(&d); err != nil {
				c.fail(err)
				return
			}
		}
	}
}

// deliver does one thing for the Listener and says whether there may be more.
func (c *Client) deliver(d *raft.Delivery) (bool, error) {
	view := c.view()
	latest, _ := c.log.LatestSnapshot()
	s := raft.Standing{NodeID: c.cfg.NodeID, Role: view.role, HighWatermark: view.hw, LogStart: c.log.StartOffset(), Snapshot: raft.SnapshotID(latest)}
	switch d.Due(&s) {
	case raft.LeaderDue:
		c.cfg.Listener.HandleLeaderChange(d.Leader())
		return true, nil
	case raft.SnapshotDue:
		return true, c.loadSnapshot(d, latest)
	case raft.BatchesDue:
		return c.deliverBatches(d, &s)
	}
	return false, nil
}

func (c *Client) deliverBatches(d *raft.Delivery, s *raft.Standing) (bool, error) {
	from := d.Next()
	raw, err := c.log.Read(from, deliverBytes)
	if errors.Is(err, kafka.OffsetOutOfRange) {
		// A snapshot has taken the log's place since; its arrival wakes us.
		return from < c.log.StartOffset(), nil
	}
	if err != nil {
		return false, err
	}
	batches, err := metalog.ReadBatches(raw)
	if err != nil {
		return false, fmt.Errorf("read committed records from offset %d: %w", from, err)
	}
	n := 0
	for n < len(batches) && d.Take(s, batches[n].EndOffset()) {
		n++
	}
	if n == 0 {
		return false, nil // the high watermark is inside the batch
	}
	if err := c.cfg.Listener.HandleCommit(batches[:n]); err != nil {
		return false, fmt.Errorf("apply committed records from offset %d: %w", from, err)
	}
	if c.dir == nil { // in memory only what was not delivered is kept
		if _, err := c.log.DropPrefix(d.Next()); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *Client) loadSnapshot(d *raft.Delivery, id metalog.SnapshotID) error {
	r, err := c.log.OpenSnapshot(id)
	if errors.Is(err, kafka.SnapshotNotFound) {
		return nil // a newer one has replaced it
	}
	if err != nil {
		return err
	}
	err = c.cfg.Listener.HandleLoadSnapshot(r)
	if errors.Is(err, metalog.ErrCorrupt) || errors.Is(err, metalog.ErrShort) {
		err = fmt.Errorf("%w: %s", err, metalog.StartAnew)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("load snapshot %v: %w", id, err)
	}
	d.Skip(id.EndOffset)
	return nil
}
