package kraftcontroller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// snapshots says when a snapshot is due; one at a time is written.
type snapshots struct {
	bytes   int64 // of log since the last
	at      time.Duration
	writing chan struct{} // closed when none is being written
}

func newSnapshots(now time.Duration) snapshots {
	s := snapshots{at: now, writing: make(chan struct{})}
	close(s.writing)
	return s
}

func (s *snapshots) grew(bytes int64) { s.bytes += bytes }

// loaded counts a snapshot that came from elsewhere.
func (s *snapshots) loaded(now time.Duration) { s.bytes, s.at = 0, now }

func (s *snapshots) busy() bool {
	select {
	case <-s.writing:
		return false
	default:
		return true
	}
}

// join waits for the snapshot being written; its context has ended.
func (s *snapshots) join() { <-s.writing }

// maybeSnapshot begins a snapshot at the end of the committed batch b if one is
// due. The image must be that of the batch's end, which it is not while a
// metadata transaction is open.
func (c *Controller) maybeSnapshot(ctx context.Context, b *metalog.Batch) {
	s := &c.snapshots
	due := s.bytes >= c.cfg.SnapshotBytes || (s.bytes > 0 && c.now()-s.at >= c.cfg.SnapshotInterval)
	image := c.m.Image()
	if !due || s.busy() || b.Control || image.Offset() != b.EndOffset()-1 {
		return
	}
	s.loaded(c.now())
	s.writing = make(chan struct{})
	id, timestamp := endOf(b), b.Timestamp
	go func() {
		defer close(s.writing)
		start := c.now()
		size, err := c.writeSnapshot(ctx, id, timestamp, image)
		switch {
		case err == nil:
			c.counters.snapshotted.Store(size)
			c.counters.snapshotAt.Store(int64(c.now()))
			c.log.Info("wrote a snapshot", "endOffset", id.EndOffset, "bytes", size, "took", c.now()-start)
		case errors.Is(err, raftclient.ErrClosed) || ctx.Err() != nil:
		default: // the log is whole without it, and another is tried; if not, the client stops
			c.log.Error("cannot write a snapshot", "endOffset", id.EndOffset, "err", err)
		}
	}()
}

func (c *Controller) writeSnapshot(ctx context.Context, id metalog.SnapshotID, timestamp int64, image *metadata.Image) (int64, error) {
	w, err := c.client.NewSnapshot(id, timestamp)
	if err != nil {
		return 0, err
	}
	version := metadata.MetadataVersion(image.FeatureLevel(metadata.MetadataVersionFeature))
	var chunk []byte // holds the values of many records; a full one is left to them
	n := 0
	for r := range image.Records() {
		if n++; n%64 == 0 {
			if ctx.Err() != nil {
				return 0, errors.Join(ctx.Err(), c.client.AbandonSnapshot(w))
			}
			runtime.Gosched() // changes go on meanwhile, and each passes many goroutines
		}
		if cap(chunk)-len(chunk) < 1024 {
			chunk = make([]byte, 0, 256<<10)
		}
		start := len(chunk)
		chunk, err = metadata.AppendRecord(chunk, r, version.RecordVersion(r))
		if err == nil {
			err = w.Append(chunk[start:len(chunk):len(chunk)])
		}
		if err != nil {
			return 0, errors.Join(fmt.Errorf("record %d, %T: %w", n, r, err), c.client.AbandonSnapshot(w))
		}
	}
	if err := c.client.FinishSnapshot(ctx, w); err != nil {
		return 0, err
	}
	return w.Size(), nil
}
