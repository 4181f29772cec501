package onelog

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// Options is a run; everything else is drawn from Seed.
type Options struct {
	Seed   uint64
	Events int
}

// Result is what came of a run.
type Result struct {
	Violation *Violation // nil if every invariant held
	Coverage  Coverage
	Trace     uint64 // a hash of all that happened
}

// Violation says which invariant broke.
//
//   - AckedDurable: what Flush has made durable is there after a crash.
//   - Prefix: after a crash the log is a prefix of what was appended.
//   - Opens: a crash leaves a directory that opens.
//   - ReadsWhatWasWritten: what is read is what was appended.
//   - SnapshotOnBoundary: a snapshot ends where a batch ends, in its epoch (K9,
//     KAFKA-17713).
//   - SnapshotCovers: the log begins at or below the end of the latest snapshot,
//     which is whole (K9).
//   - FailureIsFinal: after a write or an fsync that failed nothing is taken any
//     more.
type Violation struct {
	Invariant string
	Seed      uint64
	Event     int
	Detail    string
}

// String tells the violation and how to see it again.
func (v *Violation) String() string {
	return fmt.Sprintf("%s broken, event %d: %s; see it again with seed %d", v.Invariant, v.Event, v.Detail, v.Seed)
}

// Coverage counts what runs went through.
type Coverage struct {
	Appends, Flushes, Truncations, Snapshots, Refused, Received, Deletions, Crashes, Torn, DiskErrors, Reads int64
}

// Add adds o.
func (c *Coverage) Add(o Coverage) {
	c.Appends += o.Appends
	c.Flushes += o.Flushes
	c.Truncations += o.Truncations
	c.Snapshots += o.Snapshots
	c.Refused += o.Refused
	c.Received += o.Received
	c.Deletions += o.Deletions
	c.Crashes += o.Crashes
	c.Torn += o.Torn
	c.DiskErrors += o.DiskErrors
	c.Reads += o.Reads
}

const dir = "/data/__cluster_metadata-0"

// entry is one batch of the model.
type entry struct {
	base, end kafka.Offset
	epoch     kafka.LeaderEpoch
	raw       []byte
}

// run is a log and the model of it.
type run struct {
	opt       Options
	rng       *rand.Rand
	fs        *metalog.MemFS
	log       *metalog.Log
	failOp    metalog.Op // that fails next, empty for none
	model     []entry    // what the log holds, from its start on
	dropped   []entry    // what it held before that; a crash may bring files back
	start     kafka.Offset
	synced    kafka.Offset // of the model, durable below
	snapshots []metalog.SnapshotID
	event     int
	value     uint64
	result    Result
}

// Run simulates until an invariant breaks or the events are used up.
func Run(opt Options) Result {
	r := &run{opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x6c6f67)), fs: &metalog.MemFS{}}
	r.fs.Fault = func(op metalog.Op, _ string) error {
		if op != "" && op == r.failOp {
			r.failOp = ""
			return unix.EIO
		}
		return nil
	}
	r.open()
	for ; r.event < opt.Events && r.result.Violation == nil; r.event++ {
		r.act()
		r.check()
	}
	if r.log != nil {
		_ = r.log.Close() // as a crash would: nothing is flushed
	}
	return r.result
}

func (r *run) fail(invariant, format string, a ...any) {
	if r.result.Violation == nil {
		r.result.Violation = &Violation{invariant, r.opt.Seed, r.event, fmt.Sprintf(format, a...)}
	}
}

func (r *run) trace(xs ...uint64) {
	for _, x := range xs {
		r.result.Trace = (r.result.Trace ^ x) * 1099511628211
	}
}

func (r *run) open() {
	l, err := metalog.Open(metalog.Config{FS: r.fs, Dir: dir, SegmentBytes: 400})
	if err != nil {
		r.fail("Opens", "%v", err)
		return
	}
	r.log = l
}

// act does one thing.
func (r *run) act() {
	c := &r.result.Coverage
	kind := r.rng.IntN(20)
	r.trace(uint64(kind), uint64(r.end()))
	switch kind {
	case 0, 1, 2, 3, 4, 5, 6:
		r.append()
	case 7, 8, 9:
		c.Flushes++
		if err := r.log.Flush(); err != nil {
			r.failed(err)
			return
		}
		r.synced = r.end()
	case 10:
		r.truncate()
	case 11, 12, 13:
		r.snapshot()
	case 14:
		r.deleteOld()
	case 15:
		if r.rng.IntN(3) == 0 {
			r.receive()
		}
	case 16:
		r.crash()
	case 17:
		r.failOp = []metalog.Op{metalog.OpWrite, metalog.OpSync, metalog.OpSyncDir}[r.rng.IntN(3)]
	default:
		r.read()
	}
}

func (r *run) end() kafka.Offset {
	if n := len(r.model); n > 0 {
		return r.model[n-1].end
	}
	return r.start
}

func (r *run) lastEpoch() kafka.LeaderEpoch {
	if n := len(r.model); n > 0 {
		return r.model[n-1].epoch
	}
	return r.log.StartEpoch()
}

func (r *run) append() {
	epoch := r.lastEpoch()
	if epoch == 0 || r.rng.IntN(6) == 0 {
		epoch++
	}
	at, raw := r.end(), []byte(nil)
	var added []entry
	for range 1 + r.rng.IntN(3) {
		b := metalog.Batch{BaseOffset: at, Epoch: epoch, Timestamp: int64(r.event)}
		for range 1 + r.rng.IntN(4) {
			r.value++
			b.Records = append(b.Records, metalog.Record{Value: fmt.Appendf(nil, "value %d", r.value)})
		}
		one, err := b.Append(nil)
		if err != nil {
			r.fail("ReadsWhatWasWritten", "%v", err)
			return
		}
		end := at + kafka.Offset(len(b.Records))
		added = append(added, entry{at, end, epoch, one})
		raw, at = append(raw, one...), end
	}
	r.result.Coverage.Appends++
	if err := r.log.Append(raw); err != nil {
		r.failed(err)
		return
	}
	r.model = append(r.model, added...)
}

// failed takes a failure: nothing may be taken after it, and the node stops.
func (r *run) failed(err error) {
	r.result.Coverage.DiskErrors++
	if !errors.Is(err, unix.EIO) {
		r.fail("FailureIsFinal", "an error that no fault made: %v", err)
		return
	}
	b := metalog.Batch{BaseOffset: r.log.EndOffset(), Epoch: r.lastEpoch() + 1, Records: []metalog.Record{{Value: []byte("late")}}}
	raw, err := b.Append(nil)
	if err == nil && r.log.Append(raw) == nil && r.log.Flush() == nil {
		r.fail("FailureIsFinal", "the log takes an append and a flush after a failure")
	}
	r.crash()
}

func (r *run) truncate() {
	if len(r.model) == 0 {
		return
	}
	low := 0 // nothing below a snapshot goes
	for low < len(r.model) && len(r.snapshots) > 0 && r.model[low].base < r.snapshots[len(r.snapshots)-1].EndOffset {
		low++
	}
	if low == len(r.model) {
		return
	}
	i := low + r.rng.IntN(len(r.model)-low)
	r.result.Coverage.Truncations++
	// A truncation is durable with all that stays in its file. One that fails may
	// be, and then nothing above it need be there any more.
	r.synced = min(r.synced, r.model[i].base)
	if err := r.log.TruncateTo(r.model[i].base); err != nil {
		r.failed(err)
		return
	}
	r.model = r.model[:i]
}

// snapshot asks for one at any offset, in any epoch.
func (r *run) snapshot() {
	if r.end() <= r.start {
		return
	}
	id := metalog.SnapshotID{EndOffset: r.start + 1 + kafka.Offset(r.rng.Int64N(int64(r.end()-r.start))), Epoch: 1}
	boundary := false
	for _, e := range r.model {
		if e.base < id.EndOffset {
			id.Epoch = e.epoch
			boundary = e.end == id.EndOffset
		}
	}
	if r.rng.IntN(5) == 0 {
		id.Epoch++
		boundary = false
	}
	if n := len(r.snapshots); n > 0 && r.snapshots[n-1].Compare(id) >= 0 || id.EndOffset > r.synced {
		return // the driver refuses it: not newer, or not committed
	}
	if err := r.log.CheckSnapshotID(id); err != nil {
		r.result.Coverage.Refused++
		if boundary {
			r.fail("SnapshotOnBoundary", "%v is refused: %v", id, err)
		}
		return
	}
	if !boundary {
		r.fail("SnapshotOnBoundary", "%v is taken, no batch of its epoch ends there", id)
		return
	}
	w, err := r.log.NewSnapshot(id, 1, metalog.Quorum{})
	if err == nil {
		err = errors.Join(w.Append([]byte("image")), w.Freeze(), w.Close())
	}
	if err != nil {
		r.failed(err)
		return
	}
	r.result.Coverage.Snapshots++
	r.snapshots = append(r.snapshots, id)
}

func (r *run) deleteOld() {
	n := len(r.snapshots)
	if n == 0 {
		return
	}
	start, err := r.log.DeleteSnapshotsBefore(r.snapshots[n-1])
	if err != nil {
		r.failed(err)
		return
	}
	r.result.Coverage.Deletions++
	r.snapshots = r.snapshots[n-1:]
	r.startsAt(start)
}

// startsAt moves the model's start to a batch that the log chose.
func (r *run) startsAt(start kafka.Offset) {
	for len(r.model) > 0 && r.model[0].end <= start {
		r.dropped = append(r.dropped, r.model[0])
		r.model = r.model[1:]
	}
	for n := len(r.dropped); n > 0 && r.dropped[n-1].base >= start && r.dropped[n-1].end <= r.start; n = len(r.dropped) {
		r.model = append([]entry{r.dropped[n-1]}, r.model...)
		r.dropped, r.start = r.dropped[:n-1], r.dropped[n-1].base
	}
	if len(r.model) > 0 && r.model[0].base != start || start < r.start {
		r.fail("SnapshotCovers", "the log starts at %d, was at %d, where no batch begins", start, r.start)
	}
	r.start = start
}

// receive takes a snapshot from a leader that is far ahead.
func (r *run) receive() {
	id := metalog.SnapshotID{EndOffset: r.end() + 3, Epoch: r.lastEpoch() + 1}
	raw, err := snapshotOf(id)
	if err != nil {
		r.fail("ReadsWhatWasWritten", "%v", err)
		return
	}
	rec, err := r.log.ReceiveSnapshot(id)
	if err == nil {
		half := len(raw) / 2
		err = errors.Join(rec.Append(raw[:half]), rec.Append(raw[half:]), rec.Freeze(), rec.Close())
	}
	if err != nil {
		r.failed(err)
		return
	}
	// From here on a restart goes on from the snapshot, whether or not the log gets
	// as far as to be emptied.
	r.result.Coverage.Received++
	r.snapshots = append(r.snapshots, id)
	r.model, r.dropped, r.start, r.synced = nil, nil, id.EndOffset, id.EndOffset
	if err := r.log.TruncateFullyTo(id); err != nil {
		r.failed(err)
	}
}

// snapshotOf gives the bytes of a snapshot of another node.
func snapshotOf(id metalog.SnapshotID) ([]byte, error) {
	fs := &metalog.MemFS{}
	l, err := metalog.Open(metalog.Config{FS: fs, Dir: dir})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	w, err := l.NewSnapshot(id, 1, metalog.Quorum{})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Append([]byte("image of a leader")), w.Freeze(), w.Close()); err != nil {
		return nil, err
	}
	return fs.ReadFile(dir + "/" + id.String() + ".checkpoint")
}
