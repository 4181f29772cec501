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

// tree is a copy-on-write ordered set of values that hold their key. A tree that is in an Image is never
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

// treeMap is a tree of values by an ordered key, looked up without a value.
type treeMap[K cmp.Ordered, V any] struct{ *btree.Map[K, V] }

func newTreeMap[K cmp.Ordered, V any]() treeMap[K, V] {
	return treeMap[K, V]{btree.NewMap[K, V](treeDegree)}
}

func (t treeMap[K, V]) fork() treeMap[K, V] {
	private := *t.Map
	return treeMap[K, V]{private.Copy()}
}

// all walks the values by key.
func (t treeMap[K, V]) all() iter.Seq[V] {
	return func(yield func(V) bool) { t.Scan(func(_ K, v V) bool { return yield(v) }) }
}

// topicName finds a topic's name by its id.
type topicName struct {
	id   kafka.UUID
	name string
}

func lessTopicName(a, b topicName) bool { return bytes.Compare(a.id[:], b.id[:]) < 0 }

// configEntry is one resource with its values, a map that is never written
// once the entry is in an Image.
type configEntry struct {
	resource ConfigResource
	values   map[string]string
}

func lessConfig(a, b configEntry) bool { return compareConfigResource(a.resource, b.resource) < 0 }
