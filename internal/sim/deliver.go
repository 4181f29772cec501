package sim

import (
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
)

// listener is what hears of the log of a node: its controller or its broker.
type listener interface {
	leaderChanged(raft.LeaderAndEpoch)
	// committed gets batches whose records have the values of the world.
	committed([]metalog.Batch)
	// loads gets a snapshot of this node.
	loads(raft.SnapshotID, *metadata.Image)
	// alive reports whether it still is the node's: a crash in the midst of an
	// effect ends it.
	alive() bool
}

// batchesAtOnce is how many batches a broker is given together: so few that one
// with a log does not catch up at once.
const batchesAtOnce = 4

// heed lets what hears of the log do all that it can do now, after the node's
// raft machine stepped.
func (n *node) heed() {
	switch {
	case n.broker != nil:
		for n.broker.alive() && n.deliver(n.broker, batchesAtOnce) {
		}
	case n.ctl != nil:
		n.ctl.heed()
	}
}

// deliver tells l one thing that is due, at most so many batches, and reports
// whether there may be more.
func (n *node) deliver(l listener, batches int) bool {
	s := raft.Standing{
		NodeID: n.cfg.NodeID, Role: n.machine.Role(), HighWatermark: n.hw, LogStart: n.disk.start, Snapshot: n.disk.snapshot,
	}
	switch n.delivery.Due(&s) {
	case raft.LeaderDue:
		l.leaderChanged(n.delivery.Leader())
	case raft.SnapshotDue:
		image := n.w.images[s.Snapshot]
		if image == nil { // that of formatting
			image = metadata.Empty()
		}
		n.w.cov.Loads++
		n.delivery.Skip(s.Snapshot.EndOffset)
		l.loads(s.Snapshot, image)
	case raft.BatchesDue:
		var out []metalog.Batch
		for len(out) < batches && n.delivery.Next() < n.disk.end() {
			b := n.batch(n.delivery.Next())
			if !n.delivery.Take(&s, b.EndOffset()) {
				break
			}
			out = append(out, b)
		}
		if len(out) == 0 {
			return false // the high watermark is inside the batch
		}
		l.committed(out)
	default:
		return false
	}
	return true
}

// batch gives the batch of the log that begins at an offset.
func (n *node) batch(at kafka.Offset) metalog.Batch {
	d := &n.disk
	first := d.at(at)
	b := metalog.Batch{BaseOffset: at, Epoch: first.epoch, Control: first.value == 0}
	for o := at; o < d.end() && d.at(o).base == first.base; o++ {
		b.Records = append(b.Records, metalog.Record{Value: n.w.values[d.at(o).value]})
	}
	return b
}

// snapshotValues are the data records of a snapshot of an image.
func snapshotValues(image *metadata.Image) func(yield func([]byte, error) bool) {
	level := metadata.MetadataVersion(image.FeatureLevel(metadata.MetadataVersionFeature))
	return func(yield func([]byte, error) bool) {
		for r := range image.Records() {
			if v, err := metadata.AppendRecord(nil, r, level.RecordVersion(r)); !yield(v, err) {
				return
			}
		}
	}
}
