package outage

import (
	"fmt"
	"slices"

	"kbench/kafka"
	"kbench/zkcontroller/zk"
)

func (c *cluster) assignment(topic string) (zk.TopicAssignment, error) {
	r := c.ask(zk.Get(zk.TopicPath(topic)))
	if r.Err != nil {
		return zk.TopicAssignment{}, r.Err
	}
	return zk.DecodeTopic(r.Data)
}

// settled says what is missing of a cluster at rest: one active controller, every
// broker registered with the epoch that it knows, no order left, every replica on
// a broker that runs in sync, and the same metadata on all brokers as in the
// znodes.
func (c *cluster) settled() string {
	active := 0
	for _, n := range c.live() {
		if n.controller.Active() {
			active++
		}
		r := c.ask(zk.Exists(zk.BrokerPath(n.ID())))
		if r.Err != nil || !r.Exists || kafka.BrokerEpoch(r.Czxid) != n.Epoch() {
			return fmt.Sprintf("broker %d has epoch %d, registered is %+v", n.ID(), n.Epoch(), r)
		}
	}
	if active != 1 {
		return fmt.Sprintf("%d controllers are active", active)
	}
	if m := c.known(); m != "" {
		return m
	}
	if m := c.orders(); m != "" {
		return m
	}
	r := c.ask(zk.Children(zk.TopicsPath))
	if r.Err != nil {
		return r.Err.Error()
	}
	for _, topic := range r.Children {
		if m := c.topicSettled(topic); m != "" {
			return m
		}
	}
	for _, n := range c.live() {
		for t := range n.Image().Topics() {
			if !slices.Contains(r.Children, t.Name()) {
				return fmt.Sprintf("broker %d serves topic %s, which is gone", n.ID(), t.Name())
			}
		}
	}
	return ""
}

// orders says what is left in /admin.
func (c *cluster) orders() string {
	r := c.ask(zk.Children(zk.DeleteTopicsPath))
	if r.Err != nil || len(r.Children) > 0 {
		return fmt.Sprintf("%s has %v: %v", zk.DeleteTopicsPath, r.Children, r.Err)
	}
	for _, path := range []string{zk.ReassignPath, zk.PreferredPath} {
		if x := c.ask(zk.Exists(path)); x.Err != nil || x.Exists {
			return fmt.Sprintf("%s is there: %v", path, x.Err)
		}
	}
	return ""
}

func (c *cluster) topicSettled(topic string) string {
	a, err := c.assignment(topic)
	if err != nil {
		return fmt.Sprintf("%s: %v", topic, err)
	}
	for p, replicas := range a.Partitions {
		at := fmt.Sprintf("%s-%d", topic, p)
		r := c.ask(zk.Get(zk.StatePath(topic, p)))
		s, err := zk.DecodeState(r.Data)
		if r.Err != nil || err != nil {
			return fmt.Sprintf("%s has no state: %v %v", at, r.Err, err)
		}
		if len(replicas.Adding)+len(replicas.Removing) > 0 {
			return fmt.Sprintf("%s moves: %+v, ISR %v", at, replicas, s.ISR)
		}
		// All in sync but the broker that fails may have lost their sessions before
		// it: nobody else may lead then, until it is back (KAFKA-5083).
		waits := s.Leader < 0 && !slices.ContainsFunc(s.ISR, func(id kafka.BrokerID) bool { return c.nodes[id] != nil })
		if s.Leader < 0 && !waits {
			return fmt.Sprintf("%s has no leader: %+v", at, s)
		}
		for _, id := range replicas.Replicas {
			if !waits && c.nodes[id] != nil != slices.Contains(s.ISR, id) {
				return fmt.Sprintf("%s has ISR %v of replicas %v, version %d; its leader knows %s", at, s.ISR, replicas.Replicas, r.Version, c.leaderKnows(s.Leader, topic, p))
			}
		}
		for _, n := range c.live() {
			if m := serves(n, topic, p, s); m != "" {
				return m
			}
		}
	}
	return ""
}

func (c *cluster) leaderKnows(leader kafka.BrokerID, topic string, p int32) string {
	n := c.nodes[leader]
	if n == nil {
		return "nothing: it is gone"
	}
	i, _ := n.Replica(kafka.TopicPartition{Topic: topic, Partition: p})
	return fmt.Sprintf("%+v", i)
}

func serves(n *node, topic string, p int32, s zk.PartitionState) string {
	t, ok := n.Image().Topic(topic)
	if !ok {
		return fmt.Sprintf("broker %d does not serve topic %s", n.ID(), topic)
	}
	got, ok := t.Partition(p)
	switch {
	case !ok:
		return fmt.Sprintf("broker %d does not serve %s-%d", n.ID(), topic, p)
	case got.Leader != s.Leader || got.LeaderEpoch != s.LeaderEpoch || len(got.ISR) != len(s.ISR):
		return fmt.Sprintf("broker %d serves %s-%d as %v, the znode has %+v", n.ID(), topic, p, got, s)
	}
	return ""
}
