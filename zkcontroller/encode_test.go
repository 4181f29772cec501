package zkcontroller

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/zkcontroller/machine"
)

func shutdownInput(id machine.CallID) machine.Input {
	return machine.ControlledShutdown{Call: id, Broker: 1}
}

func (c *Controller) senderOf(id kafka.BrokerID) *sender { return c.senders[id] }

func ids32(ids []kafka.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

func sampleBrokers() []*machine.Broker {
	return []*machine.Broker{
		{ID: 1, Epoch: 7, Rack: "r", Protocols: map[string]string{"SEC": "SASL_SSL"}, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "h1", Port: 9092}, {Listener: "SEC", Host: "h1", Port: 9093}}},
		{ID: 2, Epoch: 8, Endpoints: []kafka.Endpoint{{Listener: "PLAINTEXT", Host: "h2", Port: 65535}}},
	}
}

// The hand-laid bodies are byte for byte what kmsg writes.
func TestEncodersMatchKmsg(t *testing.T) {
	c := &Controller{cfg: Config{ID: 3, Listener: "PLAINTEXT"}, epoch: 9}
	st := machine.LeaderISR{Leader: 1, LeaderEpoch: 4, ControllerEpoch: 8, Version: 6, Recovery: kafka.Recovering, ISR: []kafka.BrokerID{1, 2}}
	gone := machine.LeaderISR{Leader: -2, LeaderEpoch: -2, ISR: nil}
	reps := []kafka.BrokerID{1, 2, 200000}
	brokers := sampleBrokers()
	lisr := &machine.LeaderAndISR{Broker: 2, BrokerEpoch: 8, Leaders: brokers[:1], Partitions: []machine.LeaderAndISRPartition{
		{Topic: "a", TopicID: kafka.UUID{1}, Partition: 0, State: st, Assignment: machine.Assignment{Replicas: reps, Adding: reps[:1], Removing: reps[1:]}, IsNew: true},
		{Topic: "a", TopicID: kafka.UUID{1}, Partition: 300, State: st, Assignment: machine.Assignment{Replicas: reps}},
		{Topic: "b", TopicID: kafka.UUID{2}, Partition: 1, State: st, Assignment: machine.Assignment{Replicas: reps}},
	}}
	want := kmsg.NewPtrLeaderAndISRRequest()
	want.Version, want.ControllerID, want.ControllerEpoch, want.BrokerEpoch = 7, 3, 9, 8
	want.LiveLeaders = []kmsg.LeaderAndISRRequestLiveLeader{{BrokerID: 1, Host: "h1", Port: 9092}}
	for _, p := range lisr.Partitions {
		if n := len(want.TopicStates); n == 0 || want.TopicStates[n-1].Topic != p.Topic {
			want.TopicStates = append(want.TopicStates, kmsg.LeaderAndISRRequestTopicState{Topic: p.Topic, TopicID: p.TopicID})
		}
		s := &want.TopicStates[len(want.TopicStates)-1]
		s.PartitionStates = append(s.PartitionStates, kmsg.LeaderAndISRRequestTopicPartition{
			Partition: p.Partition, ControllerEpoch: 8, Leader: 1, LeaderEpoch: 4, ISR: []int32{1, 2}, ZKVersion: 6, Replicas: ids32(reps),
			AddingReplicas: ids32(p.Assignment.Adding), RemovingReplicas: ids32(p.Assignment.Removing), IsNew: p.IsNew, LeaderRecoveryState: 1,
		})
	}
	got := c.requestLeaderAndISR(lisr).build()
	if b := got.AppendTo(nil); !bytes.Equal(b, want.AppendTo(nil)) || got.GetVersion() != 7 || got.Key() != 4 || !got.IsFlexible() {
		t.Errorf("LeaderAndIsr:\n%x\n%x", b, want.AppendTo(nil))
	}
	um := &machine.UpdateMetadata{Broker: 1, BrokerEpoch: 7, Live: brokers, Partitions: []machine.MetadataPartition{
		{Topic: "a", TopicID: kafka.UUID{1}, Partition: 0, State: st, Replicas: reps, Offline: reps[:1]},
		{Topic: "b", TopicID: kafka.UUID{2}, Partition: 5, State: gone, Replicas: reps},
	}}
	wantUM := kmsg.NewPtrUpdateMetadataRequest()
	wantUM.Version, wantUM.ControllerID, wantUM.ControllerEpoch, wantUM.BrokerEpoch = 8, 3, 9, 7
	wantUM.TopicStates = []kmsg.UpdateMetadataRequestTopicState{
		{Topic: "a", TopicID: kafka.UUID{1}, PartitionStates: []kmsg.UpdateMetadataRequestTopicPartition{{ControllerEpoch: 8, Leader: 1, LeaderEpoch: 4, ISR: []int32{1, 2}, ZKVersion: 6, Replicas: ids32(reps), OfflineReplicas: []int32{1}}}},
		{Topic: "b", TopicID: kafka.UUID{2}, PartitionStates: []kmsg.UpdateMetadataRequestTopicPartition{{Partition: 5, Leader: -2, LeaderEpoch: -2, Replicas: ids32(reps)}}},
	}
	wantUM.LiveBrokers = []kmsg.UpdateMetadataRequestLiveBroker{
		{ID: 1, Rack: kmsg.StringPtr("r"), Endpoints: []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{{Port: 9092, Host: "h1", ListenerName: "PLAINTEXT"}, {Port: 9093, Host: "h1", ListenerName: "SEC", SecurityProtocol: 3}}},
		{ID: 2, Endpoints: []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{{Port: 65535, Host: "h2", ListenerName: "PLAINTEXT"}}},
	}
	gotUM := c.requestMetadata(um, &metadataBody{of: um}).build()
	if b := gotUM.AppendTo(nil); !bytes.Equal(b, wantUM.AppendTo(nil)) {
		t.Errorf("UpdateMetadata:\n%x\n%x", b, wantUM.AppendTo(nil))
	}
	empty := &machine.UpdateMetadata{Broker: 1, BrokerEpoch: 7, Live: brokers}
	wantUM.TopicStates = nil
	if b := c.requestMetadata(empty, &metadataBody{of: empty}).build().AppendTo(nil); !bytes.Equal(b, wantUM.AppendTo(nil)) {
		t.Errorf("empty UpdateMetadata: %x", b)
	}
}

// The bodies of every version are those of Kafka 3.9.2's own classes for the
// same values.
func TestEncodersMatchKafka(t *testing.T) {
	st := machine.LeaderISR{Leader: 1, LeaderEpoch: 4, ControllerEpoch: 8, Version: 6, Recovery: kafka.Recovering, ISR: []kafka.BrokerID{1, 2}}
	gone := machine.LeaderISR{Leader: -2, LeaderEpoch: -2}
	reps := []kafka.BrokerID{1, 2, 200000}
	brokers := sampleBrokers()
	lisr := &machine.LeaderAndISR{Broker: 2, BrokerEpoch: 8, Leaders: brokers[:1], Partitions: []machine.LeaderAndISRPartition{
		{Topic: "a", TopicID: kafka.UUID{1}, Partition: 0, State: st, Assignment: machine.Assignment{Replicas: reps, Adding: reps[:1], Removing: reps[1:]}, IsNew: true},
		{Topic: "a", TopicID: kafka.UUID{1}, Partition: 300, State: st, Assignment: machine.Assignment{Replicas: reps}},
		{Topic: "b", TopicID: kafka.UUID{2}, Partition: 1, State: st, Assignment: machine.Assignment{Replicas: reps}},
	}}
	um := &machine.UpdateMetadata{Broker: 1, BrokerEpoch: 7, Live: brokers, Partitions: []machine.MetadataPartition{
		{Topic: "a", TopicID: kafka.UUID{1}, Partition: 0, State: st, Replicas: reps, Offline: reps[:1]},
		{Topic: "b", TopicID: kafka.UUID{2}, Partition: 5, State: gone, Replicas: reps},
	}}
	stop := &machine.StopReplica{Broker: 2, BrokerEpoch: 8, Partitions: []machine.StopReplicaPartition{
		{Topic: "a", Partition: 0, LeaderEpoch: 4}, {Topic: "a", Partition: 300, LeaderEpoch: -2}, {Topic: "b", Partition: 1, LeaderEpoch: 5, Delete: true},
	}}
	golden := kafkaRequests(t)
	seen := map[string]bool{}
	check := func(name string, r request) {
		t.Helper()
		req := r.build()
		name = fmt.Sprintf("%s %d", name, req.GetVersion())
		seen[name] = true
		if got := hex.EncodeToString(req.AppendTo(nil)); got != golden[name] {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, golden[name])
		}
	}
	for _, level := range []string{"0.8.2", "0.9.0", "0.10.0", "0.10.2", "1.0", "2.2", "2.4-IV0", "2.4", "2.6", "2.8", "3.2", "3.4", "3.9"} {
		v, err := ibp.Parse(level)
		if err != nil {
			t.Fatal(err)
		}
		c := &Controller{cfg: Config{ID: 3, Listener: "PLAINTEXT", Protocol: v}, epoch: 9}
		check("LeaderAndIsr", c.requestLeaderAndISR(lisr))
		check("UpdateMetadata", c.requestMetadata(um, &metadataBody{of: um}))
		rs := c.requestsStopReplica(stop)
		if len(rs) == 1 {
			check("StopReplica", rs[0])
			continue
		}
		check("StopReplicaKeep", rs[0])
		check("StopReplicaDelete", rs[1])
	}
	for name := range golden {
		if !seen[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

func kafkaRequests(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/kafka_3.9.2_requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		out[f[0]+" "+f[1]] = f[2]
	}
	return out
}

func TestSharedMetadataBody(t *testing.T) {
	ps := make([]machine.MetadataPartition, 2)
	live := sampleBrokers()
	a := &machine.UpdateMetadata{Partitions: ps, Live: live}
	m := &metadataBody{of: a}
	if !m.same(&machine.UpdateMetadata{Broker: 9, Partitions: ps, Live: live}) {
		t.Error("the same batch is not shared")
	}
	for _, o := range []*machine.UpdateMetadata{
		{Partitions: ps[:1], Live: live},
		{Partitions: ps[1:], Live: live},
		{Live: live},
		{Partitions: ps, Live: live[:1]},
		{Partitions: make([]machine.MetadataPartition, 2), Live: live},
	} {
		if m.same(o) {
			t.Errorf("%d partitions and %d brokers are shared with another batch", len(o.Partitions), len(o.Live))
		}
	}
	var none *metadataBody
	if none.same(a) {
		t.Error("nothing is shared")
	}
}

func BenchmarkEncodeMetadata(b *testing.B) {
	um := &machine.UpdateMetadata{Live: sampleBrokers()}
	for i := range 10_000 {
		um.Partitions = append(um.Partitions, machine.MetadataPartition{
			Topic: "topic", Partition: int32(i), State: machine.LeaderISR{ISR: []kafka.BrokerID{1, 2, 3}}, Replicas: []kafka.BrokerID{1, 2, 3},
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		encodeMetadata(um)
	}
}
