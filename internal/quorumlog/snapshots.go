package quorumlog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
)

// snapshot is one that voters took.
type snapshot struct {
	name   string
	held   []kafka.BrokerID
	digest uint64
}

// snapshot takes note of one; they come before all batches. The replay of a log
// that has no beginning begins with the oldest that reaches to where it begins.
func (c *content) snapshot(l line, raw []byte) error {
	id, ok := metalog.ParseSnapshotFileName(l.Snapshot)
	if !ok {
		return fmt.Errorf("%q is no name of a snapshot", l.Snapshot)
	}
	delta := metadata.NewDelta(metadata.Empty())
	for len(raw) > 0 {
		b, rest, err := metalog.ReadBatch(raw)
		if err != nil {
			return err
		}
		if raw = rest; b.Control {
			continue
		}
		if err := replayAll(delta, b.Records); err != nil {
			c.fault("K9", "snapshot %s of voters %v cannot be replayed: %v", l.Snapshot, l.Held, err)
			return nil
		}
	}
	image := delta.Apply(id.EndOffset-1, int32(id.Epoch))
	c.snapshots[id.EndOffset] = append(c.snapshots[id.EndOffset], snapshot{l.Snapshot, l.Held, image.Digest()})
	if c.began == 0 && c.chain.from > 0 && id.EndOffset >= c.chain.from {
		c.begin(image, id.EndOffset)
	}
	return nil
}

func replayAll(delta *metadata.Delta, records []metalog.Record) error {
	for _, rec := range records {
		r, _, err := metadata.ReadRecord(rec.Value)
		if err == nil {
			err = delta.Replay(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin takes the metadata of a snapshot for what came before.
func (c *content) begin(image *metadata.Image, end kafka.Offset) {
	c.image, c.began, c.next = image, end, end
	c.rules.Features(image)
	for b := range image.Brokers() {
		c.rules.Broker(nil, b, image.Epoch(), 0, end)
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

// end looks at the snapshots that end where the replay ended, and nowhere.
func (c *content) end() {
	if len(c.faults) > 0 {
		return // it ended early
	}
	c.compare()
	c.granted()
	c.lost()
	var names []string
	for _, end := range slices.Sorted(maps.Keys(c.snapshots)) {
		if end <= c.began || end > c.next {
			continue
		}
		for _, s := range c.snapshots[end] {
			names = append(names, s.name)
		}
	}
	if len(names) > 0 {
		c.fault("K9", "the end of snapshots %s is within a batch", strings.Join(names, ", "))
	}
}
