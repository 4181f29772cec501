package etcdraft

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"kbench/internal/fuzzing"
	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

// allocationFactor bounds what may be allocated for a byte: an empty entry takes
// two in a message, and some 100 in memory.
const allocationFactor = 256

// FuzzReadAnchors: a file of anchors is read or refused, and read again as it is
// written.
func FuzzReadAnchors(f *testing.F) {
	f.Add([]byte("0 0\n12 3\n"))
	f.Add([]byte("5 1"))
	f.Add([]byte("9223372036854775807 18446744073709551615\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const path = "/d/raft-index"
		fs := &metalog.MemFS{}
		if err := metalog.WriteAtomic(fs, path, b); err != nil {
			t.Fatal(err)
		}
		var list []anchor
		var err error
		fuzzing.Within(t, len(b), allocationFactor, func() { list, err = readAnchors(fs, path) })
		if err != nil {
			return
		}
		if err := writeAnchors(fs, path, list...); err != nil {
			t.Fatal(err)
		}
		if again, err := readAnchors(fs, path); err != nil || !slices.Equal(list, again) {
			t.Fatalf("%v came back as %v, %v", list, again, err)
		}
	})
}

// spoken is a connection on which a peer has sent what there is.
type spoken struct {
	net.Conn
	bytes.Reader
}

func (s *spoken) Read(b []byte) (int, error) { return s.Reader.Read(b) }

// said is what voter 2 of cluster "test" sends.
func said(messages ...[]byte) []byte {
	b := append(binary.BigEndian.AppendUint16(nil, 4), "test"...)
	b = binary.BigEndian.AppendUint32(b, 2)
	for _, m := range messages {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(m))), m...)
	}
	return b
}

// FuzzTransport: whatever a peer sends behind the greeting, what is delivered is
// a voter's and was sent, and nothing is allocated for what was only announced.
func FuzzTransport(f *testing.F) {
	f.Add(said([]byte("a message"), nil))
	f.Add(said([]byte("one"), []byte("two")))
	f.Add(append(said(), 0x3f, 0xff, 0xff, 0xff, 1))
	f.Add([]byte{0xff, 0xff, 't'})
	tr := newTransport()
	tr.configure(raftclient.Parts{
		Config: raft.Config{
			NodeID: 1, ClusterID: "test",
			Voters: []raft.Voter{{ReplicaKey: raft.ReplicaKey{ID: 1}}, {ReplicaKey: raft.ReplicaKey{ID: 2}}, {ReplicaKey: raft.ReplicaKey{ID: 3}}},
		},
		Talk: &raftclient.Talk{},
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		nc := &spoken{}
		nc.Reset(b)
		fuzzing.Within(t, len(b), allocationFactor, func() {
			err := tr.read(context.Background(), nc, func(_ context.Context, in raft.Foreign) error {
				if in.From != 2 && in.From != 3 || len(in.Payload) == 0 || !bytes.Contains(b, in.Payload) {
					t.Errorf("%d bytes of %d were delivered", len(in.Payload), in.From)
				}
				return nil
			})
			if err == nil || errors.Is(err, io.EOF) && nc.Len() > 0 {
				t.Errorf("read ends with %v and %d bytes left", err, nc.Len())
			}
		})
	})
}

// FuzzDecodeMessage: a peer's message is dropped or is for this node, in memory
// bounded by its size.
func FuzzDecodeMessage(f *testing.F) {
	raw, err := metalog.Batch{Epoch: 3, Records: []metalog.Record{{Value: []byte("a")}}}.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range []*pb.Message{
		{Type: pb.MsgApp.Enum(), Index: new(uint64(1)), LogTerm: new(uint64(1)), Entries: []*pb.Entry{{Term: new(uint64(3)), Index: new(uint64(2)), Data: raw}}},
		{Type: pb.MsgHeartbeat.Enum(), Commit: new(uint64(7)), Context: []byte("c")},
		{Type: pb.MsgSnap.Enum(), Snapshot: &pb.Snapshot{
			Data: make([]byte, 8), Metadata: &pb.SnapshotMetadata{Index: new(uint64(3)), Term: new(uint64(1)), ConfState: &pb.ConfState{Voters: []uint64{1, 2}}},
		}},
	} {
		m.From, m.To, m.Term = new(idOf(2)), new(idOf(1)), new(uint64(3))
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m *pb.Message
		fuzzing.Within(t, len(b), allocationFactor, func() { m = decodeMessage(raft.Foreign{From: 2, Payload: b}, 1) })
		if m == nil {
			return
		}
		if nodeOf(m.GetFrom()) != kafka.BrokerID(2) || nodeOf(m.GetTo()) != kafka.BrokerID(1) || m.GetTerm() > math.MaxInt32 {
			t.Fatalf("%v was let in", m)
		}
		once, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if again := decodeMessage(raft.Foreign{From: 2, Payload: once}, 1); again == nil || !proto.Equal(m, again) {
			t.Fatalf("%v came back as %v", m, again)
		}
	})
}
