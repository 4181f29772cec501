package guard

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/refusal"
	"kbench/kafka/wire"
)

// ruleOf finds the rule of a request; nil where everybody may ask.
func (g Guard) ruleOf(r *wire.Request) rule {
	if op, ok := g.clusterOperation(r.Key); ok {
		return whole(op)
	}
	switch req := r.Body.(type) {
	case *kmsg.MetadataRequest:
		return typed(req, showMetadata)
	case *kmsg.ProduceRequest:
		return typed(req, produce)
	case *kmsg.FetchRequest:
		return typed(req, fetch)
	case *kmsg.ListOffsetsRequest:
		return typed(req, listOffsets)
	case *kmsg.OffsetForLeaderEpochRequest:
		return typed(req, offsetForLeaderEpoch)
	case *kmsg.InitProducerIDRequest:
		return typed(req, initProducerID)
	case *kmsg.FindCoordinatorRequest:
		return typed(req, findCoordinator)
	case *kmsg.CreateTopicsRequest:
		return typed(req, createTopics)
	case *kmsg.DeleteTopicsRequest:
		return typed(req, deleteTopics)
	case *kmsg.CreatePartitionsRequest:
		return typed(req, createPartitions)
	case *kmsg.DescribeConfigsRequest:
		return typed(req, describeConfigs)
	case *kmsg.AlterConfigsRequest:
		return typed(req, alterConfigs)
	case *kmsg.IncrementalAlterConfigsRequest:
		return typed(req, incrementalAlterConfigs)
	case *kmsg.CreateDelegationTokenRequest:
		return typed(req, createToken)
	case *kmsg.DescribeDelegationTokenRequest:
		return typed(req, describeTokens)
	}
	return nil
}

type call func() (kmsg.Response, error)

// typed gives a rule the request that it is about.
func typed[R kmsg.Request](req R, check func(client, R, call) (kmsg.Response, error)) rule {
	return func(c client, _ *wire.Request, next func() (kmsg.Response, error)) (kmsg.Response, error) {
		return check(c, req, next)
	}
}

// rest calls the handler with what is left of a request. Where nothing is left
// the handler is not asked: to many requests an empty list means everything.
func rest(req kmsg.Request, left int, next call) (kmsg.Response, error) {
	if left == 0 {
		return req.ResponseKind(), nil
	}
	return next()
}

// createTopics needs CREATE on the cluster or on each topic, and DESCRIBE_CONFIGS
// on each topic to be told of its configuration (KIP-525).
func createTopics(c client, req *kmsg.CreateTopicsRequest, handled call) (kmsg.Response, error) {
	next := func() (kmsg.Response, error) {
		kresp, err := handled()
		if resp, ok := kresp.(*kmsg.CreateTopicsResponse); ok && err == nil {
			c.hideConfigs(resp)
		}
		return kresp, err
	}
	if c.mayCluster(access.Create) {
		return next()
	}
	return partly(req, &req.Topics, func(t *kmsg.CreateTopicsRequestTopic) bool {
		return c.mayTopic(access.Create, t.Topic, [16]byte{})
	}, next, func(resp *kmsg.CreateTopicsResponse, t kmsg.CreateTopicsRequestTopic) {
		item := kmsg.NewCreateTopicsResponseTopic()
		item.Topic, item.ErrorCode, item.ErrorMessage = t.Topic, refusedTopic, kmsg.StringPtr("Authorization failed.")
		resp.Topics = append(resp.Topics, item)
	})
}

// hideConfigs takes the configuration of topics out of an answer whose client may
// not DESCRIBE_CONFIGS of them.
func (c client) hideConfigs(resp *kmsg.CreateTopicsResponse) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.ErrorCode == 0 && !c.mayTopic(access.DescribeConfigs, t.Topic, [16]byte{}) {
			t.ConfigErrorCode, t.NumPartitions, t.ReplicationFactor = refusedTopic, -1, -1
			t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		}
	}
}

// deleteTopics needs DELETE on each topic.
func deleteTopics(c client, req *kmsg.DeleteTopicsRequest, next call) (kmsg.Response, error) {
	names, deniedNames := split(req.TopicNames, func(n *string) bool { return c.mayTopic(access.Delete, *n, [16]byte{}) })
	topics, denied := split(req.Topics, func(t *kmsg.DeleteTopicsRequestTopic) bool {
		return c.mayTopic(access.Delete, deref(t.Topic), t.TopicID)
	})
	if len(deniedNames)+len(denied) == 0 {
		return next()
	}
	req.TopicNames, req.Topics = names, topics
	kresp, err := rest(req, len(names)+len(topics), next)
	resp, ok := kresp.(*kmsg.DeleteTopicsResponse)
	if !ok || err != nil {
		return kresp, err
	}
	for _, n := range deniedNames {
		denied = append(denied, kmsg.DeleteTopicsRequestTopic{Topic: &n})
	}
	for _, t := range denied {
		item := kmsg.NewDeleteTopicsResponseTopic()
		item.Topic, item.TopicID, item.ErrorCode = t.Topic, t.TopicID, refusedTopic
		resp.Topics = append(resp.Topics, item)
	}
	return resp, nil
}

// createPartitions needs ALTER on each topic.
func createPartitions(c client, req *kmsg.CreatePartitionsRequest, next call) (kmsg.Response, error) {
	return partly(req, &req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) bool {
		return c.mayTopic(access.Alter, t.Topic, [16]byte{})
	}, next, func(resp *kmsg.CreatePartitionsResponse, t kmsg.CreatePartitionsRequestTopic) {
		item := kmsg.NewCreatePartitionsResponseTopic()
		item.Topic, item.ErrorCode = t.Topic, refusedTopic
		resp.Topics = append(resp.Topics, item)
	})
}

// findCoordinator needs DESCRIBE on each group or transactional id.
func findCoordinator(c client, req *kmsg.FindCoordinatorRequest, next call) (kmsg.Response, error) {
	kind, code := access.Group, int16(kafka.GroupAuthorizationFailed)
	if req.CoordinatorType == 1 {
		kind, code = access.TransactionalID, int16(kafka.TransactionalIDAuthorizationFailed)
	}
	if req.Version < 4 {
		if c.may(access.Describe, kind, req.CoordinatorKey) {
			return next()
		}
		resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
		resp.ErrorCode, resp.NodeID = code, -1
		return resp, nil
	}
	return partly(req, &req.CoordinatorKeys, func(key *string) bool {
		return c.may(access.Describe, kind, *key)
	}, next, func(resp *kmsg.FindCoordinatorResponse, key string) {
		item := kmsg.NewFindCoordinatorResponseCoordinator()
		item.Key, item.NodeID, item.ErrorCode = key, -1, code
		resp.Coordinators = append(resp.Coordinators, item)
	})
}

// initProducerID needs WRITE on the transactional id, or IDEMPOTENT_WRITE on the
// cluster, or WRITE on any topic (KIP-679).
func initProducerID(c client, req *kmsg.InitProducerIDRequest, next call) (kmsg.Response, error) {
	var code kafka.ErrorCode
	switch {
	case req.TransactionalID != nil:
		if !c.may(access.Write, access.TransactionalID, *req.TransactionalID) {
			code = kafka.TransactionalIDAuthorizationFailed
		}
	case !c.mayCluster(access.IdempotentWrite) && !c.auth.AllowsAny(c.principal, c.host, access.Write, access.Topic):
		code = kafka.ClusterAuthorizationFailed
	}
	if code == kafka.None {
		return next()
	}
	return refusal.Of(req, code, ""), nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
