package kraftcontroller

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// TestControllersRegister: every controller registers with the active one, the
// active one with itself, and again after a restart; then features can rise.
func TestControllersRegister(t *testing.T) {
	cl := newCluster(t, 3, nil)
	registered := func(want int) func() bool {
		return func() bool {
			n := 0
			for c := range cl.active(-1).c.View().Image.Controllers() {
				if c.Incarnation == cl.nodes[c.ID].c.registrar.incarnation && len(c.Endpoints) == 1 {
					n++
				}
			}
			return n == want
		}
	}
	await(t, "all controllers to register", registered(3))
	active := cl.active(-1)
	for id, n := range cl.nodes {
		if n != active {
			n.kill()
			cl.start(id)
			break
		}
	}
	await(t, "the restarted controller to register anew", registered(3))
	cl.upgrade(metadata.NewestMetadataVersion)
	if level := cl.active(-1).c.View().Image.FeatureLevel(metadata.MetadataVersionFeature); level != int16(metadata.NewestMetadataVersion) {
		t.Errorf("metadata.version is %d", level)
	}
}

// TestControllersRegisterWithoutStaticVoters: the leader of a quorum whose voters
// are those of its log alone is found there.
func TestControllersRegisterWithoutStaticVoters(t *testing.T) {
	cl := newDynamicCluster(t, 3)
	await(t, "all controllers to register", func() bool {
		n := 0
		for c := range cl.active(-1).c.View().Image.Controllers() {
			if len(c.Endpoints) == 1 && c.Endpoints[0].Addr() == cl.addr(c.ID) {
				n++
			}
		}
		return n == 3
	})
}

// TestKRaftVersion: kraft.version is the quorum's to raise, beside levels of the
// metadata or not at all.
func TestKRaftVersion(t *testing.T) {
	cl := newCluster(t, 1, nil)
	await(t, "the controller to register", func() bool {
		_, ok := cl.active(-1).c.View().Image.Controller(3001)
		return ok
	})
	update := func(validate bool, levels ...int16) kafka.ErrorCode {
		t.Helper()
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version, req.ValidateOnly = 2, validate
		for i, level := range levels {
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType = []string{metadata.KRaftVersionFeature, metadata.MetadataVersionFeature}[i], level, 1
			req.FeatureUpdates = append(req.FeatureUpdates, u)
		}
		return kafka.ErrorCode(cl.request(req).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	}
	level := func() int16 { return cl.active(-1).c.client.Quorum().KRaftVersion }
	if code := update(false, 0); code != kafka.None {
		t.Errorf("the level of now: %v", code)
	}
	if code := update(false, 1, 99); code != kafka.InvalidUpdateVersion || level() != 0 {
		t.Errorf("beside a level that is refused: %v, kraft.version is %d", code, level())
	}
	if code := update(true, 1, int16(metadata.V4_1_IV1)); code != kafka.None || level() != 0 {
		t.Errorf("a trial: %v, kraft.version is %d", code, level())
	}
	if code := update(false, 1, int16(metadata.V4_1_IV1)); code != kafka.None || level() != 1 {
		t.Errorf("%v, kraft.version is %d", code, level())
	}
	if got := cl.active(-1).c.View().Image.FeatureLevel(metadata.MetadataVersionFeature); got != int16(metadata.V4_1_IV1) {
		t.Errorf("metadata.version is %d", got)
	}
	if code := update(false, 0); code != kafka.InvalidUpdateVersion {
		t.Errorf("back: %v", code)
	}
}

// TestAuthorizer: with an authorizer only those may ask whom it allows, on the
// listener and within envelopes alike, and new ACLs act once they are committed.
func TestAuthorizer(t *testing.T) {
	cl := newCluster(t, 1, func(c *Config) { c.Authorizer = &access.Config{SuperUsers: []string{access.Anonymous}} })
	cl.broker(1) // who does not authenticate is a super user here
	as := func(principal string, req kmsg.Request) kmsg.Response {
		t.Helper()
		env := cl.request(wire.WrapRequest(&wire.Request{Principal: principal, Body: req}, 1)).(*kmsg.EnvelopeResponse)
		resp, err := wire.UnwrapResponse(req, env)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	create := func(name string) kafka.ErrorCode {
		return kafka.ErrorCode(as("User:ann", createTopics(name, 1, 1)).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	}
	if code := create("orders"); code != kafka.TopicAuthorizationFailed {
		t.Errorf("without an ACL: %v", code)
	}
	acl := kmsg.NewPtrCreateACLsRequest()
	acl.Version = 3
	acl.Creations = append(acl.Creations, kmsg.CreateACLsRequestCreation{
		ResourceType: kmsg.ACLResourceType(access.Topic), ResourceName: "orders", ResourcePatternType: kmsg.ACLResourcePatternType(access.Literal),
		Principal: "User:ann", Host: "*", Operation: kmsg.ACLOperation(access.Create), PermissionType: kmsg.ACLPermissionType(access.Allow),
	})
	if r := as("User:ann", acl).(*kmsg.CreateACLsResponse); kafka.ErrorCode(r.Results[0].ErrorCode) != kafka.ClusterAuthorizationFailed {
		t.Errorf("ann gives herself rights: %+v", r)
	}
	if r := cl.request(acl).(*kmsg.CreateACLsResponse); r.Results[0].ErrorCode != 0 {
		t.Fatalf("%+v", r)
	}
	if code := create("orders"); code != kafka.None {
		t.Errorf("with an ACL: %v", code)
	}
	if code := create("secrets"); code != kafka.TopicAuthorizationFailed {
		t.Errorf("another topic: %v", code)
	}
	d := kmsg.NewPtrDescribeACLsRequest()
	d.Version, d.ResourceType, d.ResourcePatternType, d.Operation, d.PermissionType = 3, 1, 1, 1, 1
	if r := cl.request(d).(*kmsg.DescribeACLsResponse); r.ErrorCode != 0 || len(r.Resources) != 1 || r.Resources[0].ACLs[0].Principal != "User:ann" {
		t.Errorf("DescribeAcls: %+v", r)
	}
}

// TestMutationQuota: a quota on mutations counts the client whose request a broker
// forwards, by its name and its client id.
func TestMutationQuota(t *testing.T) {
	cl := newCluster(t, 1, nil)
	cl.broker(1)
	set := kmsg.NewPtrAlterClientQuotasRequest()
	set.Version = 1
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for kind, name := range map[string]string{"user": "ann", "client-id": "app"} {
		entry.Entity = append(entry.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: &name})
	}
	entry.Ops = append(entry.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: "controller_mutation_rate", Value: 0.01})
	set.Entries = append(set.Entries, entry)
	if r := cl.request(set).(*kmsg.AlterClientQuotasResponse); r.Entries[0].ErrorCode != 0 {
		t.Fatalf("%+v", r)
	}
	for _, want := range []struct {
		principal, client, topic string
		code                     kafka.ErrorCode
	}{
		{"User:ann", "app", "a", kafka.None},
		{"User:ann", "app", "b", kafka.ThrottlingQuotaExceeded},
		{"User:ann", "other", "c", kafka.None},
		{"User:bob", "app", "d", kafka.None},
	} {
		req := createTopics(want.topic, 1, 1)
		env := cl.request(wire.WrapRequest(&wire.Request{Principal: want.principal, ClientID: want.client, Body: req}, 1)).(*kmsg.EnvelopeResponse)
		resp, err := wire.UnwrapResponse(req, env)
		if err != nil {
			t.Fatal(err)
		}
		created := resp.(*kmsg.CreateTopicsResponse)
		if code := kafka.ErrorCode(created.Topics[0].ErrorCode); code != want.code || (created.ThrottleMillis > 0) != (code != kafka.None) {
			t.Errorf("%s as %s creates %s: %s, to wait %d ms", want.principal, want.client, want.topic, code, created.ThrottleMillis)
		}
	}
}

// gaugeNames are those of Kafka 4.4, and what kbench has of its own.
func gaugeNames() []string {
	var names []string
	for bean, of := range map[string]string{
		controllerBean: `ActiveControllerCount FencedBrokerCount ActiveBrokerCount ControlledShutdownBrokerCount GlobalTopicCount
			GlobalPartitionCount OfflinePartitionsCount PreferredReplicaImbalanceCount LastAppliedRecordOffset LastAppliedRecordTimestamp
			LastAppliedRecordLagMs LastCommittedRecordOffset NewActiveControllersCount EventQueueOperationsStartedCount
			EventQueueOperationsTimedOutCount TimedOutBrokerHeartbeatCount MetadataErrorCount`,
		"kafka.controller:type=ControllerStats,name=": `UncleanLeaderElectionsPerSec`,
		queueBean: `EventQueueTimeMs:Count EventQueueTimeMs:Max EventQueueTimeMs:50thPercentile EventQueueTimeMs:99thPercentile
			EventQueueProcessingTimeMs:Count EventQueueProcessingTimeMs:Max EventQueueProcessingTimeMs:50thPercentile
			EventQueueProcessingTimeMs:99thPercentile`,
		loaderBean:   `CurrentControllerId CurrentMetadataVersion HandleLoadSnapshotCount`,
		snapshotBean: `LatestSnapshotGeneratedBytes LatestSnapshotGeneratedAgeMs`,
		"kafka.server:type=raft-metrics,name=": `current-state current-leader current-vote current-epoch high-watermark log-end-offset
			log-end-epoch number-of-voters number-unknown-voter-connections commit-latency-avg commit-latency-max election-latency-avg
			election-latency-max fetch-records-rate append-records-rate poll-idle-ratio-avg`,
		"kbench.raft:type=voters,name=": `messages bytes round-trips`,
	} {
		for name := range strings.FieldsSeq(of) {
			names = append(names, bean+name)
		}
	}
	slices.Sort(names)
	return names
}

// TestGauges: the metrics that a user of Kafka looks for say what is.
func TestGauges(t *testing.T) {
	cl := newCluster(t, 3, nil)
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	if code := cl.createTopic("t", 12, 3); code != kafka.None {
		t.Fatal(code)
	}
	active := 0
	for _, n := range cl.nodes {
		gauges := n.c.Gauges()
		if names := slices.Sorted(maps.Keys(gauges)); !slices.Equal(names, gaugeNames()) {
			t.Fatalf("the gauges are\n%q\nwant\n%q", names, gaugeNames())
		}
		await(t, "the standbys to follow", func() bool { return gauges[controllerBean+"GlobalPartitionCount"]() == 12 })
		active += int(gauges[controllerBean+"ActiveControllerCount"]())
		for name, want := range map[string]int64{
			controllerBean + "ActiveBrokerCount": 3, controllerBean + "FencedBrokerCount": 0, controllerBean + "ControlledShutdownBrokerCount": 0,
			controllerBean + "EventQueueOperationsTimedOutCount": 0, controllerBean + "TimedOutBrokerHeartbeatCount": 0, controllerBean + "MetadataErrorCount": 0,
			loaderBean + "HandleLoadSnapshotCount": 0, snapshotBean + "LatestSnapshotGeneratedBytes": 0,
			"kafka.server:type=raft-metrics,name=current-leader": int64(cl.active(-1).id), "kafka.server:type=raft-metrics,name=number-unknown-voter-connections": 0,
			controllerBean + "GlobalTopicCount": 1, controllerBean + "OfflinePartitionsCount": 0, controllerBean + "PreferredReplicaImbalanceCount": 0,
			loaderBean + "CurrentMetadataVersion": int64(metadata.DefaultMetadataVersion), loaderBean + "CurrentControllerId": int64(cl.active(-1).id),
		} {
			if got := gauges[name](); got != want {
				t.Errorf("controller %d: %s is %d, want %d", n.id, name, got, want)
			}
		}
		for _, name := range []string{
			controllerBean + "LastAppliedRecordOffset", controllerBean + "LastCommittedRecordOffset", controllerBean + "LastAppliedRecordTimestamp",
			controllerBean + "NewActiveControllersCount", controllerBean + "EventQueueOperationsStartedCount", "kafka.server:type=raft-metrics,name=" + "high-watermark", "kafka.server:type=raft-metrics,name=" + "log-end-offset", "kafka.server:type=raft-metrics,name=" + "current-epoch",
		} {
			if gauges[name]() <= 0 {
				t.Errorf("controller %d: %s is %d", n.id, name, gauges[name]())
			}
		}
		if lone := n.id == cl.active(-1).id; gauges["kafka.server:type=raft-metrics,name="+"number-of-voters"]() != 3 || (gauges["kafka.server:type=raft-metrics,name="+"append-records-rate"]() == 0) == lone || gauges["kafka.server:type=raft-metrics,name="+"log-end-epoch"]() != gauges["kafka.server:type=raft-metrics,name="+"current-epoch"]() {
			t.Errorf("controller %d, active=%v: %+v", n.id, lone, n.c.client.Metrics())
		}
		if lag := gauges[controllerBean+"LastAppliedRecordLagMs"](); lag < 0 || lag > 60_000 {
			t.Errorf("controller %d lags %d ms", n.id, lag)
		}
		if n := gauges["kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec"](); n != 0 {
			t.Errorf("%d unclean elections", n)
		}
	}
	if active != 1 {
		t.Errorf("%d active controllers", active)
	}
}

// TestTokens: who sends a request, or has it forwarded, owns its token.
func TestTokens(t *testing.T) {
	cl := newCluster(t, 1, func(c *Config) { c.Machine.TokenSecret = "s" })
	req := kmsg.NewPtrCreateDelegationTokenRequest()
	req.Version = 3
	if r := cl.request(req).(*kmsg.CreateDelegationTokenResponse); kafka.ErrorCode(r.ErrorCode) != kafka.DelegationTokenRequestNotAllowed {
		t.Errorf("anonymous: %v", kafka.ErrorCode(r.ErrorCode))
	}
	env := cl.request(wire.WrapRequest(&wire.Request{Principal: "User:ann", Body: req}, 1)).(*kmsg.EnvelopeResponse)
	resp, err := wire.UnwrapResponse(req, env)
	if err != nil {
		t.Fatal(err)
	}
	r := resp.(*kmsg.CreateDelegationTokenResponse)
	now := cl.active(-1).c.cfg.Raft.Now().UnixMilli()
	if r.ErrorCode != 0 || r.PrincipalName != "ann" || r.IssueTimestamp > now || r.IssueTimestamp < now-60_000 {
		t.Errorf("%+v at %d", r, now)
	}
}
