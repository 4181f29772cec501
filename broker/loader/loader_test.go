package loader

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// rig is a loader, the log that it reads, and what it published.
type rig struct {
	t     *testing.T
	l     *Loader
	end   kafka.Offset
	shown []string
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t}
	r.l = New(func(p Publication) {
		topics := []string{}
		for topic := range p.Image.Topics() {
			topics = append(topics, topic.Name())
		}
		how := "whole"
		if p.Delta != nil {
			how = "delta"
		}
		r.shown = append(r.shown, fmt.Sprintf("%d %v %s", p.Image.Offset(), topics, how))
	})
	return r
}

func topic(n byte) metadata.Record {
	return &metadata.TopicRecord{Name: fmt.Sprintf("t%d", n), TopicID: kafka.UUID{n}}
}

func begin() metadata.Record { return &metadata.BeginTransactionRecord{} }
func ended() metadata.Record { return &metadata.EndTransactionRecord{} }
func abort() metadata.Record { return &metadata.AbortTransactionRecord{} }

func values(t *testing.T, records []metadata.Record) [][]byte {
	var out [][]byte
	for _, r := range records {
		v, err := metadata.AppendRecord(nil, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func (r *rig) batch(records ...metadata.Record) metalog.Batch {
	b := metalog.Batch{BaseOffset: r.end, Epoch: 1}
	for _, v := range values(r.t, records) {
		b.Records = append(b.Records, metalog.Record{Value: v})
	}
	r.end = b.EndOffset()
	return b
}

// commit hands in one batch, at a high watermark that is so far behind its end.
func (r *rig) commit(ahead kafka.Offset, records ...metadata.Record) error {
	b := r.batch(records...)
	return r.l.Commit([]metalog.Batch{b}, r.end+ahead)
}

func (r *rig) want(shown ...string) {
	r.t.Helper()
	if !slices.Equal(r.shown, shown) {
		r.t.Errorf("published %q, want %q", r.shown, shown)
	}
	r.shown = nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing is shown before the high watermark is known and reached once; then
// every commit is, however far the high watermark has moved.
func TestCatchUp(t *testing.T) {
	r := newRig(t)
	must(t, r.l.Commit([]metalog.Batch{r.batch(topic(1))}, kafka.NoOffset))
	must(t, r.commit(1, topic(2)))
	r.want()
	must(t, r.commit(0, topic(3)))
	r.want("2 [t1 t2 t3] delta")
	must(t, r.commit(10, topic(4)))
	r.want("3 [t1 t2 t3 t4] delta")
	control := metalog.Batch{BaseOffset: r.end, Epoch: 2, Control: true, Records: []metalog.Record{{Key: []byte{0}}}}
	must(t, r.l.Commit([]metalog.Batch{control}, kafka.NoOffset))
	r.want("4 [t1 t2 t3 t4] delta")
}

// A transaction is shown when it has ended, with nothing of it before; what came
// before it in the same batch is shown by itself.
func TestTransactionEnds(t *testing.T) {
	r := newRig(t)
	must(t, r.commit(0, topic(1)))
	must(t, r.commit(0, topic(2), begin(), topic(3)))
	r.want("0 [t1] delta", "1 [t1 t2] delta")
	must(t, r.commit(0, topic(4)))
	r.want()
	must(t, r.commit(0, topic(5), ended(), topic(6)))
	r.want("7 [t1 t2 t3 t4 t5 t6] delta")
}

// Of an aborted transaction nothing is ever shown, and what follows it is.
func TestTransactionAborts(t *testing.T) {
	r := newRig(t)
	must(t, r.commit(0, topic(1)))
	must(t, r.commit(0, begin(), topic(2)))
	r.want("0 [t1] delta")
	must(t, r.commit(0, abort()))
	r.want("3 [t1] delta")
	must(t, r.commit(0, begin(), topic(3), abort(), topic(4), begin(), topic(5), ended()))
	r.want("7 [t1 t4] delta", "10 [t1 t4 t5] delta")
}

// A transaction that is aborted before the broker has caught up takes nothing
// with it that was read before it.
func TestTransactionAbortsBeforeCatchUp(t *testing.T) {
	r := newRig(t)
	must(t, r.commit(9, topic(1)))
	must(t, r.commit(9, topic(2), begin(), topic(3)))
	must(t, r.commit(9, topic(4), abort()))
	r.want()
	must(t, r.commit(0, topic(5)))
	r.want("6 [t1 t2 t5] whole")
}

// A broker that catches up within a transaction waits for its end.
func TestCatchUpWithinTransaction(t *testing.T) {
	r := newRig(t)
	must(t, r.commit(0, topic(1), begin(), topic(2)))
	r.want()
	must(t, r.commit(0, ended()))
	r.want("3 [t1 t2] whole")
}

// Bounds of transactions that do not fit each other are refused.
func TestTransactionBounds(t *testing.T) {
	for name, records := range map[string][]metadata.Record{
		"begins within another":  {begin(), begin()},
		"ends without a begin":   {ended()},
		"aborts without a begin": {begin(), ended(), abort()},
	} {
		if r := newRig(t); r.commit(0, records...) == nil {
			t.Errorf("a transaction that %s is taken", name)
		}
	}
}

func (r *rig) snapshot(end, highWatermark kafka.Offset, records ...metadata.Record) error {
	r.end = end
	var seq iter.Seq2[[]byte, error] = func(yield func([]byte, error) bool) {
		for _, v := range values(r.t, records) {
			if !yield(v, nil) {
				return
			}
		}
	}
	return r.l.LoadSnapshot(metalog.SnapshotID{EndOffset: end, Epoch: 1}, seq, highWatermark)
}

// A snapshot replaces all there was, an open transaction too. One that reaches
// the high watermark is shown without waiting for a record behind it.
func TestSnapshot(t *testing.T) {
	r := newRig(t)
	must(t, r.snapshot(5, 7, topic(1)))
	r.want()
	must(t, r.commit(0, topic(2), topic(3)))
	r.want("6 [t1 t2 t3] delta")
	must(t, r.commit(0, begin(), topic(4)))
	must(t, r.snapshot(20, 30, topic(5)))
	r.want("19 [t5] whole")

	r = newRig(t)
	must(t, r.snapshot(5, 5, topic(1)))
	r.want("4 [t1] delta")
}

// What cannot be read or replayed is an error that says where.
func TestErrors(t *testing.T) {
	r := newRig(t)
	must(t, r.commit(0, topic(1)))
	err := r.commit(0, topic(2), &metadata.RemoveTopicRecord{TopicID: kafka.UUID{9}})
	if err == nil || err.Error()[:20] != "record at offset 2: " {
		t.Errorf("error %v", err)
	}
	broken := errors.New("cannot be read")
	err = r.l.LoadSnapshot(metalog.SnapshotID{EndOffset: 9}, func(yield func([]byte, error) bool) { yield(nil, broken) }, 9)
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
