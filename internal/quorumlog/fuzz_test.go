package quorumlog

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"kbench/internal/fuzzing"
	"kbench/kraftcontroller/metalog"
)

// mended is a copy of a stored file whose batches have the checksums of their
// bytes.
func mended(b []byte) []byte {
	b = slices.Clone(b)
	for rest := b; ; {
		n := bytes.IndexByte(rest, '\n')
		var l line
		if n < 0 || json.Unmarshal(rest[:n], &l) != nil || l.Bytes < 0 || l.Bytes > len(rest)-n-1 {
			return b
		}
		copy(rest[n+1:], fuzzing.Mended(rest[n+1:][:l.Bytes]))
		rest = rest[n+1+l.Bytes:]
	}
}

// FuzzJudge: a stored file, given without its compression, is judged or refused,
// without a panic and in memory bounded by what is in it.
func FuzzJudge(f *testing.F) {
	plain := func(q *quorum) {
		zr, err := gzip.NewReader(bytes.NewReader(q.store()))
		if err != nil {
			f.Fatal(err)
		}
		text, err := io.ReadAll(zr)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	q := play(f)
	plain(q)
	q.snapshot(2, metalog.SnapshotID{EndOffset: 3, Epoch: 1}, register(1, 1), register(2, 2))
	q.vote(1001, 1002, 1003)
	q.records([]int{0}, 3, newTopic)
	plain(q)
	late := play(f)
	late.late(2)
	acked(late, 2, 1, 1, 2)
	acked(late, 2, 1, 7, 2)
	abortedTransaction(late)
	plain(late)
	f.Add([]byte(`{"voters":[1001]}` + "\n" + `{"held":[1001],"bytes":1000000000}` + "\n"))
	zipped := fuzzing.Zipped()
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, text := range [][]byte{text, mended(text)} {
			file := zipped(t, text)
			fuzzing.Within(t, len(text), 512, func() { _, _ = Judge(bytes.NewReader(file)) })
		}
	})
}
