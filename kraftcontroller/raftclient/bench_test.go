package raftclient

import (
	"testing"
)

// BenchmarkCommit is one record from Append to the leader's high watermark, in
// a quorum of three on one disk: an fsync at the leader beside a fetch, a
// follower's fsync and its next fetch.
func BenchmarkCommit(b *testing.B) {
	q := newQuorum(b, 3, calm)
	lead, at := q.leader()
	b.ReportAllocs()
	for b.Loop() {
		if err := lead.write(at.Epoch, "a record of a likely size, about eighty bytes long, as a partition change is"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendThroughput is many records, as topic creation makes them.
func BenchmarkAppendThroughput(b *testing.B) {
	q := newQuorum(b, 3, calm)
	lead, at := q.leader()
	value := make([]byte, 90)
	values := make([][]byte, 10_000)
	for i := range values {
		values[i] = value
	}
	b.SetBytes(int64(len(values) * len(value)))
	for b.Loop() {
		offset, err := lead.client.Append(at.Epoch, values)
		if err != nil {
			b.Fatal(err)
		}
		await(b, "commit", func() bool { return lead.client.HighWatermark() > offset })
	}
}
