package metadata

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/tidwall/btree"

	"kbench/kafka"
)

// treeDegree keeps a copied path small: a change copies one node a level.
const treeDegree = 16

// tree is a copy-on-write ordered set. A tree that is in an Image is never
// written: fork gives a tree to write to, which shares all it does not touch.
type tree[T any] struct{ *btree.BTreeG[T] }

func newTree[T any](less func(a, b T) bool) tree[T] {
	return tree[T]{btree.NewBTreeGOptions(less, btree.Options{Degree: treeDegree, NoLocks: true})}
}

// fork copies in constant time. The library's Copy writes to its receiver,
// which other goroutines may be reading, so it is given a private one.
func (t tree[T]) fork() tree[T] {
	private := *t.BTreeG
	return tree[T]{private.Copy()}
}

func (t tree[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) { t.Scan(yield) }
}

type topicName struct {
	id   kafka.UUID
	name string
}

func lessTopic(a, b *Topic) bool { return a.name < b.name }

func lessTopicName(a, b topicName) bool { return bytes.Compare(a.id[:], b.id[:]) < 0 }

func lessBroker(a, b *Broker) bool { return a.ID < b.ID }

func lessController(a, b *Controller) bool { return a.ID < b.ID }

// configEntry is one resource with its values, a map that is never written
// once the entry is in a tree.
type configEntry struct {
	resource ConfigResource
	values   map[string]string
}

func lessConfig(a, b configEntry) bool { return compareConfigResource(a.resource, b.resource) < 0 }

type featureLevel struct {
	name  string
	level int16
}

func lessFeature(a, b featureLevel) bool { return cmp.Less(a.name, b.name) }
