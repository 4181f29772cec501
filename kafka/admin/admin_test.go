package admin

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
)

func ptr(s string) *string { return &s }

func TestCodeOf(t *testing.T) {
	err := Faultf(kafka.InvalidConfig, "no %s", "way")
	var code kafka.ErrorCode
	if CodeOf(err) != kafka.InvalidConfig || err.Error() != "no way" || !errors.As(fmt.Errorf("x: %w", err), &code) || code != kafka.InvalidConfig {
		t.Errorf("%v: %v", err, CodeOf(err))
	}
	if CodeOf(nil) != kafka.None || CodeOf(errors.New("x")) != kafka.UnknownServerError {
		t.Error("errors without a code")
	}
}

func TestQuotas(t *testing.T) {
	part := func(kind string, name *string) kmsg.AlterClientQuotasRequestEntryEntity {
		return kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: name}
	}
	type parts = []kmsg.AlterClientQuotasRequestEntryEntity
	for _, c := range []struct {
		parts parts
		want  string // the entity, or ! and a part of the error
	}{
		{parts{part("user", ptr("ann")), part("client-id", nil)}, `client-id=<default>,user="ann"`},
		{parts{part("ip", ptr("10.0.0.1"))}, `ip="10.0.0.1"`},
		{parts{part("ip", ptr("::1"))}, `ip="::1"`},
		{parts{part("ip", nil)}, `ip=<default>`},
		{nil, "!empty client quota"},
		{parts{part("user", ptr("a")), part("user", nil)}, "!duplicate entity entry user"},
		{parts{part("user", ptr(""))}, "!Empty user"},
		{parts{part("host", ptr("a"))}, "!Unhandled"},
		{parts{part("ip", ptr("1.2.3.256"))}, "!not a valid IP"},
		{parts{part("ip", ptr("1.2.3")), part("user", nil)}, "!not a valid IP"},
		{parts{part("ip", ptr("1.2.3.4")), part("user", nil)}, "!combination"},
	} {
		e, err := QuotaEntity(c.parts)
		text, refused := strings.CutPrefix(c.want, "!")
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), text) || CodeOf(err) != kafka.InvalidRequest):
			t.Errorf("%v: %v, want %q", c.parts, err, text)
		case !refused && (err != nil || e.String() != c.want):
			t.Errorf("%v: %v, %v, want %s", c.parts, e, err, c.want)
		}
	}
	user, ip := metadata.QuotaEntity{{Type: QuotaUser}}, metadata.QuotaEntity{{Type: QuotaIP}}
	for _, of := range []struct {
		entity metadata.QuotaEntity
		ip     bool
	}{{user, false}, {ip, true}} {
		for _, key := range QuotaKeys(of.ip) {
			if err := QuotaKey(of.entity, key); err != nil {
				t.Error(err)
			}
		}
		for _, key := range append(QuotaKeys(!of.ip), "x") {
			if CodeOf(QuotaKey(of.entity, key)) != kafka.InvalidRequest {
				t.Errorf("%s may be a quota of %v", key, of.entity)
			}
		}
	}
	for _, c := range []struct {
		key   string
		value float64
		ok    bool
	}{
		{"producer_byte_rate", 1, true},
		{"producer_byte_rate", 1.5, false},
		{"producer_byte_rate", 0, false},
		{"producer_byte_rate", -1, false},
		{"producer_byte_rate", math.NaN(), false},
		{"producer_byte_rate", math.Inf(1), false},
		{"request_percentage", 0.5, true},
		{"connection_creation_rate", math.MaxInt32, true},
		{"connection_creation_rate", math.MaxInt32 + 1, false},
	} {
		if err := QuotaValue(c.key, c.value); (err == nil) != c.ok {
			t.Errorf("%s %v: %v", c.key, c.value, err)
		}
	}
}

func TestAlteredConfig(t *testing.T) {
	for _, c := range []struct {
		op       kmsg.IncrementalAlterConfigOp
		value    *string
		old      string
		list     bool
		want     string // - for none, ! for an error
		wantCode kafka.ErrorCode
	}{
		{kmsg.IncrementalAlterConfigOpSet, ptr("a"), "b", false, "a", 0},
		{kmsg.IncrementalAlterConfigOpSet, nil, "b", false, "!", kafka.InvalidRequest},
		{kmsg.IncrementalAlterConfigOpDelete, nil, "b", false, "-", 0},
		{kmsg.IncrementalAlterConfigOpAppend, ptr("c, d"), "a,c", true, "a,c,d", 0},
		{kmsg.IncrementalAlterConfigOpAppend, ptr("a"), "", true, "a", 0},
		{kmsg.IncrementalAlterConfigOpSubtract, ptr("c,x"), "a, c", true, "a", 0},
		{kmsg.IncrementalAlterConfigOpSubtract, ptr("a"), "a", true, "", 0},
		{kmsg.IncrementalAlterConfigOpAppend, ptr("a"), "b", false, "!", kafka.InvalidConfig},
		{9, ptr("a"), "b", true, "!", kafka.InvalidRequest},
	} {
		got, err := AlteredConfig(&kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "k", Op: c.op, Value: c.value}, c.old, c.list)
		s := "-"
		switch {
		case err != nil:
			s = "!"
		case got != nil:
			s = *got
		}
		if s != c.want || CodeOf(err) != c.wantCode {
			t.Errorf("%+v: %q, %v", c, s, err)
		}
	}
}

// TestTokenHMAC compares with what Kafka's own classes derive: HmacSHA512 of
// the token id under the secret.
func TestTokenHMAC(t *testing.T) {
	const want = "227a38aae5f62292fe155de50a2c85f8e8f94acb797a4e86da8e7cc3c5f4d579429b67a572f53538d4676341d298c150124f3c61f71b98070be30f77fdd5011a"
	if got := hex.EncodeToString(TokenHMAC("key", "Hi There")); got != want {
		t.Errorf("%s", got)
	}
	held := replay(t, &metadata.DelegationTokenRecord{Owner: "User:a", Requester: "User:a", Renewers: []string{"User:b"}, TokenID: "id", MaxTimestamp: 10, ExpirationTimestamp: 5})
	token, ok := TokenOf(held, "s", TokenHMAC("s", "id"))
	if !ok || token.ID != "id" {
		t.Fatal("the token is not found by its secret")
	}
	if _, ok := TokenOf(held, "s", TokenHMAC("other", "id")); ok {
		t.Error("another key finds the token")
	}
	if !MayRenew(token, "User:a") || !MayRenew(token, "User:b") || MayRenew(token, "User:c") {
		t.Error("who may renew")
	}
	if TokenExpired(token, 5) || !TokenExpired(token, 6) {
		t.Error("when it is over")
	}
	if TokensAllowed("", "User:a") != kafka.DelegationTokenAuthDisabled || TokensAllowed("s", access.Anonymous) != kafka.DelegationTokenRequestNotAllowed || TokensAllowed("s", "User:a") != kafka.None {
		t.Error("who may ask")
	}
	if kind, name := SplitPrincipal("User:a:b"); kind != "User" || name != "a:b" {
		t.Error(kind, name)
	}
}

func replay(t *testing.T, rs ...metadata.Record) *metadata.Access {
	t.Helper()
	d := metadata.NewDelta(metadata.Empty())
	for _, r := range rs {
		if err := d.Replay(r); err != nil {
			t.Fatal(err)
		}
	}
	return d.Apply(0, 0).Access()
}

func TestDescribeACLs(t *testing.T) {
	acl := func(id byte, name string, op access.Operation) metadata.Record {
		return metadata.ACL{ID: kafka.UUID{id}, Binding: access.Binding{
			ResourceType: access.Topic, ResourceName: name, PatternType: access.Literal, Principal: "User:a", Host: "*", Operation: op, Permission: access.Allow,
		}}.Record()
	}
	held := replay(t, acl(1, "b", access.Write), acl(2, "a", access.Read), acl(3, "b", access.Read))
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 1, 1, 1, 1
	resp := DescribeACLs(held, req)
	if len(resp.Resources) != 2 || resp.Resources[0].ResourceName != "a" || len(resp.Resources[1].ACLs) != 2 || resp.Resources[1].ACLs[0].Operation != kmsg.ACLOperation(access.Read) {
		t.Errorf("%+v", resp)
	}
	req.ResourceType = 0
	if resp := DescribeACLs(held, req); resp.ErrorCode != int16(kafka.InvalidRequest) || resp.ErrorMessage == nil {
		t.Errorf("a filter of nothing: %+v", resp)
	}
	bindings := []access.Binding{{Principal: "b"}, {Principal: "a"}}
	if slices.SortFunc(bindings, CompareBindings); bindings[0].Principal != "a" {
		t.Error(bindings)
	}
}

func TestScram(t *testing.T) {
	for _, c := range []struct {
		user       string
		mechanism  int8
		iterations int32
		want       kafka.ErrorCode
	}{
		{"a", 1, 4096, kafka.None},
		{"a", 2, 16384, kafka.None},
		{"", 1, 4096, kafka.UnacceptableCredential},
		{"a", 0, 4096, kafka.UnsupportedSaslMechanism},
		{"a", 1, 4095, kafka.UnacceptableCredential},
		{"a", 1, 16385, kafka.UnacceptableCredential},
	} {
		err := ScramUpsertion(&kmsg.AlterUserSCRAMCredentialsRequestUpsertion{Name: c.user, Mechanism: c.mechanism, Iterations: c.iterations})
		if CodeOf(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := ScramDeletion(&kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: "a", Mechanism: 3}); CodeOf(err) != kafka.UnsupportedSaslMechanism {
		t.Error(err)
	}
}
