package metadata

import (
	"iter"
	"slices"

	"kbench/kafka"
)

// MaxPartitionsPerTopic bounds a partition number, so that a corrupt record
// cannot make a replay allocate without end.
const MaxPartitionsPerTopic = 1 << 24

// chunkSize is how many partitions are copied when one of them changes; a
// topic of 100k partitions copies about 400 chunk headers and one chunk.
const chunkSize = 256

// Topic is one topic of an Image, immutable as the Image is. Its partitions
// lie in chunks, so that a change of one does not copy all.
type Topic struct {
	name   string
	id     kafka.UUID
	count  int
	moving int // partitions with a reassignment
	chunks [][]*Partition
}

// Name gives the topic's name.
func (t *Topic) Name() string { return t.name }

// ID gives the topic's id; the zero id where the cluster has none.
func (t *Topic) ID() kafka.UUID { return t.id }

// Len gives the number of partitions.
func (t *Topic) Len() int { return t.count }

// NumReassigning counts the partitions that have a reassignment, in constant
// time.
func (t *Topic) NumReassigning() int { return t.moving }

// Partition gives partition p, or false if the topic has none of that number.
func (t *Topic) Partition(p int32) (*Partition, bool) {
	got := t.get(p)
	return got, got != nil
}

func (t *Topic) get(p int32) *Partition {
	c, i := int(p)/chunkSize, int(p)%chunkSize
	if p < 0 || c >= len(t.chunks) || i >= len(t.chunks[c]) {
		return nil
	}
	return t.chunks[c][i]
}

// All walks the partitions by number.
func (t *Topic) All() iter.Seq2[int32, *Partition] {
	return func(yield func(int32, *Partition) bool) {
		for c, chunk := range t.chunks {
			for i, p := range chunk {
				if p != nil && !yield(int32(c*chunkSize+i), p) {
					return
				}
			}
		}
	}
}

// topicEdit is a topic under change by one Delta, which owns the topic, its
// chunk headers, and those chunks it has copied.
type topicEdit struct {
	*Topic
	owned   []bool  // by chunk
	changed []int32 // partitions set, in the order of the calls, may repeat
	seed    uint64  // of the partitions' hashes
}

func newTopicEdit(name string, id kafka.UUID) *topicEdit {
	t := &Topic{name: name, id: id}
	return &topicEdit{Topic: t, seed: t.seed()}
}

func editTopic(t *Topic) *topicEdit {
	next := *t
	next.chunks = slices.Clone(t.chunks)
	return &topicEdit{Topic: &next, owned: make([]bool, len(next.chunks)), seed: t.seed()}
}

// set puts partition p, which must be in 0..MaxPartitionsPerTopic-1.
func (e *topicEdit) set(p int32, state *Partition) {
	c, i := int(p)/chunkSize, int(p)%chunkSize
	for c >= len(e.chunks) {
		e.chunks = append(e.chunks, nil)
		e.owned = append(e.owned, true)
	}
	chunk := e.chunks[c]
	if !e.owned[c] {
		chunk = append(make([]*Partition, 0, max(len(chunk), i+1)), chunk...)
		e.owned[c] = true
	}
	if n := i + 1 - len(chunk); n > 0 {
		chunk = append(chunk, make([]*Partition, n)...)
	}
	if chunk[i] == nil {
		e.count++
	} else if chunk[i].Reassigning() {
		e.moving--
	}
	if state.Reassigning() {
		e.moving++
	}
	chunk[i] = state
	e.chunks[c] = chunk
	e.changed = append(e.changed, p)
}

// changedPartitions gives the partitions set, by number, each once.
func (e *topicEdit) changedPartitions() []int32 {
	slices.Sort(e.changed)
	e.changed = slices.Compact(e.changed)
	return e.changed
}
