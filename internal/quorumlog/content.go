package quorumlog

import (
	"fmt"
	"slices"

	"kbench/internal/checker"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// content replays the records of the chain, one by one, and has what they change
// judged. It holds the metadata of one offset, and beside it, one after the other,
// those of the snapshots.
type content struct {
	chain  chain
	rules  *checker.Metadata
	faults []checker.Broken // of the replay itself; one ends it

	image     *metadata.Image
	next      kafka.Offset    // where the replay stands
	began     kafka.Offset    // and where it began: the end of a snapshot, or 0
	before    *metadata.Image // of the open transaction
	snapshots map[kafka.Offset][]snapshot

	// Of what nodes traced, that to which the replay has not come, and what was
	// wrong in the rest.
	grants []trace.Event // of shutdowns
	acked  map[ackedState][]checker.AckedISR
	told   []checker.Broken
}

func newContent(c chain) *content {
	return &content{chain: c, rules: checker.NewMetadata(), image: metadata.Empty(), snapshots: map[kafka.Offset][]snapshot{}, acked: map[ackedState][]checker.AckedISR{}}
}

func (c *content) broken() []checker.Broken {
	return slices.Concat(c.rules.Broken, c.told, c.faults)
}

func (c *content) fault(invariant, format string, args ...any) {
	c.faults = append(c.faults, checker.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
}

func (c *content) see(l line, raw []byte) error {
	if l.Told != nil {
		return c.hear(*l.Told)
	}
	if l.Snapshot != "" {
		return c.snapshot(l, raw)
	}
	b, _, err := metalog.ReadBatch(raw)
	if err != nil || len(c.faults) > 0 || !c.chain.holds(b.BaseOffset, l.Held) || b.EndOffset() <= c.next {
		return err // what ends below is in the snapshot that the replay began with
	}
	c.compare()
	c.granted()
	switch {
	case b.BaseOffset > c.next:
		c.fault("K9", "no snapshot holds the records below offset %d, where the log of voter %d begins", b.BaseOffset, c.chain.first)
		return nil
	case b.BaseOffset < c.next:
		c.fault("K9", "the snapshot that ends at %d ends within the batch at offset %d", c.next, b.BaseOffset)
		return nil
	case !b.Control:
		c.replay(b)
	}
	c.next = b.EndOffset()
	return nil
}

func (c *content) replay(b metalog.Batch) {
	delta := metadata.NewDelta(c.image)
	for i, rec := range b.Records {
		offset := b.BaseOffset + kafka.Offset(i)
		r, _, err := metadata.ReadRecord(rec.Value)
		if err == nil {
			delta, err = c.transaction(delta, r, offset, b.Epoch)
		}
		if err == nil {
			err = c.record(delta, r, b)
		}
		if err != nil {
			c.fault("K12", "the record at offset %d does not replay: %v", offset, err)
			return
		}
	}
	c.image = delta.Apply(b.EndOffset()-1, int32(b.Epoch))
}

// transaction heeds the bounds of metadata transactions: one that is aborted did
// not happen.
func (c *content) transaction(delta *metadata.Delta, r metadata.Record, offset kafka.Offset, epoch kafka.LeaderEpoch) (*metadata.Delta, error) {
	_, begins := r.(*metadata.BeginTransactionRecord)
	_, ends := r.(*metadata.EndTransactionRecord)
	_, aborts := r.(*metadata.AbortTransactionRecord)
	switch {
	case begins && c.before != nil:
		return delta, fmt.Errorf("a transaction begins within a transaction")
	case (ends || aborts) && c.before == nil:
		return delta, fmt.Errorf("a transaction ends that did not begin")
	case begins:
		c.before = delta.Apply(offset-1, int32(epoch))
		return metadata.NewDelta(c.before), nil
	case aborts:
		delta = metadata.NewDelta(c.before)
		c.before = nil
	case ends:
		c.before = nil
	}
	return delta, nil
}

// record replays a record and has what it changes judged.
func (c *content) record(delta *metadata.Delta, r metadata.Record, b metalog.Batch) error {
	image := delta.Image()
	topic, n, isPartition := partitionOf(r)
	if !isPartition {
		c.rules.Rest(image, int32(b.Epoch))
	}
	var old *metadata.Partition
	if t, ok := image.TopicByID(topic); ok && isPartition {
		old, _ = t.Partition(n)
	}
	broker, isBroker := brokerOf(r)
	was, _ := image.Broker(broker)
	switch r := r.(type) {
	case *metadata.TopicRecord:
		_, existed := image.TopicByID(r.TopicID)
		c.rules.Topic(r.Name, r.TopicID, existed)
	case *metadata.ProducerIDsRecord:
		if last := image.NextProducerID(); r.NextProducerID <= last {
			c.fault("C10", "producer ids below %d are given away after %d", r.NextProducerID, last)
			return nil // it does not replay either
		}
	}
	if err := delta.Replay(r); err != nil {
		return err
	}
	image = delta.Image()
	switch {
	case isPartition:
		t, _ := image.TopicByID(topic)
		p, _ := t.Partition(n)
		c.rules.Partition(image, t, n, old, p)
		c.acknowledged(t.ID(), n, p)
	case isBroker:
		if now, ok := image.Broker(broker); ok {
			c.rules.Broker(was, now, int32(b.Epoch), b.BaseOffset, b.EndOffset())
		}
	default:
		c.rules.Features(image)
	}
	return nil
}

func partitionOf(r metadata.Record) (topic kafka.UUID, n int32, ok bool) {
	switch r := r.(type) {
	case *metadata.PartitionRecord:
		return r.TopicID, r.PartitionID, true
	case *metadata.PartitionChangeRecord:
		return r.TopicID, r.PartitionID, true
	}
	return topic, 0, false
}

func brokerOf(r metadata.Record) (kafka.BrokerID, bool) {
	switch r := r.(type) {
	case *metadata.RegisterBrokerRecord:
		return r.BrokerID, true
	case *metadata.BrokerRegistrationChangeRecord:
		return r.BrokerID, true
	case *metadata.FenceBrokerRecord:
		return r.ID, true
	case *metadata.UnfenceBrokerRecord:
		return r.ID, true
	}
	return kafka.NoLeader, false
}
