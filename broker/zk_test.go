package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/refusal"
	"kbench/zkcontroller/zk"
)

// A controller's request is judged by broker epoch, controller epoch and
// leader epoch (ZK-03, ZK-04).
func TestControllerRequestsAreFenced(t *testing.T) {
	r := newZKRig(t, 1)
	r.create("a", 1, 1)
	p := r.brokers[1]
	tp := kafka.TopicPartition{Topic: "a"}
	r.epoch = 5
	r.update(nil)
	for _, c := range []struct {
		name                    string
		brokerEpoch, controller int64
		want                    kafka.ErrorCode
	}{
		{"broker epoch of a former registration", -1, 5, kafka.StaleBrokerEpoch},
		{"the broker's epoch", 0, 5, kafka.None},
		{"a registration that the broker has not heard of yet", 1, 5, kafka.None},
		{"a former controller", 0, 4, kafka.StaleControllerEpoch},
	} {
		t.Run(c.name, func(t *testing.T) {
			epoch := int64(p.Epoch()) + c.brokerEpoch
			lisr := r.leaderAndISR(p, []kafka.TopicPartition{tp})
			lisr.BrokerEpoch, lisr.ControllerEpoch = epoch, int32(c.controller)
			lisr.TopicStates[0].PartitionStates[0].LeaderEpoch += 10
			before, _ := p.Replica(tp)
			if got := ask[*kmsg.LeaderAndISRResponse](t, p.addr(), lisr).ErrorCode; got != int16(c.want) {
				t.Errorf("LeaderAndIsr: %v, want %v", kafka.ErrorCode(got), c.want)
			}
			if after, _ := p.Replica(tp); c.want != kafka.None && after.LeaderEpoch != before.LeaderEpoch {
				t.Errorf("a refused LeaderAndIsr changed %+v to %+v", before, after)
			}
			um := r.updateMetadata(p, nil)
			um.BrokerEpoch, um.ControllerEpoch, um.LiveBrokers = epoch, int32(c.controller), um.LiveBrokers[:1]
			if got := ask[*kmsg.UpdateMetadataResponse](t, p.addr(), um).ErrorCode; got != int16(c.want) {
				t.Errorf("UpdateMetadata: %v, want %v", kafka.ErrorCode(got), c.want)
			}
			stop := kmsg.NewPtrStopReplicaRequest()
			stop.ControllerID, stop.ControllerEpoch, stop.BrokerEpoch = 1, int32(c.controller), epoch
			for _, stop.Version = range []int16{1, 2, 3, 4} {
				if got := ask[*kmsg.StopReplicaResponse](t, p.addr(), stop).ErrorCode; got != int16(c.want) {
					t.Errorf("StopReplica version %d: %v, want %v", stop.Version, kafka.ErrorCode(got), c.want)
				}
			}
		})
	}
}

// One partition's state applies by its leader epoch, topic id and replicas.
func TestLeaderAndISRAcceptance(t *testing.T) {
	r := newZKRig(t, 1)
	r.create("a", 1, 1)
	p := r.brokers[1]
	tp := kafka.TopicPartition{Topic: "a"}
	send := func(f func(*kmsg.LeaderAndISRRequestTopicState, *kmsg.LeaderAndISRRequestTopicPartition)) kafka.ErrorCode {
		req := r.leaderAndISR(p, []kafka.TopicPartition{tp})
		f(&req.TopicStates[0], &req.TopicStates[0].PartitionStates[0])
		return kafka.ErrorCode(ask[*kmsg.LeaderAndISRResponse](t, p.addr(), req).Topics[0].Partitions[0].ErrorCode)
	}
	for _, c := range []struct {
		name string
		edit func(*kmsg.LeaderAndISRRequestTopicState, *kmsg.LeaderAndISRRequestTopicPartition)
		want kafka.ErrorCode
	}{
		{"the same leader epoch", func(_ *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) {}, kafka.StaleControllerEpoch},
		{"another topic id", func(t *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) {
			t.TopicID, s.LeaderEpoch = [16]byte{9}, 7
		}, kafka.InconsistentTopicID},
		{"no replica here", func(_ *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) {
			s.Replicas, s.LeaderEpoch = []int32{2}, 7
		}, kafka.UnknownTopicOrPartition},
		{"a newer leader epoch", func(_ *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) {
			s.LeaderEpoch = 7
		}, kafka.None},
		{"an older one afterwards", func(_ *kmsg.LeaderAndISRRequestTopicState, s *kmsg.LeaderAndISRRequestTopicPartition) {
			s.LeaderEpoch = 6
		}, kafka.StaleControllerEpoch},
	} {
		if got := send(c.edit); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	stop := func(epoch kafka.LeaderEpoch) kafka.ErrorCode {
		req := kmsg.NewPtrStopReplicaRequest()
		req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = 3, 1, r.epoch, int64(p.Epoch())
		ts := kmsg.NewStopReplicaRequestTopic()
		s := kmsg.NewStopReplicaRequestTopicPartitionState()
		ts.Topic, s.LeaderEpoch, s.Delete = "a", int32(epoch), true
		ts.PartitionStates = append(ts.PartitionStates, s)
		req.Topics = append(req.Topics, ts)
		return kafka.ErrorCode(ask[*kmsg.StopReplicaResponse](t, p.addr(), req).Partitions[0].ErrorCode)
	}
	if got := stop(6); got != kafka.FencedLeaderEpoch {
		t.Errorf("StopReplica of an older epoch: %v", got)
	}
	if got := stop(epochDuringDelete); got != kafka.None {
		t.Errorf("StopReplica during deletion: %v", got)
	}
	if _, ok := p.Replica(tp); ok {
		t.Error("the deleted replica is still there")
	}
}

// UpdateMetadata merges partitions, replaces brokers, and removes topics in
// deletion.
func TestUpdateMetadata(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 2, 2)
	r.create("b", 1, 1)
	p := r.brokers[1]
	if img := p.Image(); img.NumPartitions() != 3 || img.NumBrokers() != 2 {
		t.Fatalf("%d partitions, %d brokers", img.NumPartitions(), img.NumBrokers())
	}
	before := p.Image()
	req := r.updateMetadata(p, []kafka.TopicPartition{{Topic: "a"}, {Topic: "a", Partition: 1}})
	for i := range req.TopicStates[0].PartitionStates {
		req.TopicStates[0].PartitionStates[i].Leader = leaderDuringDelete
	}
	req.LiveBrokers = req.LiveBrokers[:1]
	ask[*kmsg.UpdateMetadataResponse](t, p.addr(), req)
	img := p.Image()
	if _, ok := img.Topic("a"); ok || img.NumPartitions() != 1 || img.NumBrokers() != 1 {
		t.Fatalf("after deletion: %d partitions, %d brokers", img.NumPartitions(), img.NumBrokers())
	}
	if before.NumPartitions() != 3 {
		t.Error("the former image changed")
	}
	if got := p.events(t); !strings.Contains(got, "broker.registered broker.controller-epoch broker.applied") {
		t.Errorf("trace: %s", got)
	}
}

// A killed predecessor's znode is waited for, not fought (ZK-24).
func TestRegistrationWaitsForPredecessor(t *testing.T) {
	r := newZKRig(t, 0)
	old, err := zk.Connect(context.Background(), zk.Config{Servers: []string{r.store}, SessionTimeout: 3 * time.Second, ConnectTimeout: deadline})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.EnsurePersistentPaths(context.Background()); err != nil {
		t.Fatal(err)
	}
	first, err := old.RegisterBroker(context.Background(), zk.BrokerRegistration{ID: 4, Version: 5})
	if err != nil {
		t.Fatal(err)
	}
	old.Abandon()
	p := r.start(4, 0, nil)
	if p.Epoch() <= first {
		t.Errorf("broker epoch %d is not above that of the predecessor, %d", p.Epoch(), first)
	}
}

// Before a broker is registered it obeys no controller: what was meant for its
// predecessor is refused, and what is for itself waits for the registration.
func TestControllerWaitsForRegistration(t *testing.T) {
	r := newZKRig(t, 0)
	old, err := zk.Connect(context.Background(), zk.Config{Servers: []string{r.store}, SessionTimeout: 3 * time.Second, ConnectTimeout: deadline})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.EnsurePersistentPaths(context.Background()); err != nil {
		t.Fatal(err)
	}
	former, err := old.RegisterBroker(context.Background(), zk.BrokerRegistration{ID: 4, Version: 5})
	if err != nil {
		t.Fatal(err)
	}
	old.Abandon()
	p := startProcess(t, 4, 0, r.plane(), nil)
	send := func(topic string, epoch kafka.BrokerEpoch) <-chan kafka.ErrorCode {
		got := make(chan kafka.ErrorCode, 1)
		go func() {
			req := kmsg.NewPtrLeaderAndISRRequest()
			req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = 7, 1, 1, int64(epoch)
			ts := kmsg.NewLeaderAndISRRequestTopicState()
			ts.Topic, ts.TopicID = topic, randomUUID()
			part := kmsg.NewLeaderAndISRRequestTopicPartition()
			part.Leader, part.Replicas, part.ISR = 4, []int32{4}, []int32{4}
			ts.PartitionStates = append(ts.PartitionStates, part)
			req.TopicStates = append(req.TopicStates, ts)
			got <- kafka.ErrorCode(ask[*kmsg.LeaderAndISRResponse](t, p.addr(), req).ErrorCode)
		}()
		return got
	}
	stale, own := send("stale", former), send("own", math.MaxInt64)
	if code := <-stale; code != kafka.StaleBrokerEpoch {
		t.Errorf("LeaderAndIsr with the predecessor's epoch: %v", code)
	}
	if code := <-own; code != kafka.None || p.Epoch() <= former {
		t.Errorf("LeaderAndIsr for this broker: %v, epoch %d", code, p.Epoch())
	}
	if n := p.Replicas().Replicas; n != 1 {
		t.Errorf("%d replicas", n)
	}
}

// An id that another live broker holds ends the start with a reason.
func TestRegistrationOfTakenID(t *testing.T) {
	r := newZKRig(t, 1)
	cfg := ZooKeeperConfig{Servers: []string{r.store}, SessionTimeout: 200 * time.Millisecond}
	plane := ZooKeeper(cfg).(*zkPlane)
	if _, err := New(Config{ID: 1, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 1}}}, plane); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	s, err := zk.Connect(context.Background(), zk.Config{Servers: []string{r.store}, SessionTimeout: lasting, ConnectTimeout: deadline})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	err = plane.claim(ctx, s)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stop the other broker of this id") {
		t.Fatalf("got %v", err)
	}
}

// After its session expired a broker registers again, with a greater epoch.
func TestSessionExpiry(t *testing.T) {
	var frozen atomic.Bool
	r := newZKRig(t, 0)
	plane := ZooKeeper(ZooKeeperConfig{Servers: []string{r.store}, SessionTimeout: 2 * time.Second, Dial: freezable(&frozen)})
	p := startProcess(t, 3, 0, plane, nil)
	eventually(t, "registration", func() bool { return p.Epoch() >= 0 })
	first := p.Epoch()
	watch, err := zk.Connect(context.Background(), zk.Config{Servers: []string{r.store}, SessionTimeout: lasting})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close(context.Background())
	frozen.Store(true)
	eventually(t, "expiry", func() bool { return !watch.Do(context.Background(), zk.Exists(zk.BrokerPath(3))).Exists })
	frozen.Store(false)
	eventually(t, "a new registration, by the epoch of its znode", func() bool {
		got := watch.Do(context.Background(), zk.Exists(zk.BrokerPath(3)))
		return got.Exists && p.Epoch() > first && kafka.BrokerEpoch(got.Czxid) == p.Epoch()
	})
}

// Controlled shutdown is asked for until nothing remains, and ends the
// registration at once.
func TestControlledShutdown(t *testing.T) {
	r := newZKRig(t, 2)
	p := r.brokers[2]
	var asked []int64
	r.onShutdown = func(id int32, epoch int64) *kmsg.ControlledShutdownResponse {
		asked = append(asked, epoch)
		resp := kmsg.NewPtrControlledShutdownResponse()
		if len(asked) == 1 {
			left := kmsg.NewControlledShutdownResponsePartitionsRemaining()
			left.Topic = "a"
			resp.PartitionsRemaining = append(resp.PartitionsRemaining, left)
		}
		return resp
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if want := int64(p.Epoch()); !slices.Equal(asked, []int64{want, want}) {
		t.Errorf("asked with epochs %v, want twice %d", asked, want)
	}
	if got := p.events(t); !strings.HasSuffix(got, "broker.shutdown-requested broker.shutdown-granted") {
		t.Errorf("trace: %s", got)
	}
	s, err := zk.Connect(ctx, zk.Config{Servers: []string{r.store}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	if s.Do(ctx, zk.Exists(zk.BrokerPath(2))).Exists {
		t.Error("the registration outlived the shutdown")
	}
}

// Where the controller never grants, the broker stops all the same and says so.
func TestControlledShutdownRefused(t *testing.T) {
	r := newZKRig(t, 2)
	tries := 0
	r.onShutdown = func(int32, int64) *kmsg.ControlledShutdownResponse {
		tries++
		resp := kmsg.NewPtrControlledShutdownResponse()
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		return resp
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := r.brokers[2].Shutdown(ctx)
	if tries != 3 || !errors.Is(err, kafka.StaleBrokerEpoch) {
		t.Fatalf("%d tries: %v", tries, err)
	}
}

// A broker that restarts without memory fetches and is in all ISRs again; the
// leader's requests are few however many partitions there are.
func TestRestartedBrokerRejoins(t *testing.T) {
	r := newZKRig(t, 3)
	const n = 300
	r.create("a", n, 3)
	r.kill(3)
	r.update(nil)
	var tps []kafka.TopicPartition
	r.mu.Lock()
	for p := range int32(n) {
		tp := kafka.TopicPartition{Topic: "a", Partition: p}
		tps = append(tps, tp)
		s := *r.truth[tp]
		s.ISR = []kafka.BrokerID{1, 2}
		if s.Leader == 3 {
			s.Leader = 1
		}
		s.LeaderEpoch, s.PartitionEpoch = s.LeaderEpoch+1, s.PartitionEpoch+1
		r.truth[tp] = &s
	}
	r.mu.Unlock()
	r.push(tps)
	r.start(3, 0, nil)
	r.push(tps)
	eventually(t, "all ISRs are whole", func() bool {
		for _, tp := range tps {
			if len(r.isr(tp)) != 3 {
				return false
			}
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.altered > 30 {
		t.Errorf("%d AlterPartition requests for %d partitions", r.altered, n)
	}
}

// A follower that stops leaves the ISR after the lag time, through
// AlterPartition that is tried again while the controller refuses.
func TestLaggingFollowerLeavesISR(t *testing.T) {
	r := newZKRig(t, 0)
	for id := kafka.BrokerID(1); id <= 2; id++ {
		r.start(id, 0, func(c *Config) { c.ReplicaLagMax = 400 * time.Millisecond })
	}
	r.update(nil)
	refused := 0
	r.onAlter = func() kafka.ErrorCode {
		if refused++; refused < 3 {
			return kafka.NotController
		}
		return kafka.None
	}
	r.create("a", 1, 2)
	tp := kafka.TopicPartition{Topic: "a"}
	eventually(t, "the follower fetches", func() bool {
		i, _ := r.brokers[2].Replica(tp)
		return i.Leader == 1
	})
	r.brokers[2].stop(t)
	eventually(t, "the follower left", func() bool { return slices.Equal(r.isr(tp), []kafka.BrokerID{1}) })
}

// A configuration written at one broker holds at all, by /config/changes.
func TestConfigChangesReachEveryBroker(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 1, 1)
	ctx := context.Background()
	read := func(id kafka.BrokerID) string {
		return r.brokers[id].plane.topicConfig(ctx, "a")["min.insync.replicas"]
	}
	if got := read(1) + read(2); got != "" {
		t.Fatalf("a new topic has configuration %q", got)
	}
	alter := func(name string, op kmsg.IncrementalAlterConfigOp, value *string) kafka.ErrorCode {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version = 1
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, name
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = "min.insync.replicas", op, value
		res.Configs = append(res.Configs, c)
		req.Resources = append(req.Resources, res)
		return kafka.ErrorCode(ask[*kmsg.IncrementalAlterConfigsResponse](t, r.brokers[2].addr(), req).Resources[0].ErrorCode)
	}
	if code := alter("a", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("2")); code != kafka.None {
		t.Fatal(code)
	}
	eventually(t, "both brokers have it", func() bool { return read(1) == "2" && read(2) == "2" })
	for what, c := range map[string]struct {
		got, want kafka.ErrorCode
	}{
		"not a number":  {alter("a", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("many")), kafka.InvalidConfig},
		"no value":      {alter("a", kmsg.IncrementalAlterConfigOpSet, nil), kafka.InvalidConfig},
		"unknown topic": {alter("nope", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("1")), kafka.UnknownTopicOrPartition},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.Version = 4
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, "a"
	describe.Resources = append(describe.Resources, res)
	found := ""
	for _, c := range ask[*kmsg.DescribeConfigsResponse](t, r.brokers[1].addr(), describe).Resources[0].Configs {
		if c.Name == "min.insync.replicas" {
			found = fmt.Sprint(*c.Value, " ", c.Source)
		}
	}
	if found != "2 "+kmsg.ConfigSourceDynamicTopicConfig.String() {
		t.Errorf("DescribeConfigs says %q", found)
	}
	alter("a", kmsg.IncrementalAlterConfigOpDelete, nil)
	eventually(t, "both brokers dropped it", func() bool { return read(1) == "" && read(2) == "" })
}

// A broker that is no candidate sends admin clients to the controller.
func TestNotController(t *testing.T) {
	r := newZKRig(t, 2)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = "a"
	req.Topics = append(req.Topics, topic)
	resp := ask[*kmsg.CreateTopicsResponse](t, r.brokers[2].addr(), req)
	if len(resp.Topics) != 1 || kafka.ErrorCode(resp.Topics[0].ErrorCode) != kafka.NotController {
		t.Fatalf("got %+v", resp)
	}
}

// Every request that a broker serves can be refused in a response of its own, in
// every version that it serves: else a client would lose its connection where it
// should be told why.
func TestEveryRequestCanBeRefused(t *testing.T) {
	zkRig, kraftRig := newZKRig(t, 1), newKRaftRig(t)
	for name, p := range map[string]*process{"zk": zkRig.brokers[1], "kraft": kraftRig.start(1, nil)} {
		for _, a := range p.APIs() {
			for v := a.MinVersion; v <= a.MaxVersion; v++ {
				req := kmsg.RequestForKey(a.Key)
				req.SetVersion(v)
				if refusal.Of(req, kafka.NotController, "why") == nil {
					t.Errorf("%s: %s version %d", name, kmsg.NameForKey(a.Key), v)
				}
			}
		}
	}
}
