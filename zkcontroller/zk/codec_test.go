package zk

import (
	"reflect"
	"strings"
	"testing"

	"kbench/kafka"
	"kbench/kafka/access"
)

var one = kafka.UUID{15: 1}

// The right-hand sides are what the encoders of Apache Kafka 3.9.2
// (kafka.zk.*ZNode) wrote for the same values.
func TestEncodersMatchKafka(t *testing.T) {
	plain := []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}}
	both := append(plain, kafka.Endpoint{Listener: "INTERNAL", Host: "h2", Port: 9093})
	protocols := map[string]string{"INTERNAL": "SASL_SSL"}
	ids := func(i ...kafka.BrokerID) []kafka.BrokerID { return i }
	three := map[int32]Assignment{0: {Replicas: ids(1, 2)}, 1: {Replicas: ids(1, 2)}, 2: {Replicas: ids(1, 2)}}
	moving := map[int32]Assignment{0: {Replicas: ids(1, 2)}, 1: {ids(1, 2, 3), ids(3), ids(1)}, 2: {Replicas: ids(1, 2)}}
	tps := []kafka.TopicPartition{{Topic: "t"}, {Topic: "u", Partition: 1}}
	for want, got := range map[string][]byte{
		`{"version":2,"brokerid":1,"timestamp":"1700000000123","kraftControllerEpoch":-1}`:                                                                                                                                                        EncodeController(1, 1700000000123),
		`{"controller_epoch":9,"leader":2,"version":1,"leader_epoch":5,"isr":[2,3]}`:                                                                                                                                                              EncodeState(PartitionState{2, 5, 9, ids(2, 3), 0}),
		`{"controller_epoch":9,"leader":2,"version":1,"leader_recovery_state":1,"leader_epoch":5,"isr":[2,3]}`:                                                                                                                                    EncodeState(PartitionState{2, 5, 9, ids(2, 3), 1}),
		`{"partitions":{"0":[1,2],"1":[1,2],"2":[1,2]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":{},"removing_replicas":{},"version":3}`:                                                                                              EncodeTopic(TopicAssignment{one, three}),
		`{"partitions":{"0":[1,2],"1":[1,2],"2":[1,2]},"adding_replicas":{},"removing_replicas":{},"version":3}`:                                                                                                                                  EncodeTopic(TopicAssignment{Partitions: three}),
		`{"partitions":{"0":[1,2],"1":[1,2,3],"2":[1,2]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":{"1":[3]},"removing_replicas":{"1":[1]},"version":3}`:                                                                              EncodeTopic(TopicAssignment{one, moving}),
		`{"endpoints":["PLAINTEXT://127.0.0.1:9092"],"jmx_port":-1,"port":9092,"host":"127.0.0.1","version":2,"timestamp":"5"}`:                                                                                                                   EncodeBroker(BrokerRegistration{Version: 2, Endpoints: plain, TimestampMs: 5}),
		`{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","INTERNAL":"SASL_SSL"},"endpoints":["PLAINTEXT://127.0.0.1:9092","INTERNAL://h2:9093"],"rack":"r1","jmx_port":-1,"port":9092,"host":"127.0.0.1","version":4,"timestamp":"5"}`: EncodeBroker(BrokerRegistration{Version: 4, Endpoints: both, Protocols: protocols, Rack: "r1", TimestampMs: 5}),
		`{"features":{"f1":{"min_version":1,"max_version":3}},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:9092"],"jmx_port":-1,"port":9092,"host":"127.0.0.1","version":5,"timestamp":"5"}`:    EncodeBroker(BrokerRegistration{Endpoints: plain, TimestampMs: 5, Features: map[string]VersionRange{"f1": {1, 3}}}),
		`{"version":"1","id":"AAAAAAAAAAAAAAAAAAAAAQ"}`:                                                                          EncodeClusterID(one),
		`{"version":1,"broker":3,"block_start":"2000","block_end":"2999"}`:                                                       EncodeProducerIDBlock(ProducerIDBlock{3, 2000, 2999}),
		`{"version":1,"config":{}}`:                                                                                              EncodeConfig(nil),
		`{"version":1,"config":{"cleanup.policy":"compact","retention.ms":"5"}}`:                                                 EncodeConfig(map[string]string{"retention.ms": "5", "cleanup.policy": "compact"}),
		`{"version":2,"entity_path":"topics/foo"}`:                                                                               EncodeConfigChange("topics/foo"),
		`{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"u","partition":1}]}`:                                   EncodePartitionSet(tps),
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]},{"topic":"u","partition":1,"replicas":[1,2]}]}`: EncodeReassignments([]Reassignment{{tps[0], ids(1, 2)}, {tps[1], ids(1, 2)}}),
		`{"acls":[{"principal":"User:alice","permissionType":"Allow","host":"*","operation":"Read"},{"principal":"User:*","permissionType":"Deny","host":"1.2.3.4","operation":"ClusterAction"}],"version":1}`: EncodeACLs([]access.Binding{
			{Principal: "User:alice", Permission: access.Allow, Host: "*", Operation: access.Read},
			{Principal: "User:*", Permission: access.Deny, Host: "1.2.3.4", Operation: access.ClusterAction},
		}),
		`{"issueTimestamp":1000,"renewers":["User%3Abob","User%3Aalice"],"tokenRequester":"User%3Abob","tokenId":"tokid","owner":"User%3Aalice","expiryTimestamp":5000,"maxTimestamp":9000,"version":3}`: EncodeToken(Token{
			ID: "tokid", Owner: "User:alice", Requester: "User:bob", Renewers: []string{"User:bob", "User:alice"}, IssuedMs: 1000, MaxMs: 9000, ExpiresMs: 5000,
		}),
		`salt=c2FsdHNhbHQ=,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096`: []byte(EncodeScram(access.Keys{
			Salt: []byte("saltsalt"), StoredKey: []byte("stored"), ServerKey: []byte("server"), Iterations: 4096,
		})),
		`{"version":1,"broker":3,"event":1}`:                                                       EncodeLogDirEvent(3),
		`{"features":{},"version":2,"status":1}`:                                                   EncodeFeature(Feature{Enabled: true}),
		`{"features":{"f1":{"max_version_level":3}},"version":2,"status":0}`:                       EncodeFeature(Feature{Version: 2, Features: map[string]int16{"f1": 3}}),
		`{"features":{"f1":{"max_version_level":3,"min_version_level":3}},"version":1,"status":1}`: EncodeFeature(Feature{1, true, map[string]int16{"f1": 3}}),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestStateRoundTrip(t *testing.T) {
	for _, s := range []PartitionState{
		{-1, 0, 1, []kafka.BrokerID{7}, 0},
		{3, 2147483647, 12, []kafka.BrokerID{3, 1, 2}, 1},
		{0, 0, 0, []kafka.BrokerID{}, 0},
	} {
		b := EncodeState(s)
		if _, fast := scanState(b); !fast {
			t.Errorf("%s is not read by the fast path", b)
		}
		got, err := DecodeState(b)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s decoded as %+v, %v", b, got, err)
		}
	}
	// Another order of members and spaces, as other writers may have it.
	got, err := DecodeState([]byte(`{"version": 1, "leader": 2, "isr": [2], "leader_epoch": 4, "controller_epoch": 3}`))
	if err != nil || got.Leader != 2 || got.LeaderEpoch != 4 || got.ControllerEpoch != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecodersRefuse(t *testing.T) {
	for _, bad := range []string{"", "null", "{}", "[]", `{"leader":"x"}`, "\xff"} {
		if _, err := DecodeState([]byte(bad)); err == nil {
			t.Errorf("state %q gave no error", bad)
		}
		if _, err := DecodeController([]byte(bad)); err == nil {
			t.Errorf("controller %q gave no error", bad)
		}
		if _, err := DecodeClusterID([]byte(bad)); err == nil {
			t.Errorf("cluster id %q gave no error", bad)
		}
		if _, err := DecodeBroker(1, []byte(bad)); err == nil {
			t.Errorf("broker %q gave no error", bad)
		}
		if _, err := DecodeProducerIDBlock([]byte(bad)); err == nil {
			t.Errorf("producer ids %q gave no error", bad)
		}
		if _, err := DecodeLogDirEvent([]byte(bad)); err == nil {
			t.Errorf("log directory event %q gave no error", bad)
		}
		if _, err := DecodeFeature([]byte(bad)); err == nil {
			t.Errorf("feature %q gave no error", bad)
		}
		if _, err := DecodeConfigChange([]byte(bad)); err == nil {
			t.Errorf("config change %q gave no error", bad)
		}
	}
	for _, bad := range []string{"", "[]", `{"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t","partition":0,"replicas":[2]}]}`} {
		if _, err := DecodeReassignments([]byte(bad)); err == nil {
			t.Errorf("reassignments %q gave no error", bad)
		}
	}
	for _, bad := range []string{`{"partitions":{"x":[1]}}`, `{"partitions":{"-1":[1]}}`, `{"topic_id":"zz","partitions":{}}`} {
		if _, err := DecodeTopic([]byte(bad)); err == nil {
			t.Errorf("topic %q gave no error", bad)
		}
	}
}

// Paths and notifications of ACLs as Kafka's ZkAclStore has them.
func TestACLZnodes(t *testing.T) {
	for _, c := range []struct {
		r                  ACLResource
		path, change, data string
	}{
		{ACLResource{access.Topic, "foo:bar", access.Literal}, "/kafka-acl/Topic/foo:bar", "/kafka-acl-changes/acl_changes_", "TOPIC:foo:bar"},
		{ACLResource{access.Cluster, "kafka-cluster", access.Literal}, "/kafka-acl/Cluster/kafka-cluster", "/kafka-acl-changes/acl_changes_", "CLUSTER:kafka-cluster"},
		{
			ACLResource{access.TransactionalID, "pre", access.Prefixed},
			"/kafka-acl-extended/prefixed/TransactionalId/pre",
			"/kafka-acl-extended-changes/acl_changes_", `{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"pre","patternType":"PREFIXED"}`,
		},
	} {
		path, data := c.r.change()
		if c.r.Path() != c.path || path != c.change || string(data) != c.data {
			t.Errorf("%+v: %s %s %s", c.r, c.r.Path(), path, data)
		}
		decode := DecodeACLChange
		if c.r.Pattern == access.Prefixed {
			decode = DecodePrefixChange
		}
		if got, err := decode(data); err != nil || got != c.r {
			t.Errorf("%s came back as %+v, %v", data, got, err)
		}
	}
	r := ACLResource{access.Group, "g", access.Literal}
	want := []access.Binding{{
		ResourceType: access.Group, ResourceName: "g", PatternType: access.Literal,
		Principal: "User:a", Host: "*", Operation: access.Read, Permission: access.Deny,
	}}
	if got, err := DecodeACLs(r, EncodeACLs(want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "[]", `{"acls":[{"principal":"a","permissionType":"Maybe","operation":"Read","host":"*"}]}`, `{"acls":[{"permissionType":"Allow","operation":"Fly"}]}`} {
		if got, err := DecodeACLs(r, []byte(bad)); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
	for _, bad := range []string{"", "x", "TOPIC", "NOPE:x"} {
		if got, err := DecodeACLChange([]byte(bad)); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
		if got, err := DecodePrefixChange([]byte(bad)); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
}

func TestTokenAndScramRoundTrip(t *testing.T) {
	tok := Token{ID: "i", Owner: "User:a b/c", Requester: "User:é", Renewers: []string{"User:*"}, IssuedMs: 1, MaxMs: 3, ExpiresMs: 2}
	if got, err := DecodeToken(EncodeToken(tok)); err != nil || !reflect.DeepEqual(got, tok) {
		t.Errorf("%+v, %v", got, err)
	}
	old := `{"version":1,"owner":"User:a","renewers":[],"issueTimestamp":1,"maxTimestamp":3,"expiryTimestamp":2,"tokenId":"i"}`
	if got, err := DecodeToken([]byte(old)); err != nil || got.Requester != "User:a" {
		t.Errorf("%+v, %v", got, err)
	}
	k := access.Keys{Salt: []byte{0, 1, 255}, StoredKey: []byte("st"), ServerKey: []byte("se"), Iterations: 8192}
	if got, err := DecodeScram(EncodeScram(k)); err != nil || !reflect.DeepEqual(got, k) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "salt=AA==", "salt=!,stored_key=AA==,server_key=AA==,iterations=4096", "salt=AA==,stored_key=AA==,server_key=AA==,iterations=0"} {
		if _, err := DecodeScram(bad); err == nil {
			t.Errorf("SCRAM %q gave no error", bad)
		}
		if _, err := DecodeToken([]byte(bad)); err == nil {
			t.Errorf("token %q gave no error", bad)
		}
	}
}

func TestFeatureRoundTrip(t *testing.T) {
	for _, f := range []Feature{{2, true, map[string]int16{"a": 1, "b": 2}}, {1, false, nil}, {1, true, map[string]int16{"a": 3}}} {
		if got, err := DecodeFeature(EncodeFeature(f)); err != nil || !got.Equal(&f) {
			t.Errorf("%+v came back as %+v, %v", f, got, err)
		}
	}
}

func TestBrokerAndTopicRoundTrip(t *testing.T) {
	r := BrokerRegistration{
		ID: 4, Version: 5, Rack: "a\"b", JMXPort: 9999, TimestampMs: 77, Epoch: kafka.NoBrokerEpoch,
		Endpoints: []kafka.Endpoint{{Listener: "A", Host: "::1", Port: 1}}, Protocols: map[string]string{"A": "SSL"},
		Features: map[string]VersionRange{},
	}
	b := EncodeBroker(r)
	if !strings.Contains(string(b), `"port":-1,"host":null`) {
		t.Errorf("a broker without PLAINTEXT has %s", b)
	}
	if got, err := DecodeBroker(4, b); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, %v", got, err)
	}
	topic := TopicAssignment{one, map[int32]Assignment{0: {[]kafka.BrokerID{1, 2}, []kafka.BrokerID{2}, nil}, 11: {Replicas: []kafka.BrokerID{3}}}}
	if got, err := DecodeTopic(EncodeTopic(topic)); err != nil || !reflect.DeepEqual(got, topic) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestPaths(t *testing.T) {
	if got := StatePath("t", 3); got != "/brokers/topics/t/partitions/3/state" {
		t.Error(got)
	}
	if topic, ok := TopicOfPath(TopicPath("a.b")); !ok || topic != "a.b" {
		t.Error(topic, ok)
	}
	for _, p := range []string{TopicsPath, PartitionsPath("t"), "/x", TopicsPath + "/"} {
		if _, ok := TopicOfPath(p); ok {
			t.Errorf("%s taken for a topic", p)
		}
	}
	if id, ok := BrokerOfPath(BrokerPath(12)); !ok || id != 12 {
		t.Error(id, ok)
	}
	// What Kafka's Sanitizer gives for the same names.
	for name, want := range map[string]string{
		"a*b c/d": "a%2Ab%20c%2Fd", "a b*c/d%é~+": "a%20b%2Ac%2Fd%25%C3%A9%7E%2B", "plain": "plain", DefaultEntity: DefaultEntity,
	} {
		if got := Sanitize(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]int64{"config_change_0000000012": 12, "isr_change_0000000000": 0, "x": -1, "": -1, "a_": -1, "a_-1": -1} {
		if n, ok := SequenceOf(name); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d, %v", name, n, ok)
		}
	}
	tp := kafka.TopicPartition{Topic: "t", Partition: 3}
	if got, ok := PartitionOfPath(StatePath("t", 3)); !ok || got != tp {
		t.Error(got, ok)
	}
	for _, p := range []string{PartitionPath("t", 3), TopicPath("t"), StatePath("t", 3) + "/x", TopicsPath + "/t/partitions/x/state"} {
		if got, ok := PartitionOfPath(p); ok {
			t.Errorf("%s is taken for the state of %v", p, got)
		}
	}
}

func BenchmarkDecodeState(b *testing.B) {
	data := EncodeState(PartitionState{2, 5, 9, []kafka.BrokerID{2, 3, 1}, 0})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeState(data); err != nil {
			b.Fatal(err)
		}
	}
}
