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

// delivery is how far the Listener has come.
type delivery struct {
	next kafka.Offset
	told LeaderAndEpoch
}

// deliverLoop calls the Listener until ctx ends or it fails.
func (c *Client) deliverLoop(ctx context.Context) {
	d := delivery{told: LeaderAndEpoch{Leader: raft.None}}
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
func (c *Client) deliver(d *delivery) (bool, error) {
	s := c.view()
	if leader := (LeaderAndEpoch{s.role.LeaderID, s.role.Epoch}); leader != d.told {
		// A leader hears of itself when its own epoch start is committed and
		// handed over, everybody else at once.
		if !s.leads(c.cfg.NodeID) || d.next > s.role.EpochStart {
			d.told = leader
			c.cfg.Listener.HandleLeaderChange(leader)
			return true, nil
		}
		if d.told.Leader != raft.None && d.told.Epoch < leader.Epoch {
			d.told = LeaderAndEpoch{raft.None, leader.Epoch}
			c.cfg.Listener.HandleLeaderChange(d.told)
			return true, nil
		}
	}
	if id, ok := c.log.LatestSnapshot(); ok && (d.next < c.log.StartOffset() || d.next == 0) && id.EndOffset > d.next {
		return true, c.loadSnapshot(d, id)
	}
	if s.hw == kafka.NoOffset || d.next >= s.hw {
		return false, nil
	}
	return c.deliverBatches(d, s.hw)
}

func (c *Client) deliverBatches(d *delivery, hw kafka.Offset) (bool, error) {
	raw, err := c.log.Read(d.next, deliverBytes)
	if errors.Is(err, kafka.OffsetOutOfRange) {
		// A snapshot has taken the log's place since; its arrival wakes us.
		return d.next < c.log.StartOffset(), nil
	}
	if err != nil {
		return false, err
	}
	batches, err := metalog.ReadBatches(raw)
	if err != nil {
		return false, fmt.Errorf("read committed records from offset %d: %w", d.next, err)
	}
	n := 0
	for n < len(batches) && batches[n].EndOffset() <= hw {
		n++
	}
	if n == 0 {
		return false, nil // the high watermark is inside the batch
	}
	if err := c.cfg.Listener.HandleCommit(batches[:n]); err != nil {
		return false, fmt.Errorf("apply committed records from offset %d: %w", d.next, err)
	}
	d.next = batches[n-1].EndOffset()
	if c.dir == nil { // in memory only what was not delivered is kept
		if _, err := c.log.DropPrefix(d.next); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *Client) loadSnapshot(d *delivery, id metalog.SnapshotID) error {
	r, err := c.log.OpenSnapshot(id)
	if errors.Is(err, kafka.SnapshotNotFound) {
		return nil // a newer one has replaced it
	}
	if err != nil {
		return err
	}
	err = c.cfg.Listener.HandleLoadSnapshot(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("load snapshot %v: %w", id, err)
	}
	d.next = id.EndOffset
	return nil
}
