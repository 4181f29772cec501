package sim

import (
	"time"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// changeLog carries out what Raft wants of the log, up to a violation.
func (n *node) changeLog(ops []raft.LogOp) {
	for _, op := range ops {
		switch op := op.(type) {
		case raft.LogTruncate:
			n.w.judge.truncates(n, op.To)
			n.w.trace.note("node %d truncates to %d", n.id, op.To)
			n.w.trace.Add(uint64(op.To))
			if n.w.judge.violation != nil {
				return
			}
			n.disk.truncate(op.To)
		case raft.LogAppend:
			n.append(op)
		}
	}
}

func (n *node) append(op raft.LogAppend) {
	from := n.disk.end()
	switch records, _ := op.Records.([]record); {
	case op.LeaderChange != nil:
		b := op.Batches[0]
		n.disk.append(append([]record{{epoch: b.Epoch, base: b.BaseOffset}}, changeRecords(b.Epoch, b.BaseOffset, op.Changes)...))
	case len(op.Changes) > 0:
		b := op.Batches[0]
		n.disk.append(changeRecords(b.Epoch, b.BaseOffset, op.Changes))
	case len(op.Batches) == 1 && records[0].epoch == 0: // a client's, on the leader
		b := op.Batches[0]
		for i := range records {
			records[i].epoch, records[i].base = b.Epoch, b.BaseOffset
		}
		n.disk.append(records)
	default:
		for _, b := range op.Batches {
			k := int(b.LastOffset - b.BaseOffset + 1)
			n.disk.append(records[:k:k])
			records = records[k:]
		}
	}
	n.w.trace.note("node %d appends [%d,%d)", n.id, from, n.disk.end())
	n.w.judge.appendedRecords(n, from)
}

func (n *node) flush(seq uint64) {
	d := n.w.p.fsync/2 + time.Duration(n.w.rng.Int64N(int64(n.w.p.fsync))) + n.slow
	n.w.after(d, event{kind: evFlushed, node: n.id, boot: n.boot, id: seq, mark: len(n.disk.journal)})
}

// snapshot takes a chunk of a snapshot, and installs it when it is whole.
func (n *node) snapshot(s *raft.Snapshot) {
	if s == nil {
		return
	}
	if s.Position == 0 {
		n.receives = snapshotInFlight{id: s.ID}
	}
	if s.ID != n.receives.id || s.Position != n.receives.bytes {
		n.w.judge.fail("NoFatal", n.id, "chunk at %d of snapshot %v does not follow %d of %v", s.Position, s.ID, n.receives.bytes, n.receives.id)
		return
	}
	n.receives.bytes += int64(len(s.Data))
	if !s.Done {
		return
	}
	n.w.cov.Installs++
	n.w.trace.note("node %d installs snapshot %d-%d", n.id, s.ID.EndOffset, s.ID.Epoch)
	n.w.judge.truncates(n, max(s.ID.EndOffset, n.disk.start))
	n.disk.reset(s.ID, n.w.taken[s.ID])
	n.w.after(n.w.p.fsync, event{kind: evInstalled, node: n.id, boot: n.boot})
}

// takeSnapshot takes one of what is committed, and deletes the log before it,
// or before its middle. A broker takes none.
func (n *node) takeSnapshot() {
	end := min(n.hw, n.disk.safe)
	if !n.up || n.paused || !n.w.p.snapshots || n.broker != nil || n.hw < 0 || end <= n.disk.start {
		return
	}
	if n.ctl != nil {
		n.ctl.takes = true
		return
	}
	for end < n.disk.end() && n.disk.at(end).base != end {
		end-- // to a batch boundary
	}
	n.snapshotAt(end)
}

// snapshotAt takes the snapshot of all below end, which ends a batch.
func (n *node) snapshotAt(end kafka.Offset) {
	if end <= n.disk.snapshot.EndOffset || end > n.disk.safe {
		return
	}
	n.w.cov.Snapshots++
	q := n.disk.quorumAt(end)
	n.disk.snapshot = raft.SnapshotID{EndOffset: end, Epoch: n.disk.epochBefore(end)}
	n.disk.base = q
	n.w.judge.snapshot(n, n.disk.snapshot, q)
	if n.ctl != nil {
		n.w.images[n.disk.snapshot] = n.ctl.m.Image()
	}
	n.step(raft.SnapshotTaken{ID: n.disk.snapshot})
	if n.w.rng.IntN(2) == 0 && n.up {
		n.disk.moveStart(end)
		n.step(raft.LogStartMoved{Offset: end})
	}
}
