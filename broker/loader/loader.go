package loader

import (
	"errors"
	"fmt"
	"iter"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// Publication is an image to be shown from now on; Offset and Epoch of it are
// those of the last record that it holds.
type Publication struct {
	Image *metadata.Image
	// Delta is what changed since the publication before, the empty image at
	// first; nil where the image came about otherwise, by a snapshot or with a
	// transaction that began before the broker had caught up.
	Delta *metadata.Delta
}

// Loader is the metadata of one broker: what it has read and what it shows.
type Loader struct {
	show     func(Publication)
	shown    *metadata.Image // of the last publication, empty before the first
	delta    *metadata.Delta // changes that are not published
	pending  bool            // the delta, or only its offset, is ahead of the image
	caughtUp bool
	inTxn    bool
	last     kafka.Offset // of the last record replayed
	epoch    kafka.LeaderEpoch
}

// New gives a loader that has read nothing. It calls show in the order of the
// offsets, within Commit and LoadSnapshot.
func New(show func(Publication)) *Loader {
	empty := metadata.Empty()
	return &Loader{show: show, shown: empty, delta: metadata.NewDelta(empty), last: kafka.NoOffset}
}

// Commit replays committed batches, which follow what was read before, and
// publishes the outcome. The high watermark is NoOffset where it is unknown. An
// error is final.
func (l *Loader) Commit(batches []metalog.Batch, highWatermark kafka.Offset) error {
	for i := range batches {
		b := &batches[i]
		if !b.Control {
			if err := l.replayBatch(b); err != nil {
				return err
			}
		}
		l.reached(b.EndOffset()-1, b.Epoch)
	}
	l.mayPublish(highWatermark)
	return nil
}

// LoadSnapshot replaces all metadata by a snapshot's, whose data records have the
// values. An error is final.
func (l *Loader) LoadSnapshot(id metalog.SnapshotID, values iter.Seq2[[]byte, error], highWatermark kafka.Offset) error {
	d := metadata.NewDelta(metadata.Empty())
	n := 0
	for value, err := range values {
		if err != nil {
			return err
		}
		r, _, err := metadata.ReadRecord(value)
		if err == nil {
			err = d.Replay(r)
		}
		if err != nil {
			return fmt.Errorf("data record %d of the snapshot: %w", n, err)
		}
		n++
	}
	l.delta, l.inTxn = d, false
	l.reached(id.EndOffset-1, id.Epoch)
	l.mayPublish(highWatermark)
	return nil
}

func (l *Loader) reached(last kafka.Offset, epoch kafka.LeaderEpoch) {
	l.last, l.epoch, l.pending = last, epoch, true
}

func (l *Loader) replayBatch(b *metalog.Batch) error {
	for j := range b.Records {
		offset := b.BaseOffset + kafka.Offset(j)
		r, _, err := metadata.ReadRecord(b.Records[j].Value)
		if err == nil {
			err = l.replay(r)
		}
		if err != nil {
			return fmt.Errorf("record at offset %d: %w", offset, err)
		}
		l.reached(offset, b.Epoch)
	}
	return nil
}

// replay makes the change of one record, and heeds the bounds of transactions.
func (l *Loader) replay(r metadata.Record) error {
	switch r.(type) {
	case *metadata.BeginTransactionRecord:
		if l.inTxn {
			return errors.New("a metadata transaction begins inside another")
		}
		l.settle()
		l.inTxn = true
	case *metadata.EndTransactionRecord:
		if !l.inTxn {
			return errors.New("a metadata transaction ends that did not begin")
		}
		l.inTxn = false
	case *metadata.AbortTransactionRecord:
		if !l.inTxn {
			return errors.New("a metadata transaction is aborted that did not begin")
		}
		l.inTxn = false
		l.delta = metadata.NewDelta(l.delta.Base())
	}
	return l.delta.Replay(r)
}

// settle makes what was replayed so far the base to which an aborted transaction
// goes back, and publishes it if the broker has caught up.
func (l *Loader) settle() {
	switch {
	case !l.pending:
	case l.caughtUp:
		l.publish()
	default:
		l.delta = metadata.NewDelta(l.delta.Apply(l.last, int32(l.epoch)))
	}
}

// mayPublish publishes what there is once the broker has caught up, and no
// transaction is open.
func (l *Loader) mayPublish(highWatermark kafka.Offset) {
	if !l.caughtUp {
		l.caughtUp = highWatermark != kafka.NoOffset && l.last+1 >= highWatermark
	}
	if l.caughtUp && !l.inTxn {
		l.publish()
	}
}

// publish shows the delta's image.
func (l *Loader) publish() {
	if !l.pending {
		return
	}
	p := Publication{Image: l.delta.Apply(l.last, int32(l.epoch))}
	if l.delta.Base() == l.shown {
		p.Delta = l.delta
	}
	l.shown, l.delta, l.pending = p.Image, metadata.NewDelta(p.Image), false
	l.show(p)
}
