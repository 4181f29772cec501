package broker

import (
	"kbench/broker/loader"
	"kbench/broker/replica"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

// publisher shows the images that the loader makes of the metadata log, in Kafka's
// order: the image first, then the replicas. Its methods run on the raft client's
// goroutine.
type publisher struct {
	p      *kraftPlane
	loader *loader.Loader
	stamp  int64 // of the newest batch or snapshot handed over, ms since 1970
}

func newPublisher(p *kraftPlane) *publisher {
	u := &publisher{p: p}
	u.loader = loader.New(u.show)
	return u
}

// HandleCommit replays committed batches and publishes the outcome.
func (u *publisher) HandleCommit(batches []metalog.Batch) error {
	if n := len(batches); n > 0 {
		u.stamp = batches[n-1].Timestamp
	}
	if err := u.counted(u.loader.Commit(batches, u.p.client.HighWatermark())); err != nil {
		return err
	}
	if u.p.snapshots != nil {
		for i := range batches {
			u.p.snapshots.Committed(&batches[i], u.p.b.Image())
		}
	}
	return nil
}

// HandleLoadSnapshot replaces all metadata by a snapshot's.
func (u *publisher) HandleLoadSnapshot(r *metalog.SnapshotReader) error {
	u.p.applied.snapshots.Add(1)
	u.stamp = r.LastContainedLogTimestamp()
	if u.p.snapshots != nil {
		u.p.snapshots.Loaded()
	}
	return u.counted(u.loader.LoadSnapshot(r.ID(), r.Values, u.p.client.HighWatermark()))
}

// counted keeps count of what does not replay, which ends the broker.
func (u *publisher) counted(err error) error {
	if err != nil {
		u.p.applied.failed.Add(1)
	}
	return err
}

// show makes an image what the broker serves.
func (u *publisher) show(pub loader.Publication) {
	b := u.p.b
	old := b.Image()
	b.publish(pub.Image)
	u.p.applied.offset.Store(int64(pub.Image.Offset()))
	u.p.applied.timestamp.Store(u.stamp)
	was, known := old.Broker(b.cfg.ID)
	if now, ok := pub.Image.Broker(b.cfg.ID); known && ok && was.Epoch == now.Epoch && !was.Fenced && now.Fenced {
		u.p.heardFenced()
	}
	u.p.refreshRegistration(old, pub.Image)
	if pub.Delta != nil {
		u.apply(pub.Delta, pub.Image)
	} else {
		u.applyAll(old, pub.Image)
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
	u.traceApplied(n, img)
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
	u.traceApplied(n, img)
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

func (u *publisher) traceApplied(n int, img *metadata.Image) {
	if n > 0 {
		u.p.b.cfg.Trace.Emit(trace.Event{
			Kind: trace.BrokerApplied, Epoch: int64(img.Epoch()), Broker: int32(u.p.b.cfg.ID), Offset: int64(img.Offset()), N: int64(n),
		})
	}
}

// HandleLeaderChange hears of the quorum's leader.
func (u *publisher) HandleLeaderChange(l raftclient.LeaderAndEpoch) { u.p.leaderChanged(l) }
