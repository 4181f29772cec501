package machine

import (
	"fmt"
	"slices"
	"strconv"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// createTopics validates, places and writes topics; the watch on
// /brokers/topics then leads to their partitions, as in Kafka.
func (m *Machine) createTopics(f *flow, e AdminCreateTopics) error {
	c := &topicsCall{id: e.Call, pending: map[string]pendingTopic{}}
	c.reply.Topics = make([]TopicResult, len(e.Topics))
	seen := map[string]int{}
	for i := range e.Topics {
		seen[e.Topics[i].Name]++
	}
	b := &CreateTopics{}
	var at []int
	brokers := m.brokersForPlacement()
	claimed, list := map[string]string{}, m.ctx.nameBytes
	for i := range e.Topics {
		n := &e.Topics[i]
		r := &c.reply.Topics[i]
		r.Name = n.Name
		if seen[n.Name] > 1 {
			r.Code, r.Text = kafka.InvalidRequest, "Create topics request from client contains multiple entries for the same topic."
			continue
		}
		w, code, text := m.newTopic(n, brokers, claimed)
		if limit := m.cfg.MaxListBytes; code == kafka.None && limit > 0 && list+listed(n.Name) > limit {
			code, text = kafka.PolicyViolation, fmt.Sprintf("With topic '%s' the list of topics would take %d bytes, over the limit of %d on ZooKeeper's replies (MaxReplyBytes, jute.maxbuffer of Kafka's clients): use fewer or shorter names, or raise it.", n.Name, list+listed(n.Name), limit)
		}
		r.Code, r.Text = code, text
		if code != kafka.None {
			continue
		}
		list += listed(n.Name)
		r.ID, r.Partitions, r.Replication = w.ID, int32(len(w.Partitions)), int16(len(w.Partitions[0].Replicas))
		b.Topics, at = append(b.Topics, w), append(at, i)
	}
	if len(b.Topics) > 0 && !e.ValidateOnly {
		if err := f.do(b); err != nil {
			return err
		}
		for k, w := range b.Topics {
			r := &c.reply.Topics[at[k]]
			switch res := b.Codes[k]; res.Code {
			case OK:
				c.pending[w.Topic] = pendingTopic{at[k], r.Partitions}
			case NodeExists:
				r.Code, r.Text = kafka.TopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", w.Topic)
			default:
				r.Code, r.Text = kafka.UnknownServerError, res.String()
			}
		}
	}
	m.settle(c)
	return nil
}

// newTopic checks one topic and gives what to write. claimed holds the
// collision keys of the request so far.
func (m *Machine) newTopic(n *NewTopic, brokers []metadata.PlacementBroker, claimed map[string]string) (TopicWrite, kafka.ErrorCode, string) {
	w := TopicWrite{Topic: n.Name, Config: n.Config}
	if err := metadata.ValidateTopicName(n.Name); err != nil {
		return w, kafka.InvalidTopicException, err.Error()
	}
	if m.ctx.topics[n.Name] != nil {
		return w, kafka.TopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", n.Name)
	}
	if key := collisionKey(n.Name); key != "" {
		other, taken := m.ctx.collisions[key]
		if !taken {
			other, taken = claimed[key]
		}
		if taken {
			return w, kafka.InvalidTopicException, fmt.Sprintf("Topic '%s' collides with existing topic: %s", n.Name, other)
		}
		claimed[key] = n.Name
	}
	var code kafka.ErrorCode
	var text string
	if n.Assignment != nil {
		w.Partitions, code, text = m.givenAssignment(n)
	} else {
		w.Partitions, code, text = m.placed(n, brokers)
	}
	if code != kafka.None {
		return w, code, text
	}
	if code, text = m.fits(n.Name, w.Partitions); code != kafka.None {
		return w, code, text
	}
	if m.cfg.Protocol.TopicIDs() {
		w.ID = m.newUUID()
	}
	return w, kafka.None, ""
}

// placed chooses replicas.
func (m *Machine) placed(n *NewTopic, brokers []metadata.PlacementBroker) (map[int32]Assignment, kafka.ErrorCode, string) {
	count, rf := n.Partitions, n.Replication
	if count == -1 {
		count = m.cfg.DefaultPartitions
	}
	if rf == -1 {
		rf = m.cfg.DefaultReplication
	}
	if count < 1 {
		return nil, kafka.InvalidPartitions, "Number of partitions must be larger than 0."
	}
	if rf < 1 {
		return nil, kafka.InvalidReplicationFactor, "Replication factor must be larger than 0."
	}
	if int(rf) > len(brokers) {
		return nil, kafka.InvalidReplicationFactor, fmt.Sprintf("Replication factor: %d larger than available brokers: %d.", rf, len(brokers))
	}
	// A topic of n partitions takes at least 8n bytes of its znode: refuse what
	// cannot fit before placing it.
	if limit := m.cfg.MaxRequestBytes; limit > 0 && int64(count)*8 > int64(limit) {
		return nil, kafka.PolicyViolation, tooLarge(n.Name, int(count)*8, limit)
	}
	lists, err := metadata.Place(m.cfg.Rand, brokers, int(count), int(rf))
	if err != nil {
		return nil, kafka.InvalidReplicationFactor, err.Error()
	}
	out := make(map[int32]Assignment, count)
	for i, replicas := range lists {
		out[int32(i)] = Assignment{Replicas: replicas}
	}
	return out, kafka.None, ""
}

// givenAssignment checks an assignment that the client chose.
func (m *Machine) givenAssignment(n *NewTopic) (map[int32]Assignment, kafka.ErrorCode, string) {
	if n.Partitions != -1 || n.Replication != -1 {
		return nil, kafka.InvalidRequest, "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time."
	}
	out := make(map[int32]Assignment, len(n.Assignment))
	rf := -1
	for i := range int32(len(n.Assignment)) {
		replicas, ok := n.Assignment[i]
		if !ok {
			return nil, kafka.InvalidReplicaAssignment, "Partitions should be a consecutive 0-based integer sequence."
		}
		if text := badReplicas(replicas, rf); text != "" {
			return nil, kafka.InvalidReplicaAssignment, text
		}
		rf = len(replicas)
		out[i] = Assignment{Replicas: slices.Clone(replicas)}
	}
	if rf < 0 {
		return nil, kafka.InvalidPartitions, "The assignment names no partition."
	}
	return out, kafka.None, ""
}

// badReplicas says what is wrong with a list of replicas, "" for nothing; rf is
// the number there must be, -1 for any. Brokers that are not there are taken, as
// Kafka does for new topics: leaders and ISRs come from those that are.
func badReplicas(replicas []kafka.BrokerID, rf int) string {
	if len(replicas) == 0 {
		return "A partition has no replica."
	}
	if rf >= 0 && len(replicas) != rf {
		return "All partitions should have the same number of replicas."
	}
	for i, id := range replicas {
		if slices.Contains(replicas[:i], id) {
			return fmt.Sprintf("Duplicate replica %d in the assignment.", id)
		}
		if id < 0 {
			return fmt.Sprintf("Replica %d is the id of no broker.", id)
		}
	}
	return ""
}

// fits checks a topic's znode against the store's limit, from above.
func (m *Machine) fits(name string, ps map[int32]Assignment) (kafka.ErrorCode, string) {
	limit := m.cfg.MaxRequestBytes
	if limit == 0 {
		return kafka.None, ""
	}
	size := 400 + 2*len(name)
	for n, a := range ps {
		size += len(strconv.Itoa(int(n))) + 6
		for _, ids := range [][]kafka.BrokerID{a.Replicas, a.Adding, a.Removing} {
			for _, id := range ids {
				size += len(strconv.Itoa(int(id))) + 1
			}
		}
	}
	if size > limit {
		return kafka.PolicyViolation, tooLarge(name, size, limit)
	}
	return kafka.None, ""
}

func tooLarge(name string, size, limit int) string {
	return fmt.Sprintf("The znode of topic '%s' would take %d bytes or more, over ZooKeeper's limit of %d (jute.maxbuffer): use fewer partitions, or raise it on the servers and here.", name, size, limit)
}
