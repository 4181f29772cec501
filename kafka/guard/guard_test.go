package guard

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/wire"
)

var orders = [16]byte{7}

// rig is a handler behind a guard, and what reached it.
type rig struct {
	guard   Guard
	reached []kmsg.Request
	answer  func(kmsg.Request) kmsg.Response
}

func newRig(bindings ...access.Binding) *rig {
	auth := access.NewAuthorizer(access.Config{}, slices.Values(bindings))
	return &rig{guard: Guard{
		Authorizer: func() *access.Authorizer { return auth },
		TopicName:  func(id [16]byte) (string, bool) { return "orders", id == orders },
	}}
}

func (g *rig) ask(t *testing.T, req kmsg.Request) kmsg.Response {
	t.Helper()
	handle := g.guard.Handler(func(_ context.Context, r *wire.Request) (kmsg.Response, error) {
		g.reached = append(g.reached, r.Body)
		if g.answer != nil {
			return g.answer(r.Body), nil
		}
		return r.Body.ResponseKind(), nil
	})
	resp, err := handle(context.Background(), &wire.Request{
		Key: req.Key(), Version: req.GetVersion(), Principal: "User:ann", Body: req,
		Remote: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711},
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func allow(kind access.ResourceType, name string, op access.Operation) access.Binding {
	return access.Binding{
		ResourceType: kind, ResourceName: name, PatternType: access.Literal, Principal: "User:ann",
		Host: "10.0.0.7", Operation: op, Permission: access.Allow,
	}
}

// TestClusterRequests refuses each request of the table without its permission,
// with CLUSTER_AUTHORIZATION_FAILED where its response can say so, and lets it
// through with it.
func TestClusterRequests(t *testing.T) {
	for key, op := range clusterOperations {
		req := kmsg.RequestForKey(key)
		if req == nil {
			t.Errorf("key %d is unknown", key)
			continue
		}
		name := kmsg.NameForKey(key)
		refusing := newRig(allow(access.Topic, "*", access.All))
		resp := refusing.ask(t, req)
		if len(refusing.reached) != 0 {
			t.Errorf("%s reached its handler", name)
		}
		if c, ok := resp.(interface{ GetVersion() int16 }); !ok || resp.Key() != key || c.GetVersion() != 0 {
			t.Errorf("%s was answered with %T", name, resp)
		}
		letting := newRig(allow(access.Cluster, access.ClusterName, op))
		letting.ask(t, req)
		if len(letting.reached) != 1 {
			t.Errorf("%s did not reach its handler with %s", name, op)
		}
	}
	resp := newRig().ask(t, kmsg.NewPtrLeaderAndISRRequest()).(*kmsg.LeaderAndISRResponse)
	if kafka.ErrorCode(resp.ErrorCode) != kafka.ClusterAuthorizationFailed {
		t.Errorf("LeaderAndIsr: %d", resp.ErrorCode)
	}
	acls := kmsg.NewPtrCreateACLsRequest()
	acls.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
	created := newRig().ask(t, acls).(*kmsg.CreateACLsResponse)
	if len(created.Results) != 2 || kafka.ErrorCode(created.Results[1].ErrorCode) != kafka.ClusterAuthorizationFailed {
		t.Errorf("CreateAcls: %+v", created.Results)
	}
}

func TestCreateTopics(t *testing.T) {
	request := func() *kmsg.CreateTopicsRequest {
		req := kmsg.NewPtrCreateTopicsRequest()
		for _, name := range []string{"mine", "theirs"} {
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic = name
			req.Topics = append(req.Topics, topic)
		}
		return req
	}
	g := newRig(allow(access.Topic, "mine", access.Create))
	resp := g.ask(t, request()).(*kmsg.CreateTopicsResponse)
	if seen := g.reached[0].(*kmsg.CreateTopicsRequest).Topics; len(seen) != 1 || seen[0].Topic != "mine" {
		t.Errorf("the handler saw %v", seen)
	}
	if len(resp.Topics) != 1 || resp.Topics[0].Topic != "theirs" || resp.Topics[0].ErrorCode != refusedTopic {
		t.Errorf("answered %+v", resp.Topics)
	}
	g = newRig(allow(access.Cluster, access.ClusterName, access.Create))
	g.ask(t, request())
	if seen := g.reached[0].(*kmsg.CreateTopicsRequest).Topics; len(seen) != 2 {
		t.Errorf("with CREATE on the cluster the handler saw %v", seen)
	}
	g = newRig()
	if resp := g.ask(t, request()).(*kmsg.CreateTopicsResponse); len(g.reached) != 0 || len(resp.Topics) != 2 {
		t.Errorf("nothing is allowed: %+v, reached %d times", resp.Topics, len(g.reached))
	}
}

func TestMetadataShowsWhatIsAllowed(t *testing.T) {
	everything := func(body kmsg.Request) kmsg.Response {
		resp := body.ResponseKind().(*kmsg.MetadataResponse)
		for _, name := range []string{"orders", "secrets"} {
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic = &name
			resp.Topics = append(resp.Topics, topic)
		}
		return resp
	}
	g := newRig(allow(access.Topic, "orders", access.Read))
	g.answer = everything
	all := kmsg.NewPtrMetadataRequest()
	all.Version = 9
	if got := g.ask(t, all).(*kmsg.MetadataResponse).Topics; len(got) != 1 || *got[0].Topic != "orders" {
		t.Errorf("all topics: %+v", got)
	}
	named := kmsg.NewPtrMetadataRequest()
	named.Version = 9
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr("secrets")
	named.Topics = []kmsg.MetadataRequestTopic{topic}
	g.answer, g.reached = nil, nil
	got := g.ask(t, named).(*kmsg.MetadataResponse).Topics
	if len(got) != 1 || got[0].ErrorCode != refusedTopic {
		t.Errorf("a named topic: %+v", got)
	}
	if left := g.reached[0].(*kmsg.MetadataRequest).Topics; left == nil || len(left) != 0 {
		t.Errorf("the handler was asked for %v: null is everything", left)
	}
}

func TestDataRequests(t *testing.T) {
	produce := kmsg.NewPtrProduceRequest()
	produce.Acks = 1
	for _, name := range []string{"orders", "secrets"} {
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic = name
		topic.Partitions = make([]kmsg.ProduceRequestTopicPartition, 2)
		produce.Topics = append(produce.Topics, topic)
	}
	g := newRig(allow(access.Topic, "orders", access.Write))
	resp := g.ask(t, produce).(*kmsg.ProduceResponse)
	if len(resp.Topics) != 1 || resp.Topics[0].Topic != "secrets" || len(resp.Topics[0].Partitions) != 2 || resp.Topics[0].Partitions[0].ErrorCode != refusedTopic {
		t.Errorf("produce: %+v", resp.Topics)
	}
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 13
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID = orders
	topic.Partitions = make([]kmsg.FetchRequestTopicPartition, 1)
	fetch.Topics = []kmsg.FetchRequestTopic{topic}
	g = newRig(allow(access.Topic, "orders", access.Read))
	if g.ask(t, fetch); len(g.reached) != 1 {
		t.Error("a consumer that may read, by topic id, is refused")
	}
	fetch.ReplicaID = 3
	if resp := g.ask(t, fetch).(*kmsg.FetchResponse); len(g.reached) != 1 || resp.Topics[0].Partitions[0].ErrorCode != refusedTopic {
		t.Error("a replica fetches without CLUSTER_ACTION")
	}
	init := kmsg.NewPtrInitProducerIDRequest()
	if g.ask(t, init); len(g.reached) != 1 {
		t.Error("a reader gets a producer id")
	}
	g = newRig(allow(access.Topic, "orders", access.Write))
	if g.ask(t, init); len(g.reached) != 1 {
		t.Error("who may write to some topic gets no producer id")
	}
}

// TestControllerRequests asks more where a controller is guarded: a consumer's
// Fetch there would read the metadata log, by an id that no image knows.
func TestControllerRequests(t *testing.T) {
	for key, op := range controllerOperations {
		req := kmsg.RequestForKey(key)
		if fetch, ok := req.(*kmsg.FetchRequest); ok {
			topic := kmsg.NewFetchRequestTopic()
			topic.TopicID = kafka.MetadataTopicID
			topic.Partitions = make([]kmsg.FetchRequestTopicPartition, 1)
			fetch.Version, fetch.ReplicaID, fetch.Topics = 13, -1, append(fetch.Topics, topic)
		}
		name := kmsg.NameForKey(key)
		refusing := newRig(allow(access.Topic, "*", access.All))
		if refusing.ask(t, req); len(refusing.reached) != 1 {
			t.Errorf("%s does not reach a broker's handler", name)
		}
		refusing.guard.Controller = true
		if refusing.ask(t, req); len(refusing.reached) != 1 {
			t.Errorf("%s reached a controller's handler", name)
		}
		letting := newRig(allow(access.Cluster, access.ClusterName, op))
		letting.guard.Controller = true
		if letting.ask(t, req); len(letting.reached) != 1 {
			t.Errorf("%s with its permission is refused", name)
		}
	}
}

func TestConfigsByResource(t *testing.T) {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for kind, name := range map[kmsg.ConfigResourceType]string{kmsg.ConfigResourceTypeTopic: "orders", kmsg.ConfigResourceTypeBroker: "1"} {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		req.Resources = append(req.Resources, r)
	}
	g := newRig(allow(access.Topic, "orders", access.AlterConfigs))
	resp := g.ask(t, req).(*kmsg.IncrementalAlterConfigsResponse)
	if len(resp.Resources) != 1 || resp.Resources[0].ResourceName != "1" || resp.Resources[0].ErrorCode != refusedCluster {
		t.Errorf("got %+v", resp.Resources)
	}
}

func TestWithoutAuthorizer(t *testing.T) {
	g := newRig()
	g.guard.Authorizer = func() *access.Authorizer { return nil }
	if g.ask(t, kmsg.NewPtrLeaderAndISRRequest()); len(g.reached) != 1 {
		t.Error("a node without an authorizer refuses")
	}
	create := kmsg.NewPtrCreateACLsRequest()
	create.Creations = make([]kmsg.CreateACLsRequestCreation, 1)
	remove := kmsg.NewPtrDeleteACLsRequest()
	remove.Filters = make([]kmsg.DeleteACLsRequestFilter, 1)
	for _, code := range []int16{
		g.ask(t, kmsg.NewPtrDescribeACLsRequest()).(*kmsg.DescribeACLsResponse).ErrorCode,
		g.ask(t, create).(*kmsg.CreateACLsResponse).Results[0].ErrorCode,
		g.ask(t, remove).(*kmsg.DeleteACLsResponse).Results[0].ErrorCode,
	} {
		if kafka.ErrorCode(code) != kafka.SecurityDisabled || len(g.reached) != 1 {
			t.Errorf("ACLs that nobody obeys: %v, and %d requests got through", kafka.ErrorCode(code), len(g.reached)-1)
		}
	}
	apis := g.guard.Wrap([]wire.API{{Key: 3, MaxVersion: 9, Handle: func(context.Context, *wire.Request) (kmsg.Response, error) { return nil, nil }}})
	if len(apis) != 1 || apis[0].Key != 3 || apis[0].MaxVersion != 9 || apis[0].Handle == nil {
		t.Errorf("wrapped %+v", apis)
	}
}
