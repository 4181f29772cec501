package raftclient

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kbench/kafka"
)

// TestAnotherCluster: an observer and a voter with another cluster id than the rest
// of the quorum end and say so; the quorum goes on.
func TestAnotherCluster(t *testing.T) {
	strange := false
	q := newQuorum(t, 3, func(c *Config) {
		calm(c)
		if strange {
			c.ClusterID, c.Dir = "other", fmt.Sprintf("%s-%d", c.Dir, c.NodeID)
		}
	})
	q.put("before")
	lead, _ := q.leader()
	voter := kafka.BrokerID(1)
	if lead.cfg.NodeID == voter {
		voter = 2
	}
	q.nodes[voter].kill()
	strange = true
	for _, id := range []kafka.BrokerID{9, voter} {
		n := q.start(id)
		select {
		case err := <-n.done:
			n.done <- nil // for who stops the node
			if !errors.Is(err, kafka.InconsistentClusterID) || !strings.Contains(err.Error(), "the quorum at 127.0.0.1:") ||
				!strings.Contains(err.Error(), `whose cluster id is "other": set the node's cluster id to that of the quorum`) {
				t.Errorf("node %d ends of %v", id, err)
			}
		case <-time.After(patience):
			t.Fatalf("node %d runs on", id)
		}
		n.kill()
		delete(q.nodes, id)
	}
	q.put("after")
}

// TestStrangers: a node gives way to a majority, and to nobody once it was taken
// for one of the cluster.
func TestStrangers(t *testing.T) {
	var s strangers
	for _, c := range []struct {
		addr    string
		voters  int
		first   bool
		forGood string
	}{
		{"a", 3, true, ""},
		{"a", 3, false, ""},
		{"a", 2, false, ""},
		{"a", 1, false, "a"},
		{"b", 5, true, ""},
		{"b", 3, false, "a b"},
	} {
		if first, forGood := s.refused(c.addr, c.voters); first != c.first || strings.Join(forGood, " ") != c.forGood {
			t.Errorf("%s of %d refuses: first %v, for good %v", c.addr, c.voters, first, forGood)
		}
	}
	s.taken()
	if _, forGood := s.refused("c", 3); forGood != nil {
		t.Errorf("it was taken for one of the cluster, and %v refuse it for good", forGood)
	}
}
