package zk

import (
	"bytes"
	"testing"

	"kbench/internal/fuzzing"
	"kbench/kafka"
	"kbench/kafka/access"
)

// allocationFactor bounds what a decoder may allocate for a byte: an element of
// two bytes in a list of JSON takes some 100 in a slice that grows by doubling,
// a member some 300 in a map.
const allocationFactor = 512

// written gives what a decoder made of bytes as it is written.
type written func(b []byte) ([]byte, error)

// codec makes one of a decoder and its encoder.
func codec[T any](decode func([]byte) (T, error), encode func(T) []byte) written {
	return func(b []byte) ([]byte, error) {
		v, err := decode(b)
		if err != nil {
			return nil, err
		}
		return encode(v), nil
	}
}

var fuzzedResource = ACLResource{Type: access.Topic, Name: "t", Pattern: access.Literal}

// znodes are the decoders of what stands in znodes, and one of what they hold.
// What ends in a text as it came is written as that.
var znodes = []struct {
	name, seed string
	as         written
}{
	{"state", `{"controller_epoch":9,"leader":2,"version":1,"leader_recovery_state":1,"leader_epoch":5,"isr":[2,3]}`, codec(DecodeState, EncodeState)},
	{"topic", `{"partitions":{"0":[1,2],"1":[1,2,3]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","adding_replicas":{"1":[3]},"removing_replicas":{"1":[1]},"version":3}`, codec(DecodeTopic, EncodeTopic)},
	{
		"broker", `{"features":{"f":{"min_version":1,"max_version":2}},"listener_security_protocol_map":{"A":"SSL"},"endpoints":["A://h:9"],"rack":"r","jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"5"}`,
		codec(func(b []byte) (BrokerRegistration, error) { return DecodeBroker(1, b) }, EncodeBroker),
	},
	{"controller", `{"version":2,"brokerid":1,"timestamp":"0","kraftControllerEpoch":-1}`, codec(DecodeController, func(id kafka.BrokerID) []byte { return EncodeController(id, 0) })},
	{"controller epoch", "7", codec(DecodeControllerEpoch, EncodeControllerEpoch)},
	{"config", `{"version":1,"config":{"cleanup.policy":"compact","retention.ms":"5"}}`, codec(DecodeConfig, EncodeConfig)},
	{"config change", `{"version":1,"entity_type":"topics","entity_name":"foo"}`, codec(DecodeConfigChange, EncodeConfigChange)},
	{"cluster id", `{"version":"1","id":"AAAAAAAAAAAAAAAAAAAAAQ"}`, codec(DecodeClusterID, func(id string) []byte { return append(appendString([]byte(`{"id":`), id), '}') })},
	{"producer ids", `{"version":1,"broker":3,"block_start":"2000","block_end":"2999"}`, codec(DecodeProducerIDBlock, EncodeProducerIDBlock)},
	{"partitions", `{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"u","partition":1}]}`, codec(DecodePartitionSet, EncodePartitionSet)},
	{"reassignments", `{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}`, codec(DecodeReassignments, EncodeReassignments)},
	{"log directory event", `{"version":1,"broker":3,"event":1}`, codec(DecodeLogDirEvent, EncodeLogDirEvent)},
	{"features", `{"features":{"f1":{"max_version_level":3,"min_version_level":3}},"version":1,"status":1}`, codec(DecodeFeature, EncodeFeature)},
	{
		"ACLs", `{"acls":[{"principal":"User:a","permissionType":"Allow","host":"*","operation":"Read"}],"version":1}`,
		codec(func(b []byte) ([]access.Binding, error) { return DecodeACLs(fuzzedResource, b) }, EncodeACLs),
	},
	{"ACL change", "TOPIC:t", codec(DecodeACLChange, func(r ACLResource) []byte { _, b := r.change(); return b })},
	{"prefix change", `{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"pre","patternType":"PREFIXED"}`, codec(DecodePrefixChange, func(r ACLResource) []byte { _, b := r.change(); return b })},
	{"token", `{"issueTimestamp":1,"renewers":["User%3Abob"],"tokenRequester":"User%3Abob","tokenId":"i","owner":"User%3Aa","expiryTimestamp":5,"maxTimestamp":9,"version":3}`, codec(DecodeToken, EncodeToken)},
	{"SCRAM credential", "salt=c2FsdA==,stored_key=AA==,server_key=AQ==,iterations=4096", codec(
		func(b []byte) (access.Keys, error) { return DecodeScram(string(b)) }, func(k access.Keys) []byte { return []byte(EncodeScram(k)) },
	)},
}

// FuzzDecodeZnodes: what is in a znode is read or refused without a panic and in
// memory bounded by its size, and what is read is written so that it reads the
// same again.
func FuzzDecodeZnodes(f *testing.F) {
	for i, z := range znodes {
		if _, err := z.as([]byte(z.seed)); err != nil {
			f.Fatalf("%s: %v", z.name, err)
		}
		f.Add(uint8(i), []byte(z.seed))
	}
	f.Add(uint8(1), []byte(`{"partitions":{"2147483647":[1]}}`))
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		z := znodes[int(which)%len(znodes)]
		var once []byte
		var err error
		fuzzing.Within(t, len(b), allocationFactor, func() { once, err = z.as(b) })
		if err != nil {
			return
		}
		twice, err := z.as(once)
		if err != nil && len(once) < len(b) {
			return // a number is bounded by the size of its znode
		}
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: %q is written as %q, then as %q, %v", z.name, b, once, twice, err)
		}
	})
}

// What is no reply is an error, not a panic.
func FuzzDecodeReads(f *testing.F) {
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0}, 0)
	f.Add([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 1)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x9b, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0}, 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = max(n, 0) % 100
		var res []Result
		var err error
		fuzzing.Within(t, len(b), allocationFactor, func() { res, err = decodeReads(b, n) })
		if err == nil && len(res) != n {
			t.Errorf("%d results of %d", len(res), n)
		}
	})
}
