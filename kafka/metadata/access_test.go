package metadata

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"kbench/kafka"
	"kbench/kafka/access"
)

// replayAll gives the image that records make of another.
func replayAll(t *testing.T, base *Image, records ...Record) *Image {
	t.Helper()
	d := NewDelta(base)
	for _, r := range records {
		if err := d.Replay(r); err != nil {
			t.Fatalf("%T: %v", r, err)
		}
	}
	return d.Apply(base.Offset()+kafka.Offset(len(records)), 1)
}

func quotaRecord(name string, value float64, parts ...RecordQuotaEntity) *ClientQuotaRecord {
	return &ClientQuotaRecord{Entity: parts, Name: name, Value: value}
}

func TestAccessIsItsRecords(t *testing.T) {
	alice := "alice"
	user, client := RecordQuotaEntity{Type: "user", Name: &alice}, RecordQuotaEntity{Type: "client-id"}
	full := replayAll(t, Empty(),
		ACL{kafka.UUID{1}, access.Binding{ResourceType: 2, ResourceName: "a", PatternType: 3, Principal: "User:alice", Host: "*", Operation: 3, Permission: 3}}.Record(),
		ACL{kafka.UUID{2}, access.Binding{ResourceType: 2, ResourceName: "b", PatternType: 4, Principal: "User:*", Host: "*", Operation: 4, Permission: 2}}.Record(),
		&UserScramCredentialRecord{Name: alice, Mechanism: access.ScramSHA256, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}, Iterations: 4096},
		&DelegationTokenRecord{TokenID: "t", Owner: "User:alice", Requester: "User:alice", Renewers: []string{"User:bob"}, ExpirationTimestamp: 9},
		quotaRecord("producer_byte_rate", 1, user, client),
		quotaRecord("consumer_byte_rate", 2, client, user), // the same entity, in another order
	)
	if got := full.Access().Quota(NewQuotaEntity([]QuotaPart{{Type: "user", Name: alice}, {Type: "client-id", Default: true}})); len(got) != 2 {
		t.Errorf("quotas %v, want two of one entity", got)
	}
	again := replayAll(t, Empty(), slices.Collect(full.Records())...)
	if full.Digest() != again.Digest() || full.Digest(WithoutAccess) != Empty().Digest() {
		t.Error("the image that its records make is another")
	}
	if c, ok := again.Access().Scram(alice, access.ScramSHA256); !ok || c.Iterations != 4096 || !reflect.DeepEqual(c.Salt, []byte{1}) {
		t.Errorf("credential %v", c)
	}
	none := replayAll(t, again,
		&RemoveAccessControlEntryRecord{ID: kafka.UUID{1}}, &RemoveAccessControlEntryRecord{ID: kafka.UUID{2}},
		&RemoveUserScramCredentialRecord{Name: alice, Mechanism: access.ScramSHA256}, &RemoveDelegationTokenRecord{TokenID: "t"},
		&ClientQuotaRecord{Entity: []RecordQuotaEntity{user, client}, Name: "producer_byte_rate", Remove: true},
		&ClientQuotaRecord{Entity: []RecordQuotaEntity{user, client}, Name: "consumer_byte_rate", Remove: true},
	)
	if none.Digest() != Empty().Digest() {
		t.Error("something is left")
	}
	if full.Digest() != again.Digest() || again.Access().NumACLs() != 2 {
		t.Error("the base image changed")
	}
}

func TestAccessRefuses(t *testing.T) {
	base := replayAll(t, Empty(), ACL{kafka.UUID{1}, access.Binding{ResourceName: "a"}}.Record())
	for _, c := range []struct {
		r    Record
		want string
	}{
		{ACL{kafka.UUID{1}, access.Binding{ResourceName: "b"}}.Record(), "is there already"},
		{&RemoveAccessControlEntryRecord{ID: kafka.UUID{9}}, "is unknown"},
		{&RemoveUserScramCredentialRecord{Name: "nobody", Mechanism: access.ScramSHA256}, "is unknown"},
		{&ClientQuotaRecord{Name: "x"}, "no entity"},
	} {
		d := NewDelta(base)
		if err := d.Replay(c.r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.r, err, c.want)
		}
		if d.AccessChanged() {
			t.Errorf("%T: refused, and changed something", c.r)
		}
	}
}
