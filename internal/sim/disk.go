package sim

import (
	"math/rand/v2"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// record is one record of a log. Records of one batch share its base offset.
type record struct {
	epoch kafka.LeaderEpoch
	base  kafka.Offset
	value uint64 // unique per append; 0 in a control record
	// Of a control record that changes the quorum, else 0.
	level  int16
	voters voterSet
}

// disk holds a node's files. The process sees log; a crash leaves synced, and
// of the operations since the last fsync only a prefix, as many as chance has
// it. quorum-state and snapshots are written with fsync and rename, and so
// survive.
type disk struct {
	state      raft.QuorumState
	snapshot   raft.SnapshotID
	base       quorum       // of the snapshot, or of formatting
	start      kafka.Offset // of log and synced
	startEpoch kafka.LeaderEpoch
	log        []record
	synced     []record
	journal    []diskOp
	// safe is the offset below which synced equals log, and will whatever part
	// of the journal survives.
	safe kafka.Offset
}

// diskOp is a truncation, or the append of one batch.
type diskOp struct {
	truncate bool
	to       kafka.Offset // of a truncation
	batch    []record
}

func (d *disk) end() kafka.Offset { return d.start + kafka.Offset(len(d.log)) }

// at gives the record at offset, which is in [start, end).
func (d *disk) at(o kafka.Offset) record { return d.log[o-d.start] }

// epochBefore is the epoch of the record before offset.
func (d *disk) epochBefore(o kafka.Offset) kafka.LeaderEpoch {
	if o == d.start {
		return d.startEpoch
	}
	return d.at(o - 1).epoch
}

func (d *disk) append(batch []record) {
	d.log = append(d.log, batch...)
	d.journal = append(d.journal, diskOp{batch: batch})
}

func (d *disk) truncate(to kafka.Offset) {
	d.log = d.log[:to-d.start]
	d.journal = append(d.journal, diskOp{truncate: true, to: to})
	d.safe = min(d.safe, to)
}

// sync makes the first n operations of the journal durable.
func (d *disk) sync(n int) {
	d.apply(n)
	d.safe = d.start + kafka.Offset(len(d.synced))
	for _, op := range d.journal {
		if op.truncate {
			d.safe = min(d.safe, op.to)
		}
	}
}

func (d *disk) apply(n int) {
	n = min(n, len(d.journal))
	for _, op := range d.journal[:n] {
		if op.truncate {
			d.synced = d.synced[:min(len(d.synced), max(0, int(op.to-d.start)))]
		} else {
			d.synced = append(d.synced, op.batch...)
		}
	}
	d.journal = append(d.journal[:0], d.journal[n:]...)
}

// crash forgets what was not synced, but for as much of it as rng says, and
// gives the number of records lost.
func (d *disk) crash(rng *rand.Rand) int {
	before := d.end()
	d.apply(rng.IntN(len(d.journal) + 1))
	d.journal = d.journal[:0]
	d.log = append(d.log[:0], d.synced...)
	if d.end() < d.snapshot.EndOffset { // as Kafka on start
		d.reset(d.snapshot, d.base)
	}
	d.safe = d.end()
	return int(max(0, before-d.end()))
}

// reset empties the log so that it starts after the snapshot id.
func (d *disk) reset(id raft.SnapshotID, q quorum) {
	d.base = q
	d.snapshot, d.start, d.startEpoch = id, id.EndOffset, id.Epoch
	d.log, d.synced, d.journal, d.safe = d.log[:0], d.synced[:0], d.journal[:0], id.EndOffset
}

// moveStart deletes the log below to, which is at most safe.
func (d *disk) moveStart(to kafka.Offset) {
	d.startEpoch = d.epochBefore(to)
	n := int(to - d.start)
	d.log = append(d.log[:0], d.log[n:]...)
	d.synced = append(d.synced[:0], d.synced[n:]...)
	d.start = to
}

// read gives whole batches from the one that holds from on, at most limit
// records but at least one batch.
func (d *disk) read(from kafka.Offset, limit int) ([]raft.Batch, []record) {
	first := max(d.at(from).base, d.start)
	var batches []raft.Batch
	o := first
	for o < d.end() && (o == first || int(o-first) < limit) {
		b := raft.Batch{BaseOffset: d.at(o).base, Epoch: d.at(o).epoch}
		for o < d.end() && d.at(o).base == b.BaseOffset {
			if c, ok := d.at(o).change(o); ok {
				b.Changes = append(b.Changes, c)
			}
			o++
		}
		b.LastOffset = o - 1
		batches = append(batches, b)
	}
	return batches, append([]record(nil), d.log[first-d.start:o-d.start]...)
}

// persisted is what a node finds when it starts.
func (d *disk) persisted() raft.Persisted {
	p := raft.Persisted{
		QuorumState: d.state, Snapshot: d.snapshot, Quorum: d.base.raft(),
		LogStart: d.start, LogEnd: d.end(), StartEpoch: d.startEpoch,
	}
	for i, r := range d.log {
		if c, ok := r.change(d.start + kafka.Offset(i)); ok && c.Offset >= d.snapshot.EndOffset {
			p.Changes = append(p.Changes, c)
		}
		if i == 0 || r.epoch != d.log[i-1].epoch {
			p.Epochs = append(p.Epochs, raft.EpochStart{Epoch: r.epoch, Start: d.start + kafka.Offset(i)})
		}
	}
	return p
}

// quorumAt is the quorum below offset, by the log and what is under it.
func (d *disk) quorumAt(offset kafka.Offset) quorum {
	q := d.base
	for o := max(d.start, d.snapshot.EndOffset); o < offset; o++ {
		q = q.with(d.at(o))
	}
	return q
}

func (d *disk) quorum() quorum { return d.quorumAt(d.end()) }

// lastChange is the offset of the last record below offset that changes the
// quorum, NoOffset where the log holds none.
func (d *disk) lastChange(offset kafka.Offset) kafka.Offset {
	for o := offset - 1; o >= d.start; o-- {
		if _, ok := d.at(o).change(o); ok {
			return o
		}
	}
	return kafka.NoOffset
}
