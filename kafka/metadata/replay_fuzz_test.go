package metadata

import (
	"encoding/binary"
	"testing"

	"kbench/kafka"
)

// framed puts the length of each record before it.
func framed(records ...[]byte) []byte {
	var b []byte
	for _, r := range records {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(r))), r...)
	}
	return b
}

// replayFramed replays what is framed, up to what is no record.
func replayFramed(d *Delta, b []byte) {
	for len(b) >= 2 {
		n := int(binary.BigEndian.Uint16(b))
		if n > len(b)-2 {
			return
		}
		r, _, err := ReadRecord(b[2:][:n])
		if err != nil {
			return
		}
		_ = d.Replay(r) // an error changes nothing
		b = b[2+n:]
	}
}

// FuzzReplay: whatever records a log holds, replaying them ends without a panic
// and in memory bounded by their bytes, and the image that they make is a snapshot
// that replays too.
func FuzzReplay(f *testing.F) {
	var all [][]byte
	for _, g := range readGolden(f) {
		all = append(all, g.bytes)
	}
	f.Add(framed(all...))
	id := kafka.UUID{7}
	var topic [][]byte
	for _, r := range []Record{
		&RegisterBrokerRecord{BrokerID: 1, BrokerEpoch: 1, IncarnationID: kafka.UUID{1}},
		&TopicRecord{Name: "t", TopicID: id},
		&PartitionRecord{TopicID: id, Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1, 2}, Leader: 1},
		&PartitionRecord{TopicID: id, PartitionID: 1, Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}, Leader: 1},
		&PartitionRecord{TopicID: id, PartitionID: 1 << 30, Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}, Leader: 1},
		&PartitionChangeRecord{TopicID: id, PartitionID: 1, ISR: []kafka.BrokerID{1}, Leader: 1, LeaderRecoveryState: RecoveryStateUnchanged},
		&FenceBrokerRecord{ID: 1, Epoch: 1}, &UnfenceBrokerRecord{ID: 1, Epoch: 1},
		&RemoveTopicRecord{TopicID: id},
	} {
		b, err := AppendRecord(nil, r, 0)
		if err != nil {
			f.Fatal(err)
		}
		topic = append(topic, b)
		f.Add(framed(topic...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := allocatedBytes()
		d := NewDelta(Empty())
		replayFramed(d, b)
		image := d.Apply(1, 1)
		// A page of a persistent map is copied for a change.
		if got := allocatedBytes() - before; got > uint64(len(b))*2048+4<<20 {
			t.Fatalf("%d bytes were allocated for records of %d", got, len(b))
		}
		again := NewDelta(Empty())
		for r := range image.Records() {
			if err := again.Replay(r); err != nil {
				t.Fatalf("%#v of a snapshot does not replay: %v", r, err)
			}
		}
	})
}
