package zkhistory

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"slices"
	"testing"

	"kbench/internal/fuzzing"
	"kbench/internal/zkserver/datatree"
	"kbench/internal/zkserver/proto"
)

// mended is a copy of ZooKeeper's log whose transactions have the checksums of
// their bytes and their ends.
func mended(b []byte) []byte {
	b = slices.Clone(b)
	for at := logHeader; at+12 <= len(b); {
		n := int64(int32(binary.BigEndian.Uint32(b[at+8:])))
		from := at + 12
		if n <= 0 || n >= int64(len(b)-from) {
			break
		}
		end := from + int(n)
		binary.BigEndian.PutUint64(b[at:], uint64(adler32.Checksum(b[from:end])))
		b[end] = endOfTxn
		at = end + 1
	}
	return b
}

// logOf is a log of transactions as ZooKeeper writes it.
func logOf(txns ...[]byte) []byte {
	b := append([]byte(logMagic), make([]byte, logHeader-len(logMagic))...)
	for _, x := range txns {
		b = append(b, make([]byte, 8)...)
		b = append(proto.AppendBuffer(b, x), endOfTxn)
	}
	return mended(b)
}

// txn is one of a type with a body.
func txn(kind int32, body []byte) []byte {
	b := proto.AppendInt64(proto.AppendInt32(proto.AppendInt64(nil, 5), 1), 9)
	return append(proto.AppendInt32(proto.AppendInt64(b, 1000), kind), body...)
}

// FuzzReadTxns: whatever a server of ZooKeeper has in its log, reading it ends
// without a panic, in memory bounded by the file.
func FuzzReadTxns(f *testing.F) {
	set := proto.AppendInt32(proto.AppendBuffer(proto.AppendString(nil, "/controller_epoch"), []byte("7")), 1)
	create := proto.AppendBuffer(proto.AppendString(nil, "/brokers/ids/1"), []byte("{}"))
	create = append(proto.AppendACLs(create, []proto.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}), 1)
	multi := proto.AppendBuffer(proto.AppendInt32(proto.AppendInt32(nil, 1), opSetData), set)
	f.Add(logOf(txn(opCreate, create), txn(opSetData, set), txn(opMulti, multi), txn(opCloseSess, nil)))
	f.Add(append(logOf(), 0, 0, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, mended(b)} {
			tr := newTracker(func(Change) error { return nil })
			fuzzing.Within(t, len(b), 64, func() {
				_ = readTxns(bytes.NewReader(b), func(x *datatree.Txn) error { return tr.apply(x) })
			})
		}
	})
}

// FuzzJudge: a stored history of a run folder, given without its compression, is
// judged or refused.
func FuzzJudge(f *testing.F) {
	for _, text := range []string{
		`{"rules":{"noRecovery":true}}
{"c":{"z":3,"p":"/controller_epoch","d":"1","new":true}}
{"c":{"z":4,"p":"/brokers/ids/1","d":"{}","new":true}}
{"c":{"z":5,"p":"/brokers/topics/t","d":"{\"partitions\":{\"0\":[1]},\"topic_id\":\"AAAAAAAAAAAAAAAAAAAAAQ\",\"version\":3}","new":true}}
{"c":{"z":6,"p":"/brokers/topics/t/partitions/0/state","d":"{\"controller_epoch\":1,\"leader\":1,\"leader_epoch\":0,\"isr\":[1]}","new":true}}
{"c":{"z":7,"p":"/latest_producer_id_block","d":"{\"broker\":1,\"block_start\":\"0\",\"block_end\":\"999\"}","v":1}}
{"c":{"z":8,"p":"/config/topics/t","d":"{\"config\":{\"unclean.leader.election.enable\":\"true\"}}","new":true}}
{"c":{"z":9,"p":"/brokers/ids/1","gone":true}}
{"end":true}
`, `{"end":true}`, `{"rules":null}`,
	} {
		f.Add([]byte(text))
	}
	zipped := fuzzing.Zipped()
	f.Fuzz(func(t *testing.T, text []byte) {
		file := bytes.NewReader(zipped(t, text))
		fuzzing.Within(t, len(text), 256, func() { _, _ = Judge(file) })
	})
}
