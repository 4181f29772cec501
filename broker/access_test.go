package broker

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// session opens a session of the test's own.
func (r *zkRig) session() *zk.Session {
	r.t.Helper()
	s, err := zk.Connect(r.t.Context(), zk.Config{Servers: []string{r.store}, SessionTimeout: lasting})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// allACLs matches every binding.
func allACLs() *kmsg.DescribeACLsRequest {
	q := kmsg.NewPtrDescribeACLsRequest()
	q.Version = 3
	q.ResourceType, q.ResourcePatternType, q.Operation, q.PermissionType = 1, 1, 1, 1
	return q
}

func (r *zkRig) acls(id kafka.BrokerID, q *kmsg.DescribeACLsRequest) map[string]int {
	r.t.Helper()
	resp := ask[*kmsg.DescribeACLsResponse](r.t, r.brokers[id].addr(), q)
	if resp.ErrorCode != 0 {
		r.t.Fatalf("%v", kafka.ErrorCode(resp.ErrorCode))
	}
	out := map[string]int{}
	for _, x := range resp.Resources {
		out[access.ResourceType(x.ResourceType).String()+" "+access.PatternType(x.ResourcePatternType).String()+" "+x.ResourceName] = len(x.ACLs)
	}
	return out
}

func creation(t access.ResourceType, name string, p access.PatternType, principal string) kmsg.CreateACLsRequestCreation {
	c := kmsg.NewCreateACLsRequestCreation()
	c.ResourceType, c.ResourceName, c.ResourcePatternType = kmsg.ACLResourceType(t), name, kmsg.ACLResourcePatternType(p)
	c.Principal, c.Host, c.Operation, c.PermissionType = principal, "*", kmsg.ACLOperation(access.Read), kmsg.ACLPermissionType(access.Allow)
	return c
}

// ACLs written at one broker are served by all, also by one that starts later;
// those that a tool writes into ZooKeeper too.
func TestACLsReachEveryBroker(t *testing.T) {
	r := newZKRig(t, 2)
	req := kmsg.NewPtrCreateACLsRequest()
	req.Version = 3
	req.Creations = []kmsg.CreateACLsRequestCreation{
		creation(access.Topic, "a", access.Literal, "User:ann"), creation(access.Topic, "a", access.Literal, "User:bob"),
		creation(access.Topic, "a", access.Literal, "User:ann"), creation(access.Group, "g-", access.Prefixed, "User:ann"),
		creation(access.Topic, "", access.Literal, "User:ann"), creation(access.Cluster, "x", access.Literal, "User:ann"),
	}
	resp := ask[*kmsg.CreateACLsResponse](t, r.brokers[1].addr(), req)
	var codes []kafka.ErrorCode
	for _, x := range resp.Results {
		codes = append(codes, kafka.ErrorCode(x.ErrorCode))
	}
	if want := []kafka.ErrorCode{0, 0, 0, 0, kafka.InvalidRequest, kafka.InvalidRequest}; !slices.Equal(codes, want) {
		t.Fatalf("%v, want %v", codes, want)
	}
	want := map[string]int{"Topic Literal a": 2, "Group Prefixed g-": 1}
	if got := r.acls(1, allACLs()); !maps.Equal(got, want) {
		t.Errorf("the broker that wrote them serves %v", got)
	}
	eventually(t, "the other broker has them", func() bool { return maps.Equal(r.acls(2, allACLs()), want) })
	s := r.session()
	byTool := zk.ACLResource{Type: access.Topic, Name: "a", Pattern: access.Literal}
	_, err := s.ChangeACLs(t.Context(), byTool, func(have []access.Binding) []access.Binding { return have[:1] })
	if err != nil {
		t.Fatal(err)
	}
	want["Topic Literal a"] = 1
	r.start(3, 0, nil)
	for id := kafka.BrokerID(1); id <= 3; id++ {
		eventually(t, "all have what the tool wrote", func() bool { return maps.Equal(r.acls(id, allACLs()), want) })
	}
	f := allACLs()
	name := "g-7"
	f.ResourceName, f.ResourcePatternType = &name, kmsg.ACLResourcePatternType(access.Match)
	if got := r.acls(2, f); len(got) != 1 || got["Group Prefixed g-"] != 1 {
		t.Errorf("what acts on group g-7: %v", got)
	}
	del := kmsg.NewPtrDeleteACLsRequest()
	del.Version = 3
	x := kmsg.NewDeleteACLsRequestFilter()
	x.ResourceType, x.ResourcePatternType, x.Operation, x.PermissionType = 1, 1, 1, 1
	del.Filters = append(del.Filters, x)
	if got := ask[*kmsg.DeleteACLsResponse](t, r.brokers[3].addr(), del).Results[0]; got.ErrorCode != 0 || len(got.MatchingACLs) != 2 {
		t.Errorf("%+v", got)
	}
	for id := kafka.BrokerID(1); id <= 3; id++ {
		eventually(t, "all are without", func() bool { return len(r.acls(id, allACLs())) == 0 })
	}
	if e := s.Do(t.Context(), zk.Exists(byTool.Path())); e.Exists {
		t.Error("an empty znode is left")
	}
}

func quotaEntry(ops []kmsg.AlterClientQuotasRequestEntryOp, parts ...string) kmsg.AlterClientQuotasRequestEntry {
	e := kmsg.NewAlterClientQuotasRequestEntry()
	for i := 0; i < len(parts); i += 2 {
		x := kmsg.NewAlterClientQuotasRequestEntryEntity()
		if x.Type = parts[i]; parts[i+1] != "" {
			x.Name = &parts[i+1]
		}
		e.Entity = append(e.Entity, x)
	}
	e.Ops = ops
	return e
}

func TestQuotas(t *testing.T) {
	r := newZKRig(t, 2)
	set := func(key string, v float64) []kmsg.AlterClientQuotasRequestEntryOp {
		return []kmsg.AlterClientQuotasRequestEntryOp{{Key: key, Value: v}}
	}
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Version = 1
	cases := []struct {
		entry kmsg.AlterClientQuotasRequestEntry
		code  kafka.ErrorCode
		path  string
		want  map[string]string
	}{
		{quotaEntry(set("producer_byte_rate", 1024), "user", "a b"), 0, "users/a%20b", map[string]string{"producer_byte_rate": "1024"}},
		{quotaEntry(set("request_percentage", 12.5), "user", "a b", "client-id", "c"), 0, "users/a%20b/clients/c", map[string]string{"request_percentage": "12.5"}},
		{quotaEntry(set("controller_mutation_rate", 5), "client-id", ""), 0, "clients/<default>", map[string]string{"controller_mutation_rate": "5.0"}},
		{quotaEntry(set("connection_creation_rate", 3), "ip", "10.0.0.1"), 0, "ips/10.0.0.1", map[string]string{"connection_creation_rate": "3"}},
		{quotaEntry(set("producer_byte_rate", 1.5), "user", "x"), kafka.InvalidRequest, "", nil},
		{quotaEntry(set("connection_creation_rate", 3), "user", "x"), kafka.InvalidRequest, "", nil},
		{quotaEntry(set("nope", 3), "user", "x"), kafka.InvalidRequest, "", nil},
		{quotaEntry(set("producer_byte_rate", 1), "ip", "10.0.0.1", "user", "x"), kafka.InvalidRequest, "", nil},
		{quotaEntry(set("producer_byte_rate", 1)), kafka.InvalidRequest, "", nil},
	}
	for _, c := range cases {
		req.Entries = append(req.Entries, c.entry)
	}
	resp := ask[*kmsg.AlterClientQuotasResponse](t, r.brokers[1].addr(), req)
	s := r.session()
	for i, c := range cases {
		if got := kafka.ErrorCode(resp.Entries[i].ErrorCode); got != c.code {
			t.Errorf("entry %d: %v, want %v", i, got, c.code)
		}
		if c.path == "" {
			continue
		}
		v, err := zk.DecodeConfig(s.Do(t.Context(), zk.Get(zk.ConfigPath+"/"+c.path)).Data)
		if err != nil || !maps.Equal(v, c.want) {
			t.Errorf("%s holds %v, %v", c.path, v, err)
		}
	}
	describe := func(strict bool, cs ...kmsg.DescribeClientQuotasRequestComponent) int {
		q := kmsg.NewPtrDescribeClientQuotasRequest()
		q.Version, q.Components, q.Strict = 1, cs, strict
		resp := ask[*kmsg.DescribeClientQuotasResponse](t, r.brokers[2].addr(), q)
		if resp.ErrorCode != 0 {
			return -int(resp.ErrorCode)
		}
		if resp.Entries == nil {
			t.Error("null for no entries: Kafka's client takes it for an error")
		}
		return len(resp.Entries)
	}
	component := func(kind string, match int8, name string) kmsg.DescribeClientQuotasRequestComponent {
		c := kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, MatchType: kmsg.QuotasMatchType(match)}
		if name != "" {
			c.Match = &name
		}
		return c
	}
	eventually(t, "the other broker has all", func() bool { return describe(false) == 4 })
	for _, c := range []struct {
		strict bool
		cs     []kmsg.DescribeClientQuotasRequestComponent
		want   int
	}{
		{false, []kmsg.DescribeClientQuotasRequestComponent{component("user", matchExact, "a b")}, 2},
		{true, []kmsg.DescribeClientQuotasRequestComponent{component("user", matchExact, "a b")}, 1},
		{true, []kmsg.DescribeClientQuotasRequestComponent{component("user", matchAny, ""), component("client-id", matchAny, "")}, 1},
		{false, []kmsg.DescribeClientQuotasRequestComponent{component("client-id", matchDefault, "")}, 1},
		{false, []kmsg.DescribeClientQuotasRequestComponent{component("user", matchExact, "nobody")}, 0},
		{false, []kmsg.DescribeClientQuotasRequestComponent{component("user", matchAny, ""), component("ip", matchAny, "")}, -int(kafka.InvalidRequest)},
		{false, []kmsg.DescribeClientQuotasRequestComponent{component("planet", matchAny, "")}, -int(kafka.UnsupportedVersion)},
	} {
		if got := describe(c.strict, c.cs...); got != c.want {
			t.Errorf("%+v strict %v: %d, want %d", c.cs, c.strict, got, c.want)
		}
	}
	req.Entries = []kmsg.AlterClientQuotasRequestEntry{quotaEntry([]kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Remove: true}}, "user", "a b")}
	ask[*kmsg.AlterClientQuotasResponse](t, r.brokers[2].addr(), req)
	eventually(t, "one is gone everywhere", func() bool { return describe(false) == 3 })
	late := r.start(3, 0, nil)
	eventually(t, "a broker that starts later has them", func() bool {
		n := 0
		for range late.Image().Access().Quotas() {
			n++
		}
		return n == 3
	})
}

func TestScramCredentials(t *testing.T) {
	r := newZKRig(t, 2)
	alter := func(dels []kmsg.AlterUserSCRAMCredentialsRequestDeletion, ups ...kmsg.AlterUserSCRAMCredentialsRequestUpsertion) []kafka.ErrorCode {
		req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		req.Deletions, req.Upsertions = dels, ups
		var codes []kafka.ErrorCode
		for _, x := range ask[*kmsg.AlterUserSCRAMCredentialsResponse](t, r.brokers[1].addr(), req).Results {
			codes = append(codes, kafka.ErrorCode(x.ErrorCode))
		}
		return codes
	}
	salt := []byte("saltsalt")
	salted, err := access.ScramSHA256.SaltPassword("pw", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	up := func(name string, m int8, n int32) kmsg.AlterUserSCRAMCredentialsRequestUpsertion {
		return kmsg.AlterUserSCRAMCredentialsRequestUpsertion{Name: name, Mechanism: m, Iterations: n, Salt: salt, SaltedPassword: salted}
	}
	got := alter(nil, up("ann", 1, 4096), up("few", 1, 100), up("many", 1, 20000), up("odd", 9, 4096), up("", 1, 4096), up("twice", 1, 4096), up("twice", 1, 4096))
	want := []kafka.ErrorCode{
		0, kafka.UnacceptableCredential, kafka.UnacceptableCredential, kafka.UnsupportedSaslMechanism, kafka.UnacceptableCredential, kafka.DuplicateResource,
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	// What Kafka's own ScramFormatter makes of the same password and salt.
	v, err := r.session().ReadConfig(t.Context(), zk.UserConfigs, "ann")
	if want := "salt=c2FsdHNhbHQ=,stored_key=mpVSVkLuaZWNe1nWi38OzFyjEVYZeSof0Pz/874Hp9g=,server_key=UDV8AZ0GJ4nWqWQqwPfrTEZxiWLPSbhQdaVePvoGBTU=,iterations=4096"; err != nil || v["SCRAM-SHA-256"] != want {
		t.Errorf("%v, %v", v, err)
	}
	describe := func(names ...string) map[string]int {
		q := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		for _, n := range names {
			q.Users = append(q.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: n})
		}
		out := map[string]int{}
		for _, x := range ask[*kmsg.DescribeUserSCRAMCredentialsResponse](t, r.brokers[2].addr(), q).Results {
			out[x.User] = len(x.CredentialInfos)
			if x.ErrorCode != 0 {
				out[x.User] = -int(x.ErrorCode)
			}
		}
		return out
	}
	eventually(t, "the other broker has the credential", func() bool { return maps.Equal(describe(), map[string]int{"ann": 1}) })
	if got := describe("ann", "nobody", "x", "x"); !maps.Equal(got, map[string]int{"ann": 1, "nobody": -int(kafka.ResourceNotFound), "x": -int(kafka.DuplicateResource)}) {
		t.Errorf("%v", got)
	}
	c, ok := r.brokers[2].Image().Access().Scram("ann", access.ScramSHA256)
	if want := access.ScramSHA256.KeysOf(salted, salt, 4096); !ok || !bytes.Equal(c.StoredKey, want.StoredKey) {
		t.Errorf("%+v", c)
	}
	gone := []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "ann", Mechanism: 1}}
	if got := alter(gone); !slices.Equal(got, []kafka.ErrorCode{0}) {
		t.Errorf("%v", got)
	}
	if got := alter(gone); !slices.Equal(got, []kafka.ErrorCode{kafka.ResourceNotFound}) {
		t.Errorf("%v", got)
	}
	eventually(t, "it is gone everywhere", func() bool { return len(describe()) == 0 })
}

func TestDelegationTokens(t *testing.T) {
	r := newZKRig(t, 0)
	var later atomic.Int64
	began := time.Now()
	for id := kafka.BrokerID(1); id <= 2; id++ {
		r.start(id, 0, func(c *Config) {
			c.TokenSecret = "secret"
			c.Now = func() time.Time { return began.Add(time.Duration(later.Load())) }
		})
	}
	r.update(nil)
	p := r.brokers[1].plane.(*zkPlane)
	as := func(principal string, body kmsg.Request) *wire.Request {
		return &wire.Request{Principal: principal, Body: body}
	}
	create := kmsg.NewPtrCreateDelegationTokenRequest()
	create.MaxLifetimeMillis = (10 * time.Minute).Milliseconds() // less than notifications live
	create.Renewers = []kmsg.CreateDelegationTokenRequestRenewer{{PrincipalType: "User", PrincipalName: "bob"}}
	got, err := p.handleCreateDelegationToken(t.Context(), as("User:ann", create))
	token := got.(*kmsg.CreateDelegationTokenResponse)
	if err != nil || token.ErrorCode != 0 || len(token.HMAC) != 64 || token.MaxTimestamp != began.Add(10*time.Minute).UnixMilli() || token.ExpiryTimestamp != token.MaxTimestamp {
		t.Fatalf("%+v, %v", token, err)
	}
	if got, _ := p.handleCreateDelegationToken(t.Context(), as(access.Anonymous, create)); kafka.ErrorCode(got.(*kmsg.CreateDelegationTokenResponse).ErrorCode) != kafka.DelegationTokenRequestNotAllowed {
		t.Errorf("a client that is not known: %+v", got)
	}
	other := r.brokers[2]
	eventually(t, "the other broker has it", func() bool { _, ok := other.Image().Access().Token(token.TokenID); return ok })
	q := kmsg.NewPtrDescribeDelegationTokenRequest()
	q.Owners = []kmsg.DescribeDelegationTokenRequestOwner{{PrincipalType: "User", PrincipalName: "ann"}}
	d, _ := other.handleDescribeDelegationToken(t.Context(), as("User:ann", q))
	if got := d.(*kmsg.DescribeDelegationTokenResponse).TokenDetails; len(got) != 1 || !bytes.Equal(got[0].HMAC, token.HMAC) || got[0].Renewers[0].PrincipalName != "bob" {
		t.Errorf("%+v", got)
	}
	renew := kmsg.NewPtrRenewDelegationTokenRequest()
	renew.HMAC, renew.RenewTimeMillis = token.HMAC, (100 * time.Hour).Milliseconds()
	p2 := other.plane.(*zkPlane)
	for principal, want := range map[string]kafka.ErrorCode{"User:carl": kafka.DelegationTokenOwnerMismatch, "User:bob": 0} {
		got, _ := p2.handleRenewDelegationToken(t.Context(), as(principal, renew))
		x := got.(*kmsg.RenewDelegationTokenResponse)
		if kafka.ErrorCode(x.ErrorCode) != want || want == 0 && x.ExpiryTimestamp != token.MaxTimestamp {
			t.Errorf("%s renews: %+v", principal, x)
		}
	}
	expire := kmsg.NewPtrExpireDelegationTokenRequest()
	expire.HMAC, expire.ExpiryPeriodMillis = []byte("nothing"), -1
	if got, _ := p.handleExpireDelegationToken(t.Context(), as("User:ann", expire)); kafka.ErrorCode(got.(*kmsg.ExpireDelegationTokenResponse).ErrorCode) != kafka.DelegationTokenNotFound {
		t.Errorf("%+v", got)
	}
	// The active controller's broker removes what is over.
	later.Store(int64(11 * time.Minute))
	if err := p2.expireTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, there := other.Image().Access().Token(token.TokenID); !there {
		t.Error("a broker that is not the controller removes tokens")
	}
	if err := p.expireTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone everywhere", func() bool { _, ok := other.Image().Access().Token(token.TokenID); return !ok })
}

// Notifications are handled once, in order, and removed when they are old.
func TestNotificationsArePurged(t *testing.T) {
	r := newZKRig(t, 1)
	s := r.session()
	var seen []string
	n := &notifications{path: zk.TokenChangesPath, handle: func(_ context.Context, _ *zk.Session, data []byte) error {
		seen = append(seen, string(data))
		return nil
	}}
	n.begin()
	tell := func(id string) {
		t.Helper()
		if c := s.Do(t.Context(), zk.CreateSequential(zk.TokenChangesPath+"/token_change_", []byte(id))); c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	catchUp := func(after time.Duration) {
		t.Helper()
		if err := n.catchUp(t.Context(), s, time.Now().Add(after).UnixMilli()); err != nil {
			t.Fatal(err)
		}
	}
	tell("before")
	catchUp(0)
	tell("one")
	tell("two")
	catchUp(0)
	catchUp(14 * time.Minute)
	if want := []string{"one", "two"}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	if left := s.Do(t.Context(), zk.Children(zk.TokenChangesPath)).Children; len(left) != 3 {
		t.Errorf("after 14 minutes %v are left", left)
	}
	catchUp(16 * time.Minute)
	if left := s.Do(t.Context(), zk.Children(zk.TokenChangesPath)).Children; len(left) != 0 {
		t.Errorf("after 16 minutes %v are left", left)
	}
	tell("three")
	catchUp(0)
	if got := seen[len(seen)-1]; got != "three" {
		t.Errorf("the last one handled is %s", got)
	}
}

func TestAlterConfigsReplaces(t *testing.T) {
	r := newZKRig(t, 1)
	r.create("a", 1, 1)
	addr := r.brokers[1].addr()
	replace := func(values map[string]string) kafka.ErrorCode {
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Version = 2
		res := kmsg.NewAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, "a"
		for k, v := range values {
			res.Configs = append(res.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: k, Value: &v})
		}
		req.Resources = append(req.Resources, res)
		return kafka.ErrorCode(ask[*kmsg.AlterConfigsResponse](t, addr, req).Resources[0].ErrorCode)
	}
	for _, c := range []struct {
		values map[string]string
		want   kafka.ErrorCode
	}{
		{map[string]string{"retention.ms": "5", "min.insync.replicas": "2"}, 0},
		{map[string]string{"segment.bytes": "1000000"}, 0},
		{map[string]string{"nope": "1"}, kafka.InvalidConfig},
		{map[string]string{"retention.ms": "soon"}, kafka.InvalidConfig},
	} {
		if got := replace(c.values); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
	v, err := r.brokers[1].plane.configs(t.Context(), metadata.ConfigResource{Type: metadata.TopicConfig, Name: "a"})
	if err != nil || !maps.Equal(v, map[string]string{"segment.bytes": "1000000"}) {
		t.Errorf("%v, %v", v, err)
	}
}

// What the controller finalizes in /feature is served by every broker.
func TestFeaturesAreServed(t *testing.T) {
	r := newZKRig(t, 1)
	s := r.session()
	served := func() (int64, map[string]int16) {
		resp := kmsg.NewPtrApiVersionsResponse()
		r.brokers[1].Features(resp)
		out := map[string]int16{}
		for _, f := range resp.FinalizedFeatures {
			out[f.Name] = f.MaxVersionLevel
		}
		return resp.FinalizedFeaturesEpoch, out
	}
	if epoch, got := served(); epoch != -1 || len(got) > 0 {
		t.Errorf("%v in epoch %d without a znode", got, epoch)
	}
	for i, c := range []struct {
		f     zk.Feature
		epoch int64
		want  map[string]int16
	}{
		{zk.Feature{Enabled: true, Features: map[string]int16{"a": 2, "b": 1}}, 0, map[string]int16{"a": 2, "b": 1}},
		{zk.Feature{Enabled: true, Features: map[string]int16{"a": 3}}, 1, map[string]int16{"a": 3}},
		{zk.Feature{Features: map[string]int16{"a": 3}}, -1, map[string]int16{}},
	} {
		o := zk.Set(zk.FeaturePath, zk.EncodeFeature(c.f), zk.AnyVersion)
		if i == 0 {
			o = zk.Create(zk.FeaturePath, zk.EncodeFeature(c.f))
		}
		if w := s.Do(t.Context(), o); w.Err != nil {
			t.Fatal(w.Err)
		}
		eventually(t, "the broker has the features", func() bool {
			epoch, got := served()
			return epoch == c.epoch && maps.Equal(got, c.want)
		})
	}
}
