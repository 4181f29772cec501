package raftclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"kbench/kafka"
	"kbench/kraftcontroller/raft"
)

// strangers are the nodes that refuse this one for its cluster id. Which of the two
// has the wrong one is a matter of the majority: a single node of another cluster
// must not stop a quorum, and it must not be stopped by a node that is at fault.
// Safe for concurrent use.
type strangers struct {
	mu   sync.Mutex
	at   map[string]bool // by address
	home bool            // a node took this one for its own cluster's
}

// taken notes that a node took this one for its own cluster's.
func (s *strangers) taken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home = true
}

// refused notes that the node at addr refuses this one, and tells whether that is
// new. It gives who does where it is for good: a majority of that many voters, and
// nobody has taken this node for its own cluster's.
func (s *strangers) refused(addr string, voters int) (first bool, forGood []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.at[addr]
	if s.at == nil {
		s.at = map[string]bool{}
	}
	s.at[addr] = true
	if s.home || len(s.at) <= voters/2 {
		return first, nil
	}
	return first, slices.Sorted(maps.Keys(s.at))
}

// heardCluster looks at an answer for what it says of this node's cluster id, and
// stops the client where the quorum is another cluster's.
func (c *Client) heardCluster(id kafka.BrokerID, addr string, msg raft.Message) {
	switch code, ok := clusterCode(msg); {
	case !ok:
		return
	case code != kafka.InconsistentClusterID:
		c.strangers.taken()
		return
	}
	voters := len(c.Quorum().Voters)
	if voters == 0 {
		voters = len(c.cfg.Bootstrap)
	}
	first, forGood := c.strangers.refused(addr, voters)
	if first {
		c.cfg.Logger.Warn("a node of the quorum refuses this one as another cluster's: give both the same cluster id, or name the nodes of this one's own cluster",
			"voter", id, "address", addr, "clusterId", c.cfg.ClusterID)
	}
	if forGood != nil {
		c.fail(fmt.Errorf("the quorum at %s is of another cluster than this node, whose cluster id is %q: set the node's cluster id to that of the quorum, or name the controllers of its own: %w",
			strings.Join(forGood, ", "), c.cfg.ClusterID, kafka.InconsistentClusterID))
	}
}

// clusterCode is what an answer to a request with a cluster id says of it.
func clusterCode(msg raft.Message) (kafka.ErrorCode, bool) {
	switch m := msg.(type) {
	case raft.FetchResponse:
		return m.Error, true
	case raft.FetchSnapshotResponse:
		return m.Error, true
	case raft.VoteResponse:
		return m.Error, true
	case raft.BeginQuorumEpochResponse:
		return m.Error, true
	case raft.EndQuorumEpochResponse:
		return m.Error, true
	}
	return kafka.None, false
}
