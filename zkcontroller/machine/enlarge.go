package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
	"kbench/kafka/metadata"
)

// createPartitions adds partitions to topics by rewriting their znodes; the
// watches on these then lead to the partitions.
func (m *Machine) createPartitions(f *flow, e AdminCreatePartitions) error {
	c := &topicsCall{id: e.Call, pending: map[string]pendingTopic{}}
	c.reply.Topics = make([]TopicResult, len(e.Topics))
	seen := map[string]int{}
	for i := range e.Topics {
		seen[e.Topics[i].Name]++
	}
	b := &WriteAssignments{}
	var at []int
	brokers := m.brokersForPlacement()
	for i := range e.Topics {
		n, r := &e.Topics[i], &c.reply.Topics[i]
		r.Name = n.Name
		if seen[n.Name] > 1 {
			r.Code, r.Text = kafka.InvalidRequest, "Duplicate topic in request."
			continue
		}
		w, code, text := m.enlarged(n, brokers)
		r.Code, r.Text = code, text
		if code == kafka.None {
			b.Writes, at = append(b.Writes, w), append(at, i)
		}
	}
	if len(b.Writes) > 0 && !e.ValidateOnly {
		if err := f.do(b); err != nil {
			return err
		}
		for k, w := range b.Writes {
			if res := b.Codes[k]; res.Code == OK {
				c.pending[w.Topic] = pendingTopic{at[k], int32(len(w.Partitions))}
			} else {
				r := &c.reply.Topics[at[k]]
				r.Code, r.Text = kafka.UnknownServerError, res.String()
			}
		}
	}
	m.settle(c)
	return nil
}

// enlarged checks one topic and gives its znode with the new partitions.
func (m *Machine) enlarged(n *MorePartitions, brokers []metadata.PlacementBroker) (TopicWrite, kafka.ErrorCode, string) {
	t := m.ctx.topics[n.Name]
	switch {
	case t == nil:
		return TopicWrite{}, kafka.UnknownTopicOrPartition, fmt.Sprintf("The topic '%s' does not exist.", n.Name)
	case t.queued:
		return TopicWrite{}, kafka.InvalidTopicException, "The topic is queued for deletion."
	case t.moving > 0:
		return TopicWrite{}, kafka.ReassignmentInProgress, fmt.Sprintf("A partition reassignment is in progress for the topic '%s'.", n.Name)
	case len(t.parts) == 0 || t.parts[0] == nil:
		return TopicWrite{}, kafka.UnknownServerError, fmt.Sprintf("The topic '%s' has no partition 0.", n.Name)
	}
	have := int32(len(t.parts))
	add := n.Count - have
	rf := len(t.parts[0].replicas)
	switch {
	case add < 0:
		return TopicWrite{}, kafka.InvalidPartitions, fmt.Sprintf("The topic '%s' currently has %d partitions; %d would not be an increase.", n.Name, have, n.Count)
	case add == 0:
		return TopicWrite{}, kafka.InvalidPartitions, fmt.Sprintf("Topic already has %d partitions.", have)
	case m.cfg.MaxRequestBytes > 0 && int64(n.Count)*8 > int64(m.cfg.MaxRequestBytes):
		return TopicWrite{}, kafka.PolicyViolation, tooLarge(n.Name, int(n.Count)*8, m.cfg.MaxRequestBytes)
	}
	lists := n.Assignment
	if lists == nil {
		var err error
		if lists, err = metadata.Place(m.cfg.Rand, brokers, int(add), rf); err != nil {
			return TopicWrite{}, kafka.InvalidReplicationFactor, err.Error()
		}
	}
	if len(lists) != int(add) {
		return TopicWrite{}, kafka.InvalidReplicaAssignment, fmt.Sprintf("Increasing the number of partitions by %d but %d assignments provided.", add, len(lists))
	}
	if gone := m.unregistered(lists); len(gone) > 0 {
		return TopicWrite{}, kafka.InvalidReplicaAssignment, fmt.Sprintf("Unknown broker(s) in replica assignment: %s.", strings.Join(gone, ", "))
	}
	w := t.write()
	for i, replicas := range lists {
		if text := badReplicas(replicas, rf); text != "" {
			return w, kafka.InvalidReplicaAssignment, text
		}
		w.Partitions[have+int32(i)] = Assignment{Replicas: replicas}
	}
	code, text := m.fits(n.Name, w.Partitions)
	return w, code, text
}

// unregistered gives the brokers of lists that are not there. Kafka refuses them
// for new partitions, though not for new topics.
func (m *Machine) unregistered(lists [][]kafka.BrokerID) []string {
	var out []string
	for _, replicas := range lists {
		for _, id := range replicas {
			if text := strconv.Itoa(int(id)); m.ctx.broker(id) == nil && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// deleteTopics queues topics for deletion; the watch on /admin/delete_topics
// then begins it.
func (m *Machine) deleteTopics(f *flow, e AdminDeleteTopics) error {
	c := &topicsCall{id: e.Call, pending: map[string]pendingTopic{}}
	c.reply.Topics = make([]TopicResult, len(e.Topics))
	b := &CreateDeletions{}
	var at []int
	for i, ref := range e.Topics {
		r := &c.reply.Topics[i]
		r.Name, r.ID = ref.Name, ref.ID
		t := m.ctx.topics[ref.Name]
		if ref.Name == "" {
			t = m.ctx.byID[ref.ID]
		}
		switch {
		case m.cfg.NoDeletion:
			r.Code, r.Text = kafka.TopicDeletionDisabled, "Topic deletion is disabled."
		case t == nil && ref.Name == "":
			r.Code, r.Text = kafka.UnknownTopicID, "This server does not host this topic ID."
		case t == nil:
			r.Code, r.Text = kafka.UnknownTopicOrPartition, "This server does not host this topic-partition."
		default:
			r.Name, r.ID = t.name, t.id
			if _, twice := c.pending[t.name]; twice {
				r.Code, r.Text = kafka.InvalidRequest, "Duplicate topic in request."
				continue
			}
			if t.deleting {
				continue // it has begun: nothing to wait for
			}
			c.pending[t.name] = pendingTopic{result: i}
			b.Topics, at = append(b.Topics, t.name), append(at, i)
		}
	}
	if len(b.Topics) > 0 {
		if err := f.do(b); err != nil {
			return err
		}
		for k, name := range b.Topics {
			if res := b.Codes[k]; res.Code != OK && res.Code != NodeExists {
				delete(c.pending, name)
				r := &c.reply.Topics[at[k]]
				r.Code, r.Text = kafka.UnknownServerError, res.String()
			}
		}
	}
	m.settle(c)
	return nil
}
