package raftclient

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// maxLearned bounds the addresses that answers told of: leaders that are no
// voters any more, and a node that is to be one.
const maxLearned = 64

// firstBootstrap is the id of the first bootstrap server, whose node id is not
// known; the next have the ids below it, as Kafka numbers them.
const firstBootstrap kafka.BrokerID = -2

// addresses says where the nodes of the quorum listen: as the voter set has it,
// as messages told, and as the configuration names bootstrap servers. Safe for
// concurrent use.
type addresses struct {
	listener  string
	bootstrap []string // host:port, of firstBootstrap and below

	mu      sync.Mutex
	voters  []raft.Voter
	learned map[kafka.BrokerID]kafka.Endpoint
}

func newAddresses(listener string, bootstrap []string) *addresses {
	return &addresses{listener: listener, bootstrap: bootstrap, learned: map[kafka.BrokerID]kafka.Endpoint{}}
}

// use makes voters the voter set, which knows its members better than what
// was learned before.
func (a *addresses) use(voters []raft.Voter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.EqualFunc(a.voters, voters, func(x, y raft.Voter) bool {
		return x.ReplicaKey == y.ReplicaKey && slices.Equal(x.Endpoints, y.Endpoints)
	}) {
		return
	}
	a.voters = voters
	for _, v := range voters {
		delete(a.learned, v.ID)
	}
}

// learn notes where a node said that it listens.
func (a *addresses) learn(id kafka.BrokerID, host string, port int32) {
	if id < 0 || host == "" || port < 1 || port > 65535 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.learned) >= maxLearned {
		clear(a.learned)
	}
	a.learned[id] = kafka.Endpoint{Listener: a.listener, Host: host, Port: uint16(port)}
}

// of gives the endpoint of a node, false where it is not known.
func (a *addresses) of(id kafka.BrokerID) (kafka.Endpoint, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.learned[id]; ok {
		return e, true
	}
	for _, v := range a.voters {
		if v.ID == id {
			return endpointOf(v.Endpoints, a.listener)
		}
	}
	return kafka.Endpoint{}, false
}

func endpointOf(endpoints []kafka.Endpoint, listener string) (kafka.Endpoint, bool) {
	for _, e := range endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return kafka.Endpoint{}, false
}

// dial gives host:port of a node or bootstrap server.
func (a *addresses) dial(id kafka.BrokerID) (string, error) {
	if i := int(firstBootstrap - id); i >= 0 && i < len(a.bootstrap) {
		return a.bootstrap[i], nil
	}
	e, ok := a.of(id)
	if !ok {
		return "", fmt.Errorf("node %d: %w", id, errUnknownNode)
	}
	return e.Addr(), nil
}

var errUnknownNode = errors.New("nobody has told where it listens")

// bootstrapIDs are the ids of the bootstrap servers.
func (a *addresses) bootstrapIDs() []kafka.BrokerID {
	ids := make([]kafka.BrokerID, len(a.bootstrap))
	for i := range ids {
		ids[i] = firstBootstrap - kafka.BrokerID(i)
	}
	return ids
}

// learnFrom notes the endpoints of the leader that an answer names.
func (a *addresses) learnFrom(resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.FetchResponse:
		for _, n := range r.Brokers {
			a.learn(kafka.BrokerID(n.NodeID), n.Host, n.Port)
		}
	case *kmsg.VoteResponse:
		for _, n := range r.NodeEndpoints {
			a.learn(kafka.BrokerID(n.NodeID), n.Host, int32(n.Port))
		}
	case *kmsg.BeginQuorumEpochResponse:
		for _, n := range r.NodeEndpoints {
			a.learn(kafka.BrokerID(n.NodeID), n.Host, int32(n.Port))
		}
	case *kmsg.EndQuorumEpochResponse:
		for _, n := range r.NodeEndpoints {
			a.learn(kafka.BrokerID(n.NodeID), n.Host, int32(n.Port))
		}
	case *kmsg.FetchSnapshotResponse:
		for _, n := range r.NodeEndpoints {
			a.learn(kafka.BrokerID(n.NodeID), n.Host, int32(n.Port))
		}
	case *kmsg.UpdateRaftVoterResponse:
		a.learn(kafka.BrokerID(r.CurrentLeader.LeaderID), r.CurrentLeader.Host, r.CurrentLeader.Port)
	}
}
