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
	from := kafka.Offset(0)
	for i, id := range voters {
		eventually(t, fmt.Sprintf("controller %d has everything below offset %d", id, upTo), func(context.Context) error {
			var err error
			if replicas[i], err = k.replicaOf(id, upTo); err == nil && replicas[i].end < upTo {
				err = fmt.Errorf("its log ends at %d", replicas[i].end)
			}
			return err
		})
		from = max(from, replicas[i].starts[0])
	}
	size, count := 0, 0
	first := replicas[0]
	for n, start := range first.starts {
		if start < from {
			continue
		}
		size, count = size+len(first.raw[start]), count+1
		for i, r := range replicas[1:] {
			if !bytes.Equal(first.raw[start], r.raw[start]) {
				t.Fatalf("batch %d at offset %d: controller %d has\n%x\ncontroller %d has\n%x", n, start, voters[0], first.raw[start], voters[i+1], r.raw[start])
			}
		}
	}
	for i, r := range replicas {
		if got := len(r.starts) - slices.IndexFunc(r.starts, func(o kafka.Offset) bool { return o >= from }); got != count {
			t.Fatalf("from offset %d to %d controller %d has %d batches, controller %d has %d", from, upTo, voters[i], got, voters[0], count)
		}
	}
	if count == 0 {
		t.Fatalf("there is nothing to compare: the youngest log begins at %d of %d", from, upTo)
	}
	t.Logf("controllers %d have the same %d bytes in %d batches, offsets %d to %d", voters, size, count, from, upTo)
}
