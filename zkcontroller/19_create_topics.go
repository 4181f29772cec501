package zkcontroller

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/wire"
	"kbench/zkcontroller/machine"
)

func (c *Controller) handleCreateTopics(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
	req := r.Body.(*kmsg.CreateTopicsRequest)
	in := machine.AdminCreateTopics{ValidateOnly: req.ValidateOnly}
	names := make([]string, len(req.Topics))
	bad := make([]string, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		names[i] = t.Topic
		n := machine.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, Replication: t.ReplicationFactor}
		n.Assignment, bad[i] = assignmentIn(t)
		n.Config = configIn(t)
		if bad[i] == "" {
			in.Topics = append(in.Topics, n)
		}
	}
	good := make([]string, len(in.Topics))
	for i := range in.Topics {
		good[i] = in.Topics[i].Name
	}
	reply := topicsReply(c.call(ctx, millis(req.TimeoutMillis), func(id machine.CallID) machine.Input {
		in.Call = id
		return in
	}), good)
	resp := kmsg.NewPtrCreateTopicsResponse()
	next := 0
	for i, name := range names {
		t := kmsg.NewCreateTopicsResponseTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
		if bad[i] != "" {
			t.ErrorCode, t.ErrorMessage = int16(kafka.InvalidReplicaAssignment), text(bad[i])
		} else {
			res := &reply.Topics[next]
			next++
			t.ErrorCode, t.ErrorMessage = int16(res.Code), text(res.Text)
			if res.Code == kafka.None {
				t.TopicID, t.NumPartitions, t.ReplicationFactor = res.ID, res.Partitions, res.Replication
				t.Configs = configOut(&req.Topics[i])
			}
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp, nil
}

func assignmentIn(t *kmsg.CreateTopicsRequestTopic) (map[int32][]kafka.BrokerID, string) {
	if len(t.ReplicaAssignment) == 0 {
		return nil, ""
	}
	out := make(map[int32][]kafka.BrokerID, len(t.ReplicaAssignment))
	for _, a := range t.ReplicaAssignment {
		if _, twice := out[a.Partition]; twice {
			return nil, "A partition is assigned twice."
		}
		out[a.Partition] = brokerIDs(a.Replicas)
	}
	return out, ""
}

func configIn(t *kmsg.CreateTopicsRequestTopic) map[string]string {
	if len(t.Configs) == 0 {
		return nil
	}
	out := make(map[string]string, len(t.Configs))
	for _, kv := range t.Configs {
		if kv.Value != nil {
			out[kv.Name] = *kv.Value
		}
	}
	return out
}

// configOut tells the configuration that was given; defaults are the brokers'.
func configOut(t *kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopicConfig {
	out := []kmsg.CreateTopicsResponseTopicConfig{}
	for _, kv := range t.Configs {
		if kv.Value == nil {
			continue
		}
		k := kmsg.NewCreateTopicsResponseTopicConfig()
		k.Name, k.Value, k.Source = kv.Name, kv.Value, int8(kmsg.ConfigSourceDynamicTopicConfig)
		out = append(out, k)
	}
	return out
}
