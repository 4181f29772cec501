package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// replica is what a node has of the metadata log: the bytes of each batch.
type replica struct {
	starts []kafka.Offset // of the batches, in order
	raw    map[kafka.Offset][]byte
	end    kafka.Offset // of the last one
}

// replicaOf reads the segments of a controller, which may be at work, up to an
// offset.
func (k *kraft) replicaOf(id broker, upTo kafka.Offset) (replica, error) {
	r := replica{raw: map[kafka.Offset][]byte{}}
	files, err := filepath.Glob(filepath.Join(k.partition(id), "*.log"))
	if err != nil {
		return r, err
	}
	slices.Sort(files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return r, err
		}
		for len(b) > 0 {
			h, err := metalog.ReadHeader(b)
			if errors.Is(err, metalog.ErrShort) || err == nil && len(b) < h.SizeBytes {
				break // still being written
			}
			if err == nil {
				err = h.Verify(b)
			}
			if err != nil {
				return r, fmt.Errorf("%s of node %d: %w", filepath.Base(f), id, err)
			}
			if h.EndOffset <= upTo {
				r.starts, r.raw[h.BaseOffset], r.end = append(r.starts, h.BaseOffset), b[:h.SizeBytes], h.EndOffset
			}
			b = b[h.SizeBytes:]
		}
	}
	return r, nil
}

// partition is the directory of a controller's metadata log.
func (k *kraft) partition(id broker) string {
	return filepath.Join(k.dirs[id], metalog.PartitionDir)
}

// awaitEqualLogs waits until voters have all that is committed now, and fails
// unless their logs are the same, byte for byte, from where the youngest of
// them begins.
func (k *kraft) awaitEqualLogs(t *testing.T, voters ...broker) {
	t.Helper()
	upTo := kafka.Offset(k.awaitLeader(t, 0, voters...).highWatermark)
	replicas := make([]replica, len(voters))
	for i, id := range voters {
		eventually(t, fmt.Sprintf("controller %d has everything below offset %d", id, upTo), func(context.Context) error {
			var err error
			if replicas[i], err = k.replicaOf(id, upTo); err == nil && replicas[i].end < upTo {
				err = fmt.Errorf("its log ends at %d", replicas[i].end)
			}
			return err
		})
	}
	from, batches, err := equal(replicas)
	if err != nil {
		t.Fatalf("of controllers %d, up to offset %d: %v", voters, upTo, err)
	}
	t.Logf("controllers %d have the same %d batches, offsets %d to %d", voters, batches, from, upTo)
}

// equal compares replicas from where the youngest of them begins, and gives how
// many batches that are. An error names replicas by their number.
func equal(replicas []replica) (from kafka.Offset, batches int, err error) {
	var late [][]kafka.Offset // the batches of each that are compared
	for _, r := range replicas {
		from = max(from, r.starts[0])
	}
	for _, r := range replicas {
		i, _ := slices.BinarySearch(r.starts, from)
		late = append(late, r.starts[i:])
	}
	first := replicas[0]
	for i, r := range replicas {
		if !slices.Equal(late[i], late[0]) {
			return from, 0, fmt.Errorf("replica %d has batches at %d, replica 0 at %d", i, late[i], late[0])
		}
		for _, start := range late[0] {
			if !bytes.Equal(first.raw[start], r.raw[start]) {
				return from, 0, fmt.Errorf("the batch at offset %d is\n%x in replica 0 and\n%x in replica %d", start, first.raw[start], r.raw[start], i)
			}
		}
	}
	if len(late[0]) == 0 {
		return from, 0, fmt.Errorf("there is nothing to compare from offset %d on", from)
	}
	return from, len(late[0]), nil
}

// A byte, a batch and a border that differ are found; what only an older log has
// is left out.
func TestReplicasAreCompared(t *testing.T) {
	log := func(raw string, starts ...kafka.Offset) replica {
		r := replica{starts: starts, raw: map[kafka.Offset][]byte{}}
		for i, at := range starts {
			r.raw[at] = []byte{raw[i]}
		}
		return r
	}
	for _, c := range []struct {
		name     string
		replicas []replica
		batches  int // 0: they differ
	}{
		{"the same", []replica{log("abc", 0, 2, 5), log("abc", 0, 2, 5)}, 3},
		{"one begins later", []replica{log("abc", 0, 2, 5), log("bc", 2, 5), log("c", 5)}, 1},
		{"a byte", []replica{log("abc", 0, 2, 5), log("axc", 0, 2, 5)}, 0},
		{"a byte of the last", []replica{log("bc", 2, 5), log("abc", 0, 2, 5), log("abx", 0, 2, 5)}, 0},
		{"a batch less", []replica{log("abc", 0, 2, 5), log("ac", 0, 5)}, 0},
		{"another border", []replica{log("abc", 0, 2, 5), log("abc", 0, 3, 5)}, 0},
	} {
		if _, n, err := equal(c.replicas); n != c.batches || (err == nil) != (c.batches > 0) {
			t.Errorf("%s: %d batches, %v", c.name, n, err)
		}
	}
}
