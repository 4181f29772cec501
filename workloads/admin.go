package workloads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ask"
	"kbench/kafka/wire"
)

// maxIdlePeers bounds the connections kept for reuse to one node.
const maxIdlePeers = 64

// admin sends admin requests where the cluster's mode wants them. A node
// answers the requests of one connection one at a time, so each request in
// flight has a connection of its own, taken from a pool.
type admin struct {
	cluster Cluster
	as      *wire.Identity // nil: plain

	mu         sync.Mutex
	idle       map[string][]*peer // by address
	controller string             // zk: address, "" when not known
	next       int                // kraft: the next broker in turn
	closed     bool
}

func newAdmin(c Cluster) *admin {
	return &admin{cluster: c, as: identityOf(c.Brokers()), idle: map[string][]*peer{}}
}

// identityOf is how clients show themselves at nodes of one cluster.
func identityOf(nodes []Node) *wire.Identity {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0].As
}

// take gives a connection to addr that nobody else uses.
func (a *admin) take(addr string) *peer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.idle[addr]); n > 0 {
		p := a.idle[addr][n-1]
		a.idle[addr] = a.idle[addr][:n-1]
		return p
	}
	return newPeer(Node{Addr: addr, As: a.as})
}

// give returns a connection; one with a request still in flight is closed.
func (a *admin) give(p *peer, clean bool) {
	a.mu.Lock()
	keep := clean && !a.closed && len(a.idle[p.addr]) < maxIdlePeers
	if keep {
		a.idle[p.addr] = append(a.idle[p.addr], p)
	}
	a.mu.Unlock()
	if !keep {
		p.close()
	}
}

func (a *admin) close() {
	a.mu.Lock()
	a.closed = true
	idle := a.idle
	a.idle = map[string][]*peer{}
	a.mu.Unlock()
	for _, peers := range idle {
		for _, p := range peers {
			p.close()
		}
	}
}

// send sends req to addr on a connection of its own.
func (a *admin) send(ctx context.Context, addr string, kind api, req kmsg.Request) (kmsg.Response, error) {
	p := a.take(addr)
	resp, err := p.request(ctx, kind, req)
	a.give(p, err == nil)
	return resp, err
}

// target gives the address that admin requests go to now: zk, the controller,
// asked of the brokers when it is not known; kraft, each live broker in turn.
func (a *admin) target(ctx context.Context) (string, error) {
	if a.cluster.Mode() == nodeconfig.ModeKRaft {
		live := liveBrokers(a.cluster)
		if len(live) == 0 {
			return "", errors.New("no live broker")
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.next++
		return live[a.next%len(live)].Addr, nil
	}
	a.mu.Lock()
	addr := a.controller
	a.mu.Unlock()
	if addr != "" {
		return addr, nil
	}
	addr, err := a.askController(ctx)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	a.controller = addr
	a.mu.Unlock()
	return addr, nil
}

// forget makes the next target ask for the controller again.
func (a *admin) forget() {
	a.mu.Lock()
	a.controller = ""
	a.mu.Unlock()
}

// askController asks live brokers in turn for the controller's address.
func (a *admin) askController(ctx context.Context) (string, error) {
	var errs []error
	for _, b := range liveBrokers(a.cluster) {
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		resp, err := a.send(one, b.Addr, apiMetadata, ask.Topics(nil))
		cancel()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m := resp.(*kmsg.MetadataResponse)
		if addr, ok := controllerAddr(m); ok {
			return addr, nil
		}
		errs = append(errs, fmt.Errorf("broker %d names no live controller (%d)", b.ID, m.ControllerID))
	}
	return "", fmt.Errorf("find the controller: %w", errors.Join(errs...))
}

// controllerAddr finds the controller in a metadata response.
func controllerAddr(m *kmsg.MetadataResponse) (string, bool) {
	for i := range m.Brokers {
		if b := &m.Brokers[i]; b.NodeID == m.ControllerID {
			return kafka.Endpoint{Host: b.Host, Port: uint16(b.Port)}.Addr(), true
		}
	}
	return "", false
}

func liveBrokers(c Cluster) []Node {
	var live []Node
	for _, b := range c.Brokers() {
		if b.Live {
			live = append(live, b)
		}
	}
	return live
}

// newTopic is a topic to be created.
type newTopic struct {
	name        string
	partitions  int32
	replication int16
}

// topicResult is how the creation of one topic ended.
type topicResult struct {
	code    kafka.ErrorCode
	message string
	id      kafka.UUID
}

func (a *admin) createRequest(topics []newTopic, timeout time.Duration) (*kmsg.CreateTopicsRequest, error) {
	req := createRequestOf(timeout)
	for _, t := range topics {
		replicas, err := place(a.cluster, t)
		if err != nil {
			return nil, err
		}
		req.Topics = append(req.Topics, placedTopic(t, replicas))
	}
	return req, nil
}

func createRequestOf(timeout time.Duration) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(timeout.Milliseconds())
	return req
}

func placedTopic(t newTopic, replicas [][]kafka.BrokerID) kmsg.CreateTopicsRequestTopic {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, -1, -1 // as the assignment says
	for i, r := range replicas {
		ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		ra.Partition, ra.Replicas = int32(i), rawIDs(r)
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, ra)
	}
	return rt
}

func rawIDs(ids []kafka.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// createTopicsAt is createAt for topics that are placed as their names say.
func (a *admin) createTopicsAt(ctx context.Context, addr string, topics []newTopic, timeout time.Duration) (map[string]topicResult, int64, error) {
	req, err := a.createRequest(topics, timeout)
	if err != nil {
		return nil, 0, err
	}
	return a.createAt(ctx, addr, topics, req)
}

// createAt asks the node at addr once to create topics and gives the results
// by name.
func (a *admin) createAt(ctx context.Context, addr string, topics []newTopic, req *kmsg.CreateTopicsRequest) (map[string]topicResult, int64, error) {
	resp, err := a.send(ctx, addr, apiCreateTopics, req)
	ackedNs := trace.Now()
	if err != nil {
		return nil, ackedNs, err
	}
	results := make(map[string]topicResult, len(topics))
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		r := topicResult{code: kafka.ErrorCode(t.ErrorCode), id: t.TopicID}
		if t.ErrorMessage != nil {
			r.message = *t.ErrorMessage
		}
		results[t.Topic] = r
	}
	for _, t := range topics {
		if _, ok := results[t.name]; !ok {
			return nil, ackedNs, fmt.Errorf("CreateTopics at %s: no result for topic %s", addr, t.name)
		}
	}
	return results, ackedNs, nil
}
