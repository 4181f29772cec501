package metalog

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"kbench/kafka"
)

var (
	testDirectory1 = kafka.UUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	testDirectory2 = kafka.UUID{17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
)

// controlGoldens are the values that the message classes of Kafka 4.4.0 write.
var controlGoldens = []struct {
	name, hex string
	record    Record
	parse     func([]byte) (any, error)
	want      any
}{
	{
		"LeaderChange v0", "000000000bb90300000bb90000000bba000200000bb90000",
		leaderChangeGolden(0).Record(), func(b []byte) (any, error) { return ParseLeaderChange(b) }, leaderChangeGolden(0),
	},
	{
		"LeaderChange v1",
		"000100000bb90300000bb90102030405060708090a0b0c0d0e0f100000000bba1112131415161718191a1b1c1d1e1f20000200000bb90102030405060708090a0b0c0d0e0f100000",
		leaderChangeGolden(1).Record(), func(b []byte) (any, error) { return ParseLeaderChange(b) }, leaderChangeGolden(1),
	},
	{
		"KRaftVersion", "0000000100",
		KRaftVersion{1}.Record(), func(b []byte) (any, error) { return ParseKRaftVersion(b) },
		KRaftVersion{1},
	},
	{
		"Voters",
		"00000300000bb90102030405060708090a0b0c0d0e0f10030b434f4e54524f4c4c45520f686f73742d312e6578616d706c65ffff000453534c043a3a3123850000000001000000000bba1112131415161718191a1b1c1d1e1f20020b434f4e54524f4c4c455203683200010000000001000000",
		votersGolden.Record(), func(b []byte) (any, error) { return ParseVoters(b) }, votersGolden,
	},
	{
		"SnapshotHeader", "00000000011f71fb04cb00",
		SnapshotHeader{1234567890123}.Record(), func(b []byte) (any, error) { return ParseSnapshotHeader(b) },
		SnapshotHeader{1234567890123},
	},
}

func leaderChangeGolden(version int16) LeaderChange {
	a, b := VoterKey{ID: 3001}, VoterKey{ID: 3002}
	if version > 0 {
		a.Directory, b.Directory = testDirectory1, testDirectory2
	}
	return LeaderChange{version, 3001, []VoterKey{a, b}, []VoterKey{a}}
}

var votersGolden = Voters{[]Voter{
	{
		VoterKey{3001, testDirectory1},
		[]kafka.Endpoint{{Listener: "CONTROLLER", Host: "host-1.example", Port: 65535}, {Listener: "SSL", Host: "::1", Port: 9093}},
		0, 1,
	},
	{VoterKey{3002, testDirectory2}, []kafka.Endpoint{{Listener: "CONTROLLER", Host: "h2", Port: 1}}, 0, 1},
}}

func TestControlRecordsAreKafkas(t *testing.T) {
	for _, g := range controlGoldens {
		t.Run(g.name, func(t *testing.T) {
			if got := hex.EncodeToString(g.record.Value); got != g.hex {
				t.Errorf("ours   %s\nKafka's %s", got, g.hex)
			}
			raw, err := hex.DecodeString(g.hex)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := g.parse(raw); err != nil || !reflect.DeepEqual(got, g.want) {
				t.Errorf("decoded %+v, %v; want %+v", got, err, g.want)
			}
			for n := range raw {
				if got, err := g.parse(raw[:n]); err == nil && n < len(raw)-1 {
					t.Errorf("the first %d of %d bytes give %+v", n, len(raw), got)
				}
			}
			raw[1] = 9
			if _, err := g.parse(raw); err == nil || !strings.Contains(err.Error(), "version 9") {
				t.Errorf("version 9: %v", err)
			}
		})
	}
}

// The log of a dynamic quorum says so itself, as its snapshots do, and a
// truncation takes it back.
func TestLogKnowsTheQuorum(t *testing.T) {
	l := mustOpen(t, Config{FS: OS(), Dir: goldenCopy(t, "testdata/kafka-4.4.0-dynamic") + "/" + PartitionDir})
	changes := l.QuorumChanges()
	if len(changes) != 2 || changes[0].Level != 1 || changes[0].Offset != 1 || changes[1].Offset != 2 {
		t.Fatalf("changes %+v", changes)
	}
	voters := changes[1].Voters
	if len(voters) != 1 || voters[0].ID != 3001 || voters[0].Directory.IsZero() || len(voters[0].Endpoints) != 1 || voters[0].MaxLevel != 1 {
		t.Fatalf("voters %+v", voters)
	}
	for _, id := range l.snapshots {
		q, err := l.SnapshotQuorum(id)
		if err != nil || q.Level != 1 || !reflect.DeepEqual(q.Voters, voters) {
			t.Errorf("snapshot %v: %+v, %v", id, q, err)
		}
	}
	if err := l.TruncateTo(0); err != nil {
		t.Fatal(err)
	}
	if left := l.QuorumChanges(); len(left) != 0 {
		t.Errorf("left after a truncation to the start: %+v", left)
	}
}

// What this node appends counts at once, and after a restart.
func TestLogKnowsTheQuorumItWrote(t *testing.T) {
	l := mustOpen(t, Config{FS: OS(), Dir: t.TempDir()})
	b := Batch{Epoch: 2, Control: true, Records: []Record{leaderChangeGolden(0).Record(), KRaftVersion{1}.Record(), votersGolden.Record()}}
	raw, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(raw); err != nil {
		t.Fatal(err)
	}
	want := []QuorumChange{{Offset: 1, Level: 1}, {Offset: 2, Level: Unchanged, Voters: votersGolden.Voters}}
	if got := l.QuorumChanges(); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %+v, want %+v", got, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, l.cfg)
	if got := again.QuorumChanges(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: changes %+v, want %+v", got, want)
	}
}
