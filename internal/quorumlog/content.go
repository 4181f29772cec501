package quorumlog

import (
	"fmt"
	"slices"
	"strings"

	"kbench/internal/checker"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// content replays the records of the chain, one by one, and has what they change
// judged.
type content struct {
	chain  chain
	rules  *checker.Metadata
	faults []checker.Broken // of the replay itself; one ends it

	image     *metadata.Image
	next      kafka.Offset
	before    *metadata.Image // of the open transaction
	snapshots map[kafka.Offset][]snapshot
}

// snapshot is one that voters took.
type snapshot struct {
	name   string
	held   []kafka.BrokerID
	digest uint64
}

func newContent(c chain) *content {
	return &content{chain: c, rules: checker.NewMetadata(), image: metadata.Empty(), snapshots: map[kafka.Offset][]snapshot{}}
}

func (c *content) broken() []checker.Broken { return append(c.rules.Broken, c.faults...) }

func (c *content) fault(invariant, format string, args ...any) {
	c.faults = append(c.faults, checker.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
}

func (c *content) see(l line, raw []byte) error {
	if l.Snapshot != "" {
		return c.snapshot(l, raw)
	}
	if !slices.Contains(l.Held, c.chain.voter) || len(c.faults) > 0 {
		return nil
	}
	b, _, err := metalog.ReadBatch(raw)
	if err != nil || b.BaseOffset < c.next {
		return err // a snapshot holds it
	}
	if b.BaseOffset > c.next {
		c.fault("K9", "no snapshot of voter %d holds the records below its log, which begins at offset %d", c.chain.voter, b.BaseOffset)
		return nil
	}
	if !b.Control {
		c.replay(b)
	}
	c.next = b.EndOffset()
	c.compare()
	return nil
}

// snapshot takes note of one; they come before all batches. The replay begins
// with that of a log which has no beginning.
func (c *content) snapshot(l line, raw []byte) error {
	batches, err := metalog.ReadBatches(raw)
	if err != nil {
		return err
	}
	delta := metadata.NewDelta(metadata.Empty())
	for _, b := range batches {
		if b.Control {
			continue
		}
		for _, rec := range b.Records {
			r, _, err := metadata.ReadRecord(rec.Value)
			if err == nil {
				err = delta.Replay(r)
			}
			if err != nil {
				c.fault("K9", "snapshot %s of voters %v cannot be replayed: %v", l.Snapshot, l.Held, err)
				return nil
			}
		}
	}
	id, ok := metalog.ParseSnapshotFileName(l.Snapshot)
	if !ok {
		return fmt.Errorf("%q is no name of a snapshot", l.Snapshot)
	}
	image := delta.Apply(id.EndOffset-1, int32(id.Epoch))
	c.snapshots[id.EndOffset] = append(c.snapshots[id.EndOffset], snapshot{l.Snapshot, l.Held, image.Digest()})
	if c.chain.start > 0 && id.EndOffset >= c.chain.start && slices.Contains(l.Held, c.chain.voter) {
		c.begin(image, id.EndOffset)
	}
	return nil
}

// begin takes the metadata of a snapshot for what came before the log.
func (c *content) begin(image *metadata.Image, end kafka.Offset) {
	c.image, c.next = image, end
	c.rules.Features(image)
	for b := range image.Brokers() {
		c.rules.Broker(nil, b, 0, end)
	}
	for t := range image.Topics() {
		c.rules.Topic(t.Name(), t.ID(), false)
	}
}

// compare looks at the snapshots that end where the replay stands.
func (c *content) compare() {
	for _, s := range c.snapshots[c.next] {
		c.rules.Looked++
		if s.digest != c.image.Digest() {
			c.fault("K9", "snapshot %s of voters %v is not what the log below it makes", s.name, s.held)
		}
	}
	delete(c.snapshots, c.next)
}

// end looks at the snapshots that end nowhere.
func (c *content) end() {
	var names []string
	for end, list := range c.snapshots {
		if end < c.next && end > c.chain.start {
			for _, s := range list {
				names = append(names, s.name)
			}
		}
	}
	if slices.Sort(names); len(names) > 0 && len(c.faults) == 0 {
		c.fault("K9", "the end of snapshots %s is within a batch", strings.Join(names, ", "))
	}
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
	case isBroker:
		if now, ok := image.Broker(broker); ok {
			c.rules.Broker(was, now, b.BaseOffset, b.EndOffset())
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
