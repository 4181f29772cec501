package kraftcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// awaitEqual waits until all live controllers hold the same committed metadata
// with the topics named.
func (cl *cluster) awaitEqual(topics []string) {
	cl.t.Helper()
	await(cl.t, fmt.Sprintf("all controllers to hold the same metadata with %d topics", len(topics)), func() bool {
		var digests []uint64
		for _, n := range cl.nodes {
			if n.gone {
				continue
			}
			image := n.c.View().Image
			for _, name := range topics {
				if _, ok := image.Topic(name); !ok {
					return false
				}
			}
			digests = append(digests, image.Digest())
		}
		return len(slices.Compact(slices.Sorted(slices.Values(digests)))) == 1
	})
}

func TestKilledControllerIsReplacedAndNothingIsLost(t *testing.T) {
	cl := newCluster(t, 3, hasty)
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	var acked []string
	epoch := kafka.LeaderEpoch(-1)
	for round := range 3 {
		for i := range 5 {
			name := fmt.Sprintf("topic-%d-%d", round, i)
			if code := cl.createTopic(name, 7, 3); code != kafka.None {
				t.Fatalf("%s: %v", name, code)
			}
			acked = append(acked, name)
		}
		old := cl.active(epoch)
		epoch = old.c.View().Epoch
		old.kill()
		if now := cl.active(epoch); now.id == old.id {
			t.Fatalf("controller %d is dead and active", old.id)
		}
		name := fmt.Sprintf("topic-%d-after", round)
		if code := cl.createTopic(name, 1, 3); code != kafka.None {
			t.Fatalf("%s: %v", name, code)
		}
		acked = append(acked, name)
		cl.start(old.id)
		cl.awaitEqual(acked)
	}
}

// TestAcknowledgedUnderFire kills the active controller in the midst of
// requests: what was acknowledged is there, what was not may be.
func TestAcknowledgedUnderFire(t *testing.T) {
	cl := newCluster(t, 3, hasty)
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	first := cl.active(-1)
	var acked []string
	for round := range 3 {
		n := cl.active(-1)
		stop := make(chan struct{})
		names := make(chan string, 10_000)
		go func() {
			defer close(names)
			conn, err := wire.Dial(context.Background(), cl.addr(n.id), wire.DialOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("fire-%d-%d", round, i)
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				resp, err := conn.Request(ctx, createTopics(name, 3, 3))
				cancel()
				if err != nil {
					return
				}
				if resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode == 0 {
					names <- name
				}
			}
		}()
		await(t, "some topics", func() bool { return len(names) > 20 })
		n.kill()
		close(stop)
		for name := range names {
			acked = append(acked, name)
		}
		cl.active(n.c.View().Epoch)
		cl.start(n.id)
	}
	_ = first
	if len(acked) < 60 {
		t.Fatalf("only %d topics were acknowledged", len(acked))
	}
	cl.awaitEqual(acked)
}

func TestStandbysRefuse(t *testing.T) {
	cl := newCluster(t, 3, nil)
	active := cl.active(-1)
	for _, n := range cl.nodes {
		if n == active {
			continue
		}
		conn, err := wire.Dial(context.Background(), cl.addr(n.id), wire.DialOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		req := createTopics("a", 1, 1)
		resp, err := conn.Request(ctx, req)
		if err != nil || !isNotController(resp) {
			t.Errorf("CreateTopics at a standby: %+v, %v", resp, err)
		}
		resp, err = conn.Request(ctx, wire.WrapRequest(&wire.Request{Principal: "User:a", Body: req}, 1))
		if err != nil || !isNotController(resp) {
			t.Errorf("Envelope at a standby: %+v, %v", resp, err)
		}
	}
}

func TestEnvelope(t *testing.T) {
	cl := newCluster(t, 1, nil)
	cl.broker(1)
	req := createTopics("forwarded", 2, 1)
	env := cl.request(wire.WrapRequest(&wire.Request{ClientID: "c", Principal: "User:ann", Body: req}, 7)).(*kmsg.EnvelopeResponse)
	resp, err := wire.UnwrapResponse(req, env)
	if err != nil || resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode != 0 {
		t.Fatalf("got %+v, %v", resp, err)
	}
	if resp.(*kmsg.CreateTopicsResponse).Topics[0].Configs == nil {
		t.Error("the configs are null, which kafka-topics does not bear")
	}
	again, err := wire.UnwrapResponse(req, cl.request(wire.WrapRequest(&wire.Request{Principal: "User:ann", Body: req}, 8)).(*kmsg.EnvelopeResponse))
	if err != nil || kafka.ErrorCode(again.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode) != kafka.TopicAlreadyExists {
		t.Errorf("an error of the inner request: %+v, %v", again, err)
	}
	describe := kmsg.NewPtrDescribeQuorumRequest()
	describe.Version = 2
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = kafka.MetadataTopic, append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	describe.Topics = append(describe.Topics, topic)
	resp, err = wire.UnwrapResponse(describe, cl.request(wire.WrapRequest(&wire.Request{Principal: "User:ann", Body: describe}, 9)).(*kmsg.EnvelopeResponse))
	if err != nil || len(resp.(*kmsg.DescribeQuorumResponse).Topics[0].Partitions[0].CurrentVoters) != 1 {
		t.Errorf("a forwarded DescribeQuorum: %+v, %v", resp, err)
	}
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	bad := cl.request(wire.WrapRequest(&wire.Request{Principal: "User:ann", Body: beat}, 9)).(*kmsg.EnvelopeResponse)
	if kafka.ErrorCode(bad.ErrorCode) != kafka.InvalidRequest {
		t.Errorf("a forwarded heartbeat: %v", kafka.ErrorCode(bad.ErrorCode))
	}
}

func TestControlledShutdownOfABroker(t *testing.T) {
	cl := newCluster(t, 3, nil)
	for id := range kafka.BrokerID(3) {
		cl.broker(id + 1)
	}
	if code := cl.createTopic("t", 30, 3); code != kafka.None {
		t.Fatal(code)
	}
	leaver := cl.brokers[0]
	leaver.shutdown()
	await(t, "the shutdown to be granted", func() bool { return leaver.heartbeat().ShouldShutdown })
	leaver.stop()
	n := cl.active(-1)
	image := n.c.View().Image
	for tp, p := range image.Partitions() {
		if p.Leader == leaver.id || p.Leader < 0 || p.InISR(leaver.id) {
			t.Fatalf("%v: %v", tp, p)
		}
	}
	n.kill()
	if !slices.ContainsFunc(cl.events(n.id), func(e trace.Event) bool {
		return e.Kind == trace.ControllerShutdownGranted && e.Broker == int32(leaver.id) && e.Offset > int64(leaver.epoch)
	}) {
		t.Error("the trace does not tell at which offset")
	}
}

func TestDeadBrokerIsFenced(t *testing.T) {
	cl := newCluster(t, 1, func(c *Config) { c.Machine.SessionTimeout = 3 * time.Second })
	for id := range kafka.BrokerID(2) {
		cl.broker(id + 1)
	}
	if code := cl.createTopic("t", 10, 2); code != kafka.None {
		t.Fatal(code)
	}
	cl.brokers[0].stop()
	n := cl.active(-1)
	await(t, "the dead broker to lose its leaderships", func() bool {
		b, ok := n.c.View().Image.Broker(1)
		return ok && b.Fenced && n.c.View().Image.LeaderCount(1) == 0
	})
	await(t, "the living broker not to be fenced", func() bool { // a busy machine may have fenced it for a moment
		b, ok := n.c.View().Image.Broker(2)
		return ok && !b.Fenced
	})
	n.kill()
	if !slices.ContainsFunc(cl.events(n.id), func(e trace.Event) bool {
		return e.Kind == trace.BrokerFenced && e.Broker == 1 && e.N == int64(3*time.Second)
	}) {
		t.Error("the trace does not tell")
	}
}

func TestShutdownHandsOverAndIsTraced(t *testing.T) {
	cl := newCluster(t, 3, nil)
	old := cl.active(-1)
	epoch := old.c.View().Epoch
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := old.c.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	old.kill()
	now := cl.active(epoch)
	await(t, "a second active controller", func() bool { return now.c.View().Epoch > epoch })
	now.kill()
	want := []trace.Kind{trace.ControllerDetected, trace.ControllerElected, trace.ControllerLoaded, trace.ControllerActive}
	var got []trace.Kind
	for _, e := range cl.events(now.id) {
		if slices.Contains(want, e.Kind) && !slices.Contains(got, e.Kind) {
			got = append(got, e.Kind)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the successor traced %v, want %v", got, want)
	}
	if !slices.ContainsFunc(cl.events(old.id), func(e trace.Event) bool { return e.Kind == trace.ControllerResigned && e.Epoch == int64(epoch) }) {
		t.Error("the old controller did not trace that it resigned")
	}
}

func TestSnapshotBringsAControllerUp(t *testing.T) {
	cl := newCluster(t, 3, func(c *Config) {
		c.SnapshotBytes, c.Raft.SegmentBytes, c.Raft.RetentionBytes = 4000, 4000, 1
	})
	cl.broker(1)
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("topic-%d", i)
		if code := cl.createTopic(name, 5, 1); code != kafka.None {
			t.Fatal(code)
		}
		names = append(names, name)
	}
	active := cl.active(-1)
	var late *node
	for _, n := range cl.nodes {
		if n != active {
			late = n
		}
	}
	late.kill()
	cl.dir = t.TempDir() // it comes back with nothing
	cl.start(late.id)
	cl.awaitEqual(names)
}

func TestDescribeAndFeatures(t *testing.T) {
	cl := newCluster(t, 1, nil)
	cl.broker(1)
	if code := cl.createTopic("t", 1, 1); code != kafka.None {
		t.Fatal(code)
	}
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	set.Version = 1
	resources := []struct {
		kind        kmsg.ConfigResourceType
		name, key   string
		value, want string
	}{
		{kmsg.ConfigResourceTypeTopic, "t", "retention.ms", "5", "retention.ms=5 DYNAMIC_TOPIC_CONFIG"},
		{kmsg.ConfigResourceTypeClientMetrics, "sub", "interval.ms", "1000", "interval.ms=1000 CLIENT_METRICS_CONFIG"},
		{kmsg.ConfigResourceTypeGroupConfig, "g", "consumer.session.timeout.ms", "45000", "consumer.session.timeout.ms=45000 GROUP_CONFIG"},
	}
	for _, want := range resources {
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = want.kind, want.name
		kv := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		kv.Name, kv.Value = want.key, kmsg.StringPtr(want.value)
		res.Configs = append(res.Configs, kv)
		set.Resources = append(set.Resources, res)
	}
	for _, r := range cl.request(set).(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			t.Fatalf("%+v", r)
		}
	}

	get := kmsg.NewPtrDescribeConfigsRequest()
	get.Version = 4
	for _, want := range resources {
		g := kmsg.NewDescribeConfigsRequestResource()
		g.ResourceType, g.ResourceName = want.kind, want.name
		get.Resources = append(get.Resources, g)
	}
	absent := kmsg.NewDescribeConfigsRequestResource()
	absent.ResourceType, absent.ResourceName = kmsg.ConfigResourceTypeTopic, "absent"
	get.Resources = append(get.Resources, absent)
	described := cl.request(get).(*kmsg.DescribeConfigsResponse).Resources
	for i, want := range resources {
		got := ""
		for _, c := range described[i].Configs {
			got += fmt.Sprintf("%s=%s %s", c.Name, *c.Value, c.Source)
		}
		if got != want.want {
			t.Errorf("DescribeConfigs of %s: %q, want %q", want.name, got, want.want)
		}
	}
	if code := kafka.ErrorCode(described[len(resources)].ErrorCode); code != kafka.UnknownTopicOrPartition {
		t.Errorf("DescribeConfigs of a topic that is not there: %s", code)
	}

	dc := kmsg.NewPtrDescribeClusterRequest()
	dc.Version, dc.EndpointType, dc.IncludeFencedBrokers, dc.IncludeClusterAuthorizedOperations = 2, controllerEndpoints, true, true
	if r := cl.request(dc).(*kmsg.DescribeClusterResponse); r.ErrorCode != 0 || r.ControllerID != 3001 || len(r.Brokers) != 1 || r.ClusterID != clusterID || r.ClusterAuthorizedOperations <= 0 {
		t.Errorf("DescribeCluster: %+v", r)
	}
	dc.EndpointType = brokerEndpoints
	if r := cl.request(dc).(*kmsg.DescribeClusterResponse); kafka.ErrorCode(r.ErrorCode) != kafka.MismatchedEndpointType {
		t.Errorf("DescribeCluster for brokers: %+v", r)
	}

	av := kmsg.NewPtrApiVersionsRequest()
	av.Version = 3
	av.ClientSoftwareName, av.ClientSoftwareVersion = "t", "1"
	features := cl.request(av).(*kmsg.ApiVersionsResponse)
	if len(features.FinalizedFeatures) == 0 || features.FinalizedFeatures[0].Name != metadata.MetadataVersionFeature || features.FinalizedFeaturesEpoch < 0 {
		t.Errorf("ApiVersions: %+v", features)
	}
	// A range from 0 is told from version 4 on.
	for version, want := range map[int16]bool{3: false, 4: true} {
		av.Version = version
		told := slices.ContainsFunc(cl.request(av).(*kmsg.ApiVersionsResponse).SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool {
			return f.Name == metadata.ELRVersionFeature
		})
		if told != want {
			t.Errorf("ApiVersions version %d tells a range from 0: %v", version, told)
		}
	}
}

func TestSecondProcessAndWrongClusterAreRefused(t *testing.T) {
	cl := newCluster(t, 1, nil)
	cfg := cl.active(-1).c.cfg
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second controller on the directory: %v", err)
	}
	cl.nodes[3001].kill()
	cfg.Raft.ClusterID = "another"
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "another") || !strings.Contains(err.Error(), clusterID) {
		t.Errorf("another cluster: %v", err)
	}
}
