package raftclient

import (
	"context"
	"errors"
	"fmt"

	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// NewSnapshot begins a snapshot of the state that the Listener has at
// id.EndOffset, which must be the end of a committed batch; lastTimestamp is
// that batch's. The caller writes it on any goroutine and hands it to
// FinishSnapshot or AbandonSnapshot.
func (c *Client) NewSnapshot(id metalog.SnapshotID, lastTimestamp int64) (*metalog.SnapshotWriter, error) {
	if hw := c.HighWatermark(); id.EndOffset > hw {
		return nil, fmt.Errorf("snapshot %v is above the high watermark %d", id, hw)
	}
	if latest, ok := c.log.LatestSnapshot(); ok && latest.Compare(id) >= 0 {
		return nil, fmt.Errorf("snapshot %v is not newer than %v", id, latest)
	}
	if err := c.log.CheckSnapshotID(id); err != nil {
		return nil, err
	}
	q, err := c.quorumAt(id)
	if err != nil {
		return nil, err
	}
	w, err := c.log.NewSnapshot(id, lastTimestamp, q)
	if err != nil {
		c.stopIfLogFailed()
		return nil, err
	}
	return w, nil
}

// quorumAt is what the snapshot id must say of the quorum.
func (c *Client) quorumAt(id metalog.SnapshotID) (metalog.Quorum, error) {
	var q metalog.Quorum
	if latest, ok := c.log.LatestSnapshot(); ok {
		var err error
		if q, err = c.log.SnapshotQuorum(latest); err != nil {
			return q, err
		}
	}
	for _, change := range c.log.QuorumChanges() {
		if change.Offset >= id.EndOffset {
			break
		}
		if change.Level != metalog.Unchanged {
			q.Level = change.Level
		}
		if change.Voters != nil {
			q.Voters = change.Voters
		}
	}
	return q, nil
}

// FinishSnapshot makes the snapshot durable and the quorum's, and drops what is
// older where more than RetentionBytes of log are kept, or older than RetentionAge.
func (c *Client) FinishSnapshot(ctx context.Context, w *metalog.SnapshotWriter) error {
	if err := w.Freeze(); err != nil {
		return errors.Join(err, c.AbandonSnapshot(w))
	}
	return c.send(ctx, event{do: func() error { return c.snapshotTaken(w.ID()) }})
}

// AbandonSnapshot gives up a snapshot that was begun, whether or not it could be
// written. Where that has failed in a way that is final for the log, the node
// stops: a failed fsync is never passed over.
func (c *Client) AbandonSnapshot(w *metalog.SnapshotWriter) error {
	c.stopIfLogFailed()
	return w.Close()
}

// stopIfLogFailed stops the client, from another goroutine, where the log takes
// nothing any more.
func (c *Client) stopIfLogFailed() {
	if err := c.log.Failed(); err != nil {
		c.fail(err)
	}
}

// snapshotTaken tells the machine and drops old log, on the goroutine that
// also reads it for fetches. One that a fetched snapshot has overtaken is
// nobody's business any more.
func (c *Client) snapshotTaken(id metalog.SnapshotID) error {
	if id.EndOffset < c.machine.LogStart() {
		return nil
	}
	// The machine hears of it before the log goes, which it may have to read.
	if _, err := c.step(raft.SnapshotTaken{ID: raft.SnapshotID(id)}); err != nil {
		return err
	}
	c.owned = append(c.owned, raft.Tick{}) // for the deadline
	keep, over := id, c.log.SizeBytes() > c.cfg.RetentionBytes
	if !over {
		var err error
		if keep, over, err = c.log.Expired(c.cfg.Now().Add(-c.cfg.RetentionAge).UnixMilli()); err != nil || !over {
			return err
		}
	}
	before := c.log.StartOffset()
	start, err := c.log.DeleteSnapshotsBefore(keep)
	if err != nil {
		return err
	}
	if start > before {
		c.owned = append(c.owned, raft.LogStartMoved{Offset: start})
	}
	return nil
}
