package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/broker/batch"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// Every request that the broker says it serves, at every version, in its
// plainest form gets an answer that can be read; nothing closes a connection.
func TestEveryVersionIsAnswered(t *testing.T) {
	zkRig, kraftRig := newZKRig(t, 1), newKRaftRig(t)
	for name, p := range map[string]*process{"zk": zkRig.brokers[1], "kraft": kraftRig.start(1, nil)} {
		forwarded := map[int16]bool{}
		if name == "kraft" { // what the mode adds is the controller's
			for _, a := range p.plane.apis() {
				forwarded[a.Key] = true
			}
		}
		for _, a := range p.APIs() {
			if a.Key == int16(kmsg.Produce) || forwarded[a.Key] {
				continue // produce has its own test
			}
			for v := a.MinVersion; v <= a.MaxVersion; v++ {
				req := kmsg.RequestForKey(a.Key)
				if d, ok := req.(interface{ Default() }); ok {
					d.Default()
				}
				req.SetVersion(v)
				if resp := ask[kmsg.Response](t, p.addr(), req); resp == nil {
					t.Errorf("%s: %s version %d: no answer", name, kmsg.NameForKey(a.Key), v)
				}
			}
		}
	}
}

// Metadata by name, by id and of all topics, with the code of each fault.
func TestMetadata(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 2, 2)
	r.create("b", 1, 1)
	r.change(kafka.TopicPartition{Topic: "a", Partition: 1}, func(s *metadata.Partition) { s.Leader = kafka.NoLeader })
	addr := r.brokers[2].addr()
	get := func(version int16, topics ...kmsg.MetadataRequestTopic) *kmsg.MetadataResponse {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.Topics = version, topics
		return ask[*kmsg.MetadataResponse](t, addr, req)
	}
	named := func(name string) kmsg.MetadataRequestTopic {
		return kmsg.MetadataRequestTopic{Topic: &name}
	}
	for v := int16(0); v <= 13; v++ {
		resp := get(v, named("a"), named("nope"), named("b/d"))
		var codes []kafka.ErrorCode
		for _, rt := range resp.Topics {
			codes = append(codes, kafka.ErrorCode(rt.ErrorCode))
		}
		if !slices.Equal(codes, []kafka.ErrorCode{kafka.None, kafka.UnknownTopicOrPartition, kafka.InvalidTopicException}) {
			t.Errorf("version %d: codes %v", v, codes)
		}
		p := resp.Topics[0].Partitions
		if len(p) != 2 || p[0].Leader != 1 || p[1].Leader != -1 || kafka.ErrorCode(p[1].ErrorCode) != kafka.LeaderNotAvailable || !slices.Equal(p[0].ISR, []int32{1, 2}) {
			t.Errorf("version %d: partitions %+v", v, p)
		}
		if all := get(v); len(all.Topics) != 2 || len(all.Brokers) != 2 {
			t.Errorf("version %d: %d topics, %d brokers", v, len(all.Topics), len(all.Brokers))
		}
	}
	if none := get(9, []kmsg.MetadataRequestTopic{}...); none.Topics == nil && len(none.Topics) != 0 {
		t.Errorf("no topics asked for: %+v", none.Topics)
	}
	byID := kmsg.MetadataRequestTopic{TopicID: r.ids["a"]}
	unknown := kmsg.MetadataRequestTopic{TopicID: [16]byte{1}}
	resp := get(12, byID, unknown)
	if *resp.Topics[0].Topic != "a" || kafka.ErrorCode(resp.Topics[1].ErrorCode) != kafka.UnknownTopicID {
		t.Errorf("by id: %+v", resp.Topics)
	}
	if resp.ControllerID != 1 {
		t.Errorf("controller %d", resp.ControllerID)
	}
}

// produceOne makes a request of one batch of n records.
func produceOne(topic string, id kafka.UUID, p int32, acks, version int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 200
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = topic, id
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = p, records
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// records makes a batch that a producer could have sent.
func records(n int32) []byte {
	rb := kmsg.NewRecordBatch()
	if err := rb.ReadFrom(batch.AppendEmpty(nil, batch.Header{Count: n, ProducerID: batch.NoProducer})); err != nil {
		panic(err)
	}
	rb.NumRecords = n
	return resum(rb)
}

// Produce is acknowledged by the leader alone, at every version, and each
// refusal has its code.
func TestProduce(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 2, 1) // partition 0 on broker 1, 1 on 2
	r.create("b", 1, 2)
	one := r.brokers[1]
	part := func(req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
		return ask[*kmsg.ProduceResponse](t, one.addr(), req).Topics[0].Partitions[0]
	}
	base := int64(0)
	for v := int16(3); v <= 13; v++ {
		for _, acks := range []int16{1, -1} {
			name, id := "a", kafka.UUID{}
			if v >= 13 {
				name, id = "", r.ids["a"]
			}
			got := part(produceOne(name, id, 0, acks, v, records(2)))
			if got.ErrorCode != 0 || got.BaseOffset != base {
				t.Fatalf("version %d acks %d: %+v, want offset %d", v, acks, got, base)
			}
			base += 2
		}
	}
	wrong := records(1)
	wrong[len(wrong)-1] ^= 1
	for name, c := range map[string]struct {
		req  *kmsg.ProduceRequest
		want kafka.ErrorCode
	}{
		"another leader":  {produceOne("a", kafka.UUID{}, 1, 1, 10, records(1)), kafka.NotLeaderOrFollower},
		"no such topic":   {produceOne("x", kafka.UUID{}, 0, 1, 10, records(1)), kafka.UnknownTopicOrPartition},
		"no such number":  {produceOne("a", kafka.UUID{}, 9, 1, 10, records(1)), kafka.UnknownTopicOrPartition},
		"no such id":      {produceOne("", kafka.UUID{5}, 0, 1, 13, records(1)), kafka.UnknownTopicID},
		"acks 2":          {produceOne("a", kafka.UUID{}, 0, 2, 10, records(1)), kafka.InvalidRequiredAcks},
		"a flipped bit":   {produceOne("a", kafka.UUID{}, 0, 1, 10, wrong), kafka.CorruptMessage},
		"no records":      {produceOne("a", kafka.UUID{}, 0, 1, 10, nil), kafka.CorruptMessage},
		"an empty batch":  {produceOne("a", kafka.UUID{}, 0, 1, 10, batch.AppendEmpty(nil, batch.Header{Count: 1, ProducerID: -1})), kafka.InvalidRecord},
		"old message set": {produceOne("a", kafka.UUID{}, 0, 1, 3, make([]byte, 70)), kafka.UnsupportedVersion},
	} {
		got := part(c.req)
		if kafka.ErrorCode(got.ErrorCode) != c.want {
			t.Errorf("%s: %v, want %v", name, kafka.ErrorCode(got.ErrorCode), c.want)
		}
		if c.want == kafka.NotLeaderOrFollower && got.CurrentLeader.LeaderID != 2 {
			t.Errorf("%s: told of leader %d", name, got.CurrentLeader.LeaderID)
		}
	}
	// acks=0 gives no answer, and an offset all the same.
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	conn, err := wire.Dial(ctx, one.addr(), wire.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if resp, err := conn.Request(ctx, produceOne("a", kafka.UUID{}, 0, 0, 9, records(1))); resp != nil || err != nil {
		t.Fatalf("acks=0: %v, %v", resp, err)
	}
	eventually(t, "acks=0 was appended", func() bool {
		i, _ := one.Replica(kafka.TopicPartition{Topic: "a"})
		return int64(i.LogEnd) == base+1
	})
	if got := one.Replicas().Bytes; got != 22*int64(len(records(2)))+int64(len(records(1))) {
		t.Errorf("%d bytes counted", got)
	}
}

// With acks=-1 a batch that the ISR does not get is not acknowledged: the
// request times out, and is refused when the leader moves.
func TestProduceWaitsForISR(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("b", 1, 2)
	one := r.brokers[1]
	tp := kafka.TopicPartition{Topic: "b"}
	r.brokers[2].stop(t)
	began := time.Now()
	resp := ask[*kmsg.ProduceResponse](t, one.addr(), produceOne("b", kafka.UUID{}, 0, -1, 10, records(1)))
	if got := kafka.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode); got != kafka.RequestTimedOut || time.Since(began) > deadline/2 {
		t.Fatalf("got %v after %v", got, time.Since(began))
	}
	answered := make(chan kafka.ErrorCode, 1)
	go func() {
		req := produceOne("b", kafka.UUID{}, 0, -1, 10, records(1))
		req.TimeoutMillis = 30_000
		answered <- kafka.ErrorCode(ask[*kmsg.ProduceResponse](t, one.addr(), req).Topics[0].Partitions[0].ErrorCode)
	}()
	eventually(t, "the batch is appended", func() bool { i, _ := one.Replica(tp); return i.LogEnd == 2 })
	r.kill(2)
	r.change(tp, func(s *metadata.Partition) { s.Leader, s.ISR = 2, []kafka.BrokerID{2} })
	select {
	case got := <-answered:
		if got != kafka.NotLeaderOrFollower {
			t.Errorf("got %v", got)
		}
	case <-time.After(deadline):
		t.Error("a produce waits although the leader moved")
	}
}

// Below min.insync.replicas acks=-1 is refused and acks=1 is not.
func TestMinInSyncReplicas(t *testing.T) {
	r := newZKRig(t, 0)
	r.start(1, 0, func(c *Config) { c.MinISR = 2 })
	r.update(nil)
	r.create("a", 1, 1)
	for acks, want := range map[int16]kafka.ErrorCode{-1: kafka.NotEnoughReplicas, 1: kafka.None} {
		resp := ask[*kmsg.ProduceResponse](t, r.brokers[1].addr(), produceOne("a", kafka.UUID{}, 0, acks, 10, records(1)))
		if got := kafka.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode); got != want {
			t.Errorf("acks %d: %v, want %v", acks, got, want)
		}
	}
}

// A consumer's fetch waits for an advance of the high watermark, at most as
// long as it says, and names faults.
func TestConsumerFetch(t *testing.T) {
	r := newZKRig(t, 1)
	r.create("a", 1, 1)
	addr := r.brokers[1].addr()
	fetch := func(offset int64, epoch int32, wait int32) *kmsg.FetchRequest {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxWaitMillis, req.MinBytes, req.ReplicaID = 12, wait, 1, -1
		ft := kmsg.NewFetchRequestTopic()
		ft.Topic = "a"
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.FetchOffset, fp.CurrentLeaderEpoch, fp.PartitionMaxBytes = offset, epoch, 1<<20
		ft.Partitions = append(ft.Partitions, fp)
		req.Topics = append(req.Topics, ft)
		return req
	}
	answered := make(chan *kmsg.FetchResponse, 1)
	go func() { answered <- ask[*kmsg.FetchResponse](t, addr, fetch(0, -1, 20_000)) }()
	ask[*kmsg.ProduceResponse](t, addr, produceOne("a", kafka.UUID{}, 0, 1, 10, records(3)))
	select {
	case resp := <-answered:
		p := resp.Topics[0].Partitions[0]
		h, _, err := batch.Read(p.RecordBatches)
		if err != nil || p.HighWatermark != 3 || h.Next() != 3 || h.Records != 0 || resp.SessionID != 0 {
			t.Errorf("got %+v, %+v, %v", p, h, err)
		}
	case <-time.After(deadline):
		t.Fatal("the fetch was not woken")
	}
	began := time.Now()
	if p := ask[*kmsg.FetchResponse](t, addr, fetch(3, 0, 50)).Topics[0].Partitions[0]; p.ErrorCode != 0 || time.Since(began) < 50*time.Millisecond {
		t.Errorf("an idle fetch: %+v after %v", p, time.Since(began))
	}
	for name, c := range map[string]struct {
		req  *kmsg.FetchRequest
		want kafka.ErrorCode
	}{
		"past the end":   {fetch(4, -1, 0), kafka.OffsetOutOfRange},
		"below 0":        {fetch(-3, -1, 0), kafka.OffsetOutOfRange},
		"a newer leader": {fetch(0, 9, 0), kafka.UnknownLeaderEpoch},
	} {
		if got := kafka.ErrorCode(ask[*kmsg.FetchResponse](t, addr, c.req).Topics[0].Partitions[0].ErrorCode); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	session := fetch(0, -1, 0)
	session.SessionID, session.SessionEpoch = 77, 3
	if got := kafka.ErrorCode(ask[*kmsg.FetchResponse](t, addr, session).ErrorCode); got != kafka.FetchSessionIDNotFound {
		t.Errorf("a session that was never given: %v", got)
	}
}

// The ends of a log by ListOffsets and OffsetForLeaderEpoch.
func TestOffsets(t *testing.T) {
	r := newZKRig(t, 2)
	r.create("a", 2, 1)
	addr := r.brokers[1].addr()
	ask[*kmsg.ProduceResponse](t, addr, produceOne("a", kafka.UUID{}, 0, 1, 10, records(5)))
	list := func(p int32, timestamp int64) string {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version = 7
		lt := kmsg.NewListOffsetsRequestTopic()
		lt.Topic = "a"
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Partition, lp.Timestamp, lp.CurrentLeaderEpoch = p, timestamp, -1
		lt.Partitions = append(lt.Partitions, lp)
		req.Topics = append(req.Topics, lt)
		got := ask[*kmsg.ListOffsetsResponse](t, addr, req).Topics[0].Partitions[0]
		return fmt.Sprint(kafka.ErrorCode(got.ErrorCode), " ", got.Offset)
	}
	for _, c := range []struct {
		got, want string
	}{
		{list(0, -1), "NONE 5"},
		{list(0, -2), "NONE 0"},
		{list(0, 1234567), "NONE -1"},
		{list(1, -1), "NOT_LEADER_OR_FOLLOWER -1"},
		{list(7, -1), "UNKNOWN_TOPIC_OR_PARTITION -1"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = 4
	ot := kmsg.NewOffsetForLeaderEpochRequestTopic()
	ot.Topic = "a"
	for _, epoch := range []int32{0, 3} {
		op := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		op.CurrentLeaderEpoch, op.LeaderEpoch = 0, epoch
		ot.Partitions = append(ot.Partitions, op)
	}
	req.Topics = append(req.Topics, ot)
	got := ask[*kmsg.OffsetForLeaderEpochResponse](t, addr, req).Topics[0].Partitions
	if got[0].EndOffset != 5 || got[0].LeaderEpoch != 0 || got[1].EndOffset != -1 {
		t.Errorf("epochs: %+v", got)
	}
}

// DescribeCluster and FindCoordinator say what there is and what is not.
func TestClusterAndCoordinator(t *testing.T) {
	r := newZKRig(t, 2)
	addr := r.brokers[1].addr()
	dc := kmsg.NewPtrDescribeClusterRequest()
	dc.Version = 1
	got := ask[*kmsg.DescribeClusterResponse](t, addr, dc)
	if len(got.Brokers) != 2 || got.ControllerID != 1 || len(got.ClusterID) != 22 || got.ErrorCode != 0 {
		t.Errorf("DescribeCluster: %+v", got)
	}
	dc.EndpointType = 2
	if got := ask[*kmsg.DescribeClusterResponse](t, addr, dc); kafka.ErrorCode(got.ErrorCode) != kafka.MismatchedEndpointType {
		t.Errorf("endpoint type 2: %+v", got)
	}
	fc := kmsg.NewPtrFindCoordinatorRequest()
	fc.Version, fc.CoordinatorKeys = 4, []string{"g1", "g2"}
	cs := ask[*kmsg.FindCoordinatorResponse](t, addr, fc).Coordinators
	if len(cs) != 2 || cs[1].Key != "g2" || kafka.ErrorCode(cs[0].ErrorCode) != kafka.CoordinatorNotAvailable {
		t.Errorf("FindCoordinator: %+v", cs)
	}
	desc := kmsg.NewPtrDescribeConfigsRequest()
	desc.Version = 4
	desc.Resources = []kmsg.DescribeConfigsRequestResource{
		{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1", ConfigNames: []string{"broker.id"}},
		{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "2"},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "nope"},
		{ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: "1"},
		{ResourceType: kmsg.ConfigResourceTypeClientMetrics, ResourceName: "s"},
		{ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: "g"},
	}
	var out []string
	for _, res := range ask[*kmsg.DescribeConfigsResponse](t, addr, desc).Resources {
		s := kafka.ErrorCode(res.ErrorCode).String()
		for _, c := range res.Configs {
			s += " " + c.Name + "=" + *c.Value
		}
		out = append(out, s)
	}
	if want := "NONE broker.id=1, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, INVALID_REQUEST, INVALID_REQUEST"; strings.Join(out, ", ") != want {
		t.Errorf("DescribeConfigs: %s", strings.Join(out, ", "))
	}
}
