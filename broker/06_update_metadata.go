package broker

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/metadata"
	"kbench/kafka/wire"
)

// leaderDuringDelete is the leader of a partition whose topic is being
// deleted: it goes from the metadata.
const leaderDuringDelete = -2

// handleUpdateMetadata merges the partitions that the controller sends into
// the metadata, and replaces the live brokers by those it names.
func (p *zkPlane) handleUpdateMetadata(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	if err := p.awaitRegistration(ctx); err != nil {
		return nil, err
	}
	req := r.Body.(*kmsg.UpdateMetadataRequest)
	resp := req.ResponseKind().(*kmsg.UpdateMetadataResponse)
	p.mu.Lock()
	defer p.mu.Unlock()
	if code := p.fence(req.ControllerID, req.ControllerEpoch, req.BrokerEpoch); code != kafka.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	if epoch := kafka.ControllerEpoch(req.ControllerEpoch); epoch > p.tracedEpoch {
		p.tracedEpoch = epoch
		p.b.cfg.Trace.Emit(trace.Event{Kind: trace.BrokerControllerEpoch, Epoch: int64(epoch), Broker: int32(p.b.cfg.ID), Detail: "by listener " + r.Listener})
	}
	base := p.b.Image()
	d := metadata.NewDelta(base)
	removed, err := mergeMetadata(d, req)
	if err != nil {
		p.b.log.Error("UpdateMetadata refused", "controller", req.ControllerID, "reason", err)
		resp.ErrorCode = int16(kafka.InvalidRequest)
		return resp, nil
	}
	p.b.publish(d.Apply(base.Offset()+1, req.ControllerEpoch))
	p.b.controllerMoved()
	live := liveBrokers(d)
	if n := d.NumChangedPartitions() + removed; n > 0 {
		p.b.cfg.Trace.Emit(trace.Event{Kind: trace.BrokerApplied, Epoch: int64(req.ControllerEpoch), Broker: int32(p.b.cfg.ID), N: int64(n)})
	}
	if len(live) > 0 {
		p.b.replicas.BrokersChanged(live)
	}
	return resp, nil
}

// mergeMetadata puts a request into d and gives the number of partitions that
// went with their topics.
func mergeMetadata(d *metadata.Delta, req *kmsg.UpdateMetadataRequest) (removed int, err error) {
	live := mergeBrokers(d, req.LiveBrokers)
	topics := req.TopicStates
	if len(req.PartitionStates) > 0 {
		topics = groupByTopic(req.PartitionStates)
	}
	for i := range topics {
		t := &topics[i]
		n, err := mergeTopic(d, t, live)
		if err != nil {
			return removed, fmt.Errorf("topic %s: %w", t.Topic, err)
		}
		removed += n
	}
	return removed, nil
}

// groupByTopic gives the partitions of versions 0 to 4 as later ones have them.
func groupByTopic(states []kmsg.UpdateMetadataRequestTopicPartition) []kmsg.UpdateMetadataRequestTopicState {
	var topics []kmsg.UpdateMetadataRequestTopicState
	at := map[string]int{}
	for _, s := range states {
		i, ok := at[s.Topic]
		if !ok {
			i = len(topics)
			at[s.Topic] = i
			topics = append(topics, kmsg.UpdateMetadataRequestTopicState{Topic: s.Topic})
		}
		topics[i].PartitionStates = append(topics[i].PartitionStates, s)
	}
	return topics
}

// mergeTopic puts the partitions of one topic. The controller deletes topics
// as a whole, so one partition in deletion removes all.
func mergeTopic(d *metadata.Delta, t *kmsg.UpdateMetadataRequestTopicState, live map[kafka.BrokerID]bool) (removed int, err error) {
	known, ok := d.Image().Topic(t.Topic)
	id := kafka.UUID(t.TopicID)
	if ok && (leaving(t) || !id.IsZero() && known.ID() != id && !known.ID().IsZero()) {
		removed = known.Len()
		d.RemoveTopic(t.Topic)
		ok = false
	}
	if leaving(t) {
		return removed, nil
	}
	if !ok {
		if err := d.PutTopic(t.Topic, id); err != nil {
			return removed, err
		}
	}
	for j := range t.PartitionStates {
		s := &t.PartitionStates[j]
		if err := d.SetPartition(t.Topic, s.Partition, stateOfUpdate(s, live)); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// lostDirectories marks the replicas that are offline on a broker that lives; nil
// where there are none.
func lostDirectories(replicas []kafka.BrokerID, offline []int32, live map[kafka.BrokerID]bool) []kafka.UUID {
	var dirs []kafka.UUID
	for _, off := range offline {
		id := kafka.BrokerID(off)
		i := slices.Index(replicas, id)
		if i < 0 || !live[id] {
			continue
		}
		if dirs == nil {
			dirs = slices.Repeat([]kafka.UUID{metadata.UnassignedDirectory}, len(replicas))
		}
		dirs[i] = metadata.LostDirectory
	}
	return dirs
}

func leaving(t *kmsg.UpdateMetadataRequestTopicState) bool {
	for i := range t.PartitionStates {
		if t.PartitionStates[i].Leader == leaderDuringDelete {
			return true
		}
	}
	return false
}

// stateOfUpdate gives a partition's state. A replica that the controller calls
// offline on a broker that lives is in a directory that failed, or its broker is
// shutting down.
func stateOfUpdate(s *kmsg.UpdateMetadataRequestTopicPartition, live map[kafka.BrokerID]bool) metadata.Partition {
	ids := make([]kafka.BrokerID, 0, len(s.Replicas)+len(s.ISR))
	for _, id := range s.Replicas {
		ids = append(ids, kafka.BrokerID(id))
	}
	for _, id := range s.ISR {
		ids = append(ids, kafka.BrokerID(id))
	}
	n := len(s.Replicas)
	return metadata.Partition{
		Replicas: ids[:n:n], ISR: ids[n:], Leader: kafka.BrokerID(s.Leader), Directories: lostDirectories(ids[:n], s.OfflineReplicas, live),
		LeaderEpoch: kafka.LeaderEpoch(s.LeaderEpoch), PartitionEpoch: kafka.PartitionEpoch(s.ZKVersion),
	}
}

// mergeBrokers makes live the only brokers, and gives their ids.
func mergeBrokers(d *metadata.Delta, live []kmsg.UpdateMetadataRequestLiveBroker) (named map[kafka.BrokerID]bool) {
	named = make(map[kafka.BrokerID]bool, len(live))
	for i := range live {
		b := brokerOfUpdate(&live[i])
		named[b.ID] = true
		if old, ok := d.Image().Broker(b.ID); !ok || !old.Equal(&b) {
			d.PutBroker(b)
		}
	}
	var gone []kafka.BrokerID
	for b := range d.Image().Brokers() {
		if !named[b.ID] {
			gone = append(gone, b.ID)
		}
	}
	for _, id := range gone {
		d.RemoveBroker(id)
	}
	return named
}

// brokerOfUpdate gives a live broker. The controller does not tell other
// brokers' epochs.
func brokerOfUpdate(l *kmsg.UpdateMetadataRequestLiveBroker) metadata.Broker {
	b := metadata.Broker{ID: kafka.BrokerID(l.ID), Epoch: kafka.NoBrokerEpoch}
	if l.Rack != nil {
		b.Rack = *l.Rack
	}
	if len(l.Endpoints) == 0 && l.Host != "" { // version 0
		b.Endpoints = []kafka.Endpoint{{Listener: securityProtocolNames[0], Host: l.Host, Port: uint16(l.Port)}}
		b.SecurityProtocols = []int16{0}
	}
	for _, e := range l.Endpoints {
		name := e.ListenerName
		if p := int(e.SecurityProtocol); name == "" && p >= 0 && p < len(securityProtocolNames) {
			name = securityProtocolNames[p] // before version 3
		}
		b.Endpoints = append(b.Endpoints, kafka.Endpoint{Listener: name, Host: e.Host, Port: uint16(e.Port)})
		b.SecurityProtocols = append(b.SecurityProtocols, e.SecurityProtocol)
	}
	return b
}

// securityProtocolNames are Kafka's, by number.
var securityProtocolNames = [...]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// liveBrokers gives the changed brokers that may join an ISR now.
func liveBrokers(d *metadata.Delta) []kafka.BrokerID {
	var live []kafka.BrokerID
	for id, b := range d.ChangedBrokers() {
		if b != nil && b.Active() {
			live = append(live, id)
		}
	}
	return live
}
