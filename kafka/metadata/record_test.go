package metadata

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"

	"kbench/kafka"
	"kbench/kafka/access"
)

// goldenRecord is one line of testdata/records.txt: a name, a version, and
// the bytes that Kafka 4.4.0 writes for the record of goldenRecords.
type goldenRecord struct {
	name    string
	version int16
	bytes   []byte
}

func readGolden(t testing.TB) []goldenRecord {
	data, err := os.ReadFile("testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []goldenRecord
	for line := range strings.Lines(string(data)) {
		var g goldenRecord
		if _, err := fmt.Sscanf(line, "%s %d %x", &g.name, &g.version, &g.bytes); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, g)
	}
	return all
}

// goldenValue gives the record that Kafka was asked to write.
func goldenValue(name string, v int16) Record {
	topic := kafka.UUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	var incarnation, d1, d2 kafka.UUID
	for i := range topic {
		incarnation[i], d1[i], d2[i] = byte(0x11+i), byte(0x21+i), byte(0x31+i)
	}
	str := func(s string) *string { return &s }
	endpoint := func(l, h string, p uint16, s int16) RecordEndpoint {
		return RecordEndpoint{Endpoint: kafka.Endpoint{Listener: l, Host: h, Port: p}, SecurityProtocol: s}
	}
	type ids = []kafka.BrokerID
	switch name {
	case "register-broker":
		r := &RegisterBrokerRecord{
			BrokerID: 3, IncarnationID: incarnation, BrokerEpoch: 77, Rack: str("rack-a"), Fenced: true,
			EndPoints: []RecordEndpoint{endpoint("PLAINTEXT", "localhost", 59092, 0), endpoint("SSL", "::1", 9093, 1)},
			Features:  []RecordFeature{{Name: "metadata.version", Min: 7, Max: 25}},
		}
		r.InControlledShutdown, r.IsMigratingZkBroker = v >= 1, v >= 2
		if v >= 3 {
			r.LogDirs = []kafka.UUID{d1, d2}
		}
		if v >= 4 {
			r.CordonedLogDirs = []kafka.UUID{d2}
		}
		return r
	case "register-broker-no-rack":
		return &RegisterBrokerRecord{IncarnationID: incarnation, BrokerEpoch: 1}
	case "unregister-broker":
		return &UnregisterBrokerRecord{BrokerID: 3, BrokerEpoch: 77}
	case "topic":
		return &TopicRecord{Name: "foo", TopicID: topic}
	case "partition":
		r := &PartitionRecord{
			PartitionID: 7, TopicID: topic, Replicas: ids{3, 1, 2}, ISR: ids{3, 2}, RemovingReplicas: ids{1},
			AddingReplicas: ids{2}, Leader: 3, LeaderEpoch: 5, PartitionEpoch: 9, LeaderRecoveryState: kafka.Recovering,
		}
		if v >= 1 {
			r.Directories = []kafka.UUID{d1, d2, UnassignedDirectory}
		}
		if v >= 2 {
			r.EligibleLeaderReplicas, r.LastKnownELR = ids{1}, ids{}
		}
		return r
	case "partition-plain":
		return &PartitionRecord{TopicID: topic, Replicas: ids{0}, ISR: ids{0}, Directories: []kafka.UUID{d1}}
	case "config":
		return &ConfigRecord{ResourceType: TopicConfig, ResourceName: "foo", Name: "retention.ms", Value: str("1000")}
	case "config-remove":
		return &ConfigRecord{ResourceType: BrokerConfig, Name: "x"}
	case "partition-change-none":
		return NewPartitionChange(topic, 1)
	case "partition-change":
		r := &PartitionChangeRecord{
			PartitionID: 1, TopicID: topic, ISR: ids{2, 3}, Leader: 2, Replicas: ids{2, 3, 4},
			RemovingReplicas: ids{}, AddingReplicas: ids{4}, LeaderRecoveryState: kafka.Recovered,
		}
		if v >= 1 {
			r.Directories = []kafka.UUID{d1, d2, LostDirectory}
		}
		if v >= 2 {
			r.EligibleLeaderReplicas, r.LastKnownELR = ids{4}, ids{3}
		}
		return r
	case "partition-change-leader-0":
		r := NewPartitionChange(topic, 300)
		r.Leader = 0
		return r
	case "partition-change-big":
		r := NewPartitionChange(topic, 1)
		for i := range 40 {
			r.ISR = append(r.ISR, kafka.BrokerID(i))
		}
		r.Tags = []Tag{{12, []byte{9}}}
		return r
	case "fence-broker":
		return &FenceBrokerRecord{ID: 3, Epoch: 77}
	case "unfence-broker":
		return &UnfenceBrokerRecord{ID: 3, Epoch: 77}
	case "remove-topic":
		return &RemoveTopicRecord{TopicID: topic}
	case "feature-level":
		return &FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 25}
	case "producer-ids":
		return &ProducerIDsRecord{BrokerID: 3, BrokerEpoch: 77, NextProducerID: 4000}
	case "broker-registration-change":
		r := &BrokerRegistrationChangeRecord{BrokerID: 3, BrokerEpoch: 77, Fenced: -1}
		if v >= 1 {
			r.InControlledShutdown = 1
		}
		if v >= 2 {
			r.LogDirs = []kafka.UUID{d1}
		}
		if v >= 3 {
			r.CordonedLogDirs = []kafka.UUID{}
		}
		return r
	case "noop":
		return &NoOpRecord{}
	case "zk-migration-state":
		return &ZkMigrationStateRecord{State: 3}
	case "begin-transaction":
		return &BeginTransactionRecord{Name: str("Bootstrap records")}
	case "begin-transaction-null":
		return &BeginTransactionRecord{}
	case "begin-transaction-long":
		return &BeginTransactionRecord{Name: str(strings.Repeat("x", 200))}
	case "end-transaction":
		return &EndTransactionRecord{}
	case "abort-transaction":
		return &AbortTransactionRecord{Reason: str("failover")}
	case "register-controller":
		return &RegisterControllerRecord{
			ControllerID: 3000, IncarnationID: incarnation,
			EndPoints: []RecordEndpoint{endpoint("CONTROLLER", "h", 9093, 0)},
			Features:  []RecordFeature{{Name: "kraft.version", Max: 1}},
		}
	case "clear-elr":
		return &ClearElrRecord{TopicName: "foo"}
	case "unregister-controller":
		return &UnregisterControllerRecord{ControllerID: 3000}
	case "delegation-token":
		return &DelegationTokenRecord{
			Owner: "User:alice", Requester: "User:bob", Renewers: []string{"User:carol", "User:dave"}, TokenID: "tok-1",
			IssueTimestamp: 1700000000000, MaxTimestamp: 1700604800000, ExpirationTimestamp: 1700086400000,
		}
	case "delegation-token-no-renewers":
		return &DelegationTokenRecord{
			Owner: "User:alice", Requester: "User:alice", TokenID: "t",
			IssueTimestamp: 1, MaxTimestamp: 2, ExpirationTimestamp: 3,
		}
	case "scram":
		return &UserScramCredentialRecord{
			Name: "alice", Mechanism: access.ScramSHA512, Salt: ascending(0x40, 20), StoredKey: ascending(0x50, 64),
			ServerKey: ascending(0x90, 64), Iterations: 8192,
		}
	case "client-quota":
		return &ClientQuotaRecord{
			Entity: []RecordQuotaEntity{{Type: "user", Name: str("alice")}, {Type: "client-id"}},
			Name:   "producer_byte_rate", Value: 1048576.5,
		}
	case "client-quota-remove":
		return &ClientQuotaRecord{
			Entity: []RecordQuotaEntity{{Type: "ip", Name: str("10.0.0.1")}},
			Name:   "connection_creation_rate", Remove: true,
		}
	case "acl":
		return &AccessControlEntryRecord{
			ID: topic, ResourceType: 2, ResourceName: "foo-", PatternType: 4, Principal: "User:alice", Host: "*",
			Operation: 3, PermissionType: 3,
		}
	case "remove-acl":
		return &RemoveAccessControlEntryRecord{ID: topic}
	case "remove-scram":
		return &RemoveUserScramCredentialRecord{Name: "alice", Mechanism: access.ScramSHA256}
	case "remove-delegation-token":
		return &RemoveDelegationTokenRecord{TokenID: "tok-1"}
	case "topic-unknown-tags":
		return &TopicRecord{Name: "foo", TopicID: topic, Tags: []Tag{{3, []byte{1, 2, 3}}, {40, []byte{}}}}
	}
	return nil
}

func ascending(from byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = from + byte(i)
	}
	return b
}

func TestRecordsAreKafkas(t *testing.T) {
	type format struct{ key, version int16 }
	seen := map[format]bool{}
	for _, g := range readGolden(t) {
		t.Run(fmt.Sprintf("%s/%d", g.name, g.version), func(t *testing.T) {
			want := goldenValue(g.name, g.version)
			if want == nil {
				t.Fatal("no such record in goldenValue")
			}
			seen[format{want.Key(), g.version}] = true
			got, version, err := ReadRecord(g.bytes)
			if err != nil || version != g.version {
				t.Fatalf("read: version %d, %v", version, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read\n%#v\nwant\n%#v", got, want)
			}
			wrote, err := AppendRecord([]byte{0xff}, want, g.version)
			if err != nil || !bytes.Equal(wrote[1:], g.bytes) {
				t.Errorf("wrote\n%x (%v)\nwant\n%x", wrote, err, g.bytes)
			}
		})
	}
	for key := range int16(64) {
		r := newRecord(key)
		if r == nil {
			continue
		}
		for version := range r.maxVersion() + 1 {
			if !seen[format{key, version}] {
				t.Errorf("no golden bytes of %T version %d", r, version)
			}
		}
	}
}

func TestReadRecordRefuses(t *testing.T) {
	for _, c := range []struct{ name, hex, want string }{
		{"empty", "", "the frame is truncated"},
		{"frame 0", "000200", "frame version 0 is not supported"},
		{"frame 2", "021400", "frame version 2 is not supported"},
		{"unknown key", "010600", "unknown key 6"},
		{"huge key", "01ffffffff0f00", "key 4294967295 is out of range"},
		{"newer version", "010303", "version 3 of *metadata.PartitionRecord is newer than the supported 2"},
		{"truncated", "0102000466", "ends in the middle of a field"},
		{"null name", "01020000" + strings.Repeat("00", 17), "a string that must not be null is null"},
		{"trailing", "0114000000", "1 bytes follow its end"},
		{"long array", "010300" + strings.Repeat("00", 20) + "ffffffff07", "ends in the middle of a field"},
		{"repeated tag", "01140002" + "0300" + "0300", "tagged field 3 comes after 3"},
		{"tag with a rest", "010500" + strings.Repeat("00", 20) + "01" + "0105" + "0000000100", "tagged field 1: 1 bytes follow its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := hex.DecodeString(c.hex)
			if err != nil {
				t.Fatal(err)
			}
			if r, _, err := ReadRecord(b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want an error with %q", r, err, c.want)
			}
		})
	}
	for _, g := range readGolden(t) {
		for n := range g.bytes {
			if _, _, err := ReadRecord(g.bytes[:n]); err == nil {
				t.Errorf("%s/%d: no error for the first %d of %d bytes", g.name, g.version, n, len(g.bytes))
			}
		}
	}
}

func TestAppendRecordRefuses(t *testing.T) {
	change := NewPartitionChange(kafka.UUID{1}, 0)
	change.Directories = []kafka.UUID{{9}}
	for _, c := range []struct {
		r       Record
		version int16
		want    string
	}{
		{&NoOpRecord{}, 1, "version 1 is not in 0..0"},
		{&NoOpRecord{}, -1, "version -1 is not in 0..0"},
		{&PartitionRecord{Directories: []kafka.UUID{{9}}}, 0, "Directories needs version 1"},
		{change, 0, "tagged field 8 is not in version 0"},
		{&RegisterBrokerRecord{InControlledShutdown: true}, 0, "InControlledShutdown needs version 1"},
	} {
		dst := []byte{1, 2}
		if got, err := AppendRecord(dst, c.r, c.version); err == nil || !strings.Contains(err.Error(), c.want) || len(got) != 2 {
			t.Errorf("%T version %d: got %x, %v", c.r, c.version, got, err)
		}
	}
}

func allocatedBytes() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzReadRecord checks that what is read is written so that it reads the
// same again, byte for byte from then on.
func FuzzReadRecord(f *testing.F) {
	for _, g := range readGolden(f) {
		f.Add(g.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := allocatedBytes()
		r, version, err := ReadRecord(b)
		// The smallest element of a list takes 2 bytes on the wire and about 100 in
		// memory; the counter is exact to the spans that are handed out, of which each
		// processor holds one of every size.
		if got := allocatedBytes() - before; got > uint64(len(b))*128+4<<20 {
			t.Fatalf("%d bytes were allocated for a record of %d", got, len(b))
		}
		if err != nil {
			return
		}
		once, err := AppendRecord(nil, r, version)
		if err != nil {
			t.Fatalf("%#v does not write: %v", r, err)
		}
		again, _, err := ReadRecord(once)
		if err != nil {
			t.Fatalf("%x does not read: %v", once, err)
		}
		if twice, err := AppendRecord(nil, again, version); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not a fixed point: %x, then %x, %v", once, twice, err)
		}
	})
}
