package broker

import (
	"errors"
	"fmt"
	"io"

	"kbench/broker/replica"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// publisher turns committed records into images, in Kafka's order: the image
// first, then the replicas. Its methods run on the raft client's goroutine.
//
// Until the broker has caught up with the high watermark once, nothing is
// published; records of an open metadata transaction (KIP-866) are held back
// until it ends.
type publisher struct {
	p        *kraftPlane
	delta    *metadata.Delta // changes that are not published
	pending  bool            // the delta, or only its offset, is ahead of the image
	caughtUp bool
	inTxn    bool
	last     kafka.Offset // of the last record replayed
	stamp    int64        // of its batch, ms since 1970
	epoch    kafka.LeaderEpoch
}

// HandleCommit replays committed batches and publishes the outcome.
func (u *publisher) HandleCommit(batches []metalog.Batch) error {
	for i := range batches {
		b := &batches[i]
		if !b.Control {
			if err := u.replayBatch(b); err != nil {
				u.p.applied.failed.Add(1)
				return err
			}
		}
		u.last, u.epoch, u.pending, u.stamp = b.EndOffset()-1, b.Epoch, true, b.Timestamp
	}
	if !u.caughtUp {
		hw := u.p.client.HighWatermark()
		u.caughtUp = hw != kafka.NoOffset && u.last+1 >= hw
	}
	if u.caughtUp && !u.inTxn {
		u.publish()
	}
	return nil
}

func (u *publisher) replayBatch(b *metalog.Batch) error {
	for j := range b.Records {
		offset := b.BaseOffset + kafka.Offset(j)
		r, _, err := metadata.ReadRecord(b.Records[j].Value)
		if err == nil {
			err = u.replay(r, offset)
		}
		if err != nil {
			return fmt.Errorf("record at offset %d: %w", offset, err)
		}
	}
	return nil
}

// replay makes the change of one record, and heeds the bounds of transactions.
func (u *publisher) replay(r metadata.Record, offset kafka.Offset) error {
	switch r.(type) {
	case *metadata.BeginTransactionRecord:
		if u.inTxn {
			return errors.New("a metadata transaction begins inside another")
		}
		if u.pending && u.caughtUp {
			u.publish()
		} else if u.pending {
			u.rebase()
		}
		u.inTxn = true
	case *metadata.EndTransactionRecord:
		u.inTxn = false
	case *metadata.AbortTransactionRecord:
		u.inTxn = false
		u.delta = metadata.NewDelta(u.delta.Base())
	}
	err := u.delta.Replay(r)
	u.last, u.pending = offset, true
	return err
}

// rebase makes what was replayed so far the base to which an aborted
// transaction goes back, without publishing it.
func (u *publisher) rebase() {
	u.delta = metadata.NewDelta(u.delta.Apply(u.last, int32(u.epoch)))
}

// publish makes the delta's image what the broker serves.
func (u *publisher) publish() {
	if !u.pending {
		return
	}
	b := u.p.b
	old := b.Image()
	img := u.delta.Apply(u.last, int32(u.epoch))
	d := u.delta
	u.delta, u.pending = metadata.NewDelta(img), false
	b.publish(img)
	u.p.applied.offset.Store(int64(u.last))
	u.p.applied.timestamp.Store(u.stamp)
	was, known := old.Broker(b.cfg.ID)
	if now, ok := img.Broker(b.cfg.ID); known && ok && was.Epoch == now.Epoch && !was.Fenced && now.Fenced {
		u.p.heardFenced()
	}
	if d.Base() == old {
		u.apply(d, img)
	} else { // the delta began before anything was published
		u.applyAll(old, img)
	}
}

// apply hands the changes of one delta to the replicas.
func (u *publisher) apply(d *metadata.Delta, img *metadata.Image) {
	b := u.p.b
	n := d.NumChangedPartitions()
	for t := range d.RemovedTopics() {
		n += t.Len()
		b.replicas.RemoveTopic(t.Name())
	}
	var changes []replica.Change
	var topic *metadata.Topic
	for tp, state := range d.ChangedPartitions() {
		if topic == nil || topic.Name() != tp.Topic {
			topic, _ = img.Topic(tp.Topic)
		}
		changes = append(changes, replica.Change{
			Topic: tp.Topic, TopicID: topic.ID(), Partition: tp.Partition, State: state, Dir: u.dirOf(state),
		})
	}
	u.applyChanges(changes, img)
	if live := liveBrokers(d); len(live) > 0 {
		b.replicas.BrokersChanged(live)
	}
	u.traceApplied(n)
}

// applyAll brings the replicas from one image to another whatever lies
// between.
func (u *publisher) applyAll(old, img *metadata.Image) {
	b := u.p.b
	for t := range old.Topics() {
		if now, ok := img.Topic(t.Name()); !ok || now.ID() != t.ID() {
			b.replicas.RemoveTopic(t.Name())
		}
	}
	n := 0
	var changes []replica.Change
	for t := range img.Topics() {
		for p, state := range t.All() {
			if was, ok := old.Partition(kafka.TopicPartition{Topic: t.Name(), Partition: p}); ok && was.Equal(state) {
				continue
			}
			n++
			changes = append(changes, replica.Change{Topic: t.Name(), TopicID: t.ID(), Partition: p, State: state, Dir: u.dirOf(state)})
		}
	}
	u.applyChanges(changes, img)
	var live []kafka.BrokerID
	for reg := range img.Brokers() {
		if reg.Active() {
			live = append(live, reg.ID)
		}
	}
	b.replicas.BrokersChanged(live)
	u.traceApplied(n)
}

// dirOf gives the log directory in which the metadata has this broker's replica, 0
// where there is no choice or none is known.
func (u *publisher) dirOf(state *metadata.Partition) int {
	b := u.p.b
	if !b.dirs.several() || state == nil {
		return 0
	}
	return b.dirs.numberOf(state.Directory(b.cfg.ID))
}

// applyChanges hands changes to the replicas, and has the controller told where
// new ones lie.
func (u *publisher) applyChanges(changes []replica.Change, img *metadata.Image) {
	b := u.p.b
	b.replicas.Apply(b.now(), changes)
	if !b.dirs.several() {
		return
	}
	for i := range changes {
		if c := &changes[i]; c.State != nil {
			u.p.assignPlaced(img, c.Topic, c.TopicID, c.Partition, c.State)
		}
	}
}

func (u *publisher) traceApplied(n int) {
	if n > 0 {
		u.p.b.cfg.Trace.Emit(trace.Event{
			Kind: trace.BrokerApplied, Epoch: int64(u.epoch), Broker: int32(u.p.b.cfg.ID), Offset: int64(u.last), N: int64(n),
		})
	}
}

// HandleLoadSnapshot replaces all metadata by a snapshot's.
func (u *publisher) HandleLoadSnapshot(r *metalog.SnapshotReader) error {
	d, err := deltaOf(r)
	if err != nil {
		u.p.applied.failed.Add(1)
		return err
	}
	u.p.applied.snapshots.Add(1)
	u.stamp = r.LastContainedLogTimestamp()
	u.delta, u.inTxn, u.pending = d, false, true
	u.last, u.epoch = r.ID().EndOffset-1, r.ID().Epoch
	if u.caughtUp {
		u.publish()
	}
	return nil
}

// deltaOf replays a snapshot.
func deltaOf(r *metalog.SnapshotReader) (*metadata.Delta, error) {
	d := metadata.NewDelta(metadata.Empty())
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		for j := range b.Records {
			rec, _, err := metadata.ReadRecord(b.Records[j].Value)
			if err == nil {
				err = d.Replay(rec)
			}
			if err != nil {
				return nil, fmt.Errorf("record %d of the snapshot: %w", b.BaseOffset+kafka.Offset(j), err)
			}
		}
	}
}

// HandleLeaderChange hears of the quorum's leader.
func (u *publisher) HandleLeaderChange(l raftclient.LeaderAndEpoch) { u.p.leaderChanged(l) }
