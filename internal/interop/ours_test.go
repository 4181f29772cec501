package interop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"kbench/harness/provider"
)

// storyOurTopics: a topic's life by kafka-topics, and what every broker says of
// itself.
func (r *rig) storyOurTopics(t *testing.T) {
	all := append(append([]broker{}, planeBrokers...), candidates...)
	for _, id := range all {
		said := r.tool(t, kafkaBrokerAPIVersions, id)
		wants(t, said, "LeaderAndIsr(4): 0 to 7")
		if n := strings.Count(said, "rack: null) -> ("); n != len(all) || strings.Contains(said, "ERROR") {
			t.Errorf("%d brokers give their versions:\n%s", n, said)
		}
	}
	r.ourTopics(t, all)
}

// ourTopics creates, describes, grows and deletes topics on the brokers of
// kbench; all are the brokers that are to know of them.
func (c *cluster) ourTopics(t *testing.T, all []broker) {
	t.Helper()
	for _, topic := range []string{orders, "short-lived"} {
		wants(t, c.tool(t, kafkaTopics, plane1, "--create", "--topic", topic, "--partitions", "6", "--replication-factor", "3"), "Created topic "+topic+".")
	}
	c.awaitTopic(t, all, orders, ordersPartitions, replicated(planeBrokers...))
	wants(t, c.tool(t, kafkaTopics, plane2, "--describe", "--topic", orders), "PartitionCount: 6", "ReplicationFactor: 3", "TopicId: ")
	c.tool(t, kafkaTopics, plane2, "--alter", "--topic", "short-lived", "--partitions", "8")
	c.awaitTopic(t, all, "short-lived", 8, replicated(planeBrokers...))
	c.tool(t, kafkaTopics, plane3, "--delete", "--topic", "short-lived")
	c.awaitAbsent(t, all, "short-lived")
	if said := c.tool(t, kafkaTopics, plane1, "--list"); strings.TrimSpace(said) != orders {
		t.Errorf("the topics are %q", said)
	}
	for _, words := range [][]string{{"--under-replicated-partitions"}, {"--unavailable-partitions"}} {
		if said := c.tool(t, kafkaTopics, plane1, append([]string{"--describe"}, words...)...); strings.TrimSpace(said) != "" {
			t.Errorf("%s: %s", words, said)
		}
	}
}

// storyOurReassignment: kafka-reassign-partitions proposes, moves and verifies.
func (c *cluster) storyOurReassignment(t *testing.T) {
	const topic = "moved"
	c.tool(t, kafkaTopics, plane1, "--create", "--topic", topic, "--replica-assignment", "11:12")
	c.awaitTopic(t, planeBrokers, topic, 1, replicated(plane1, plane2))
	plan := c.reassign(t, topic, plane3, plane2)
	wants(t, c.tool(t, kafkaReassign, plane1, "--execute", "--reassignment-json-file", plan), "Successfully started partition reassignment for moved-0")
	c.awaitTopic(t, planeBrokers, topic, 1, replicated(plane2, plane3))
	eventually(t, "the end of the reassignment", func(context.Context) error {
		said := c.tool(t, kafkaReassign, plane2, "--verify", "--reassignment-json-file", plan)
		if !strings.Contains(said, "Reassignment of partition moved-0 is completed.") {
			return errors.New(said)
		}
		return nil
	})
	wants(t, c.tool(t, kafkaReassign, plane3, "--list"), "No partition reassignments found.")
	wants(t, c.tool(t, kafkaReassign, plane3, "--cancel", "--reassignment-json-file", plan), "None of the specified partition moves are active.")
}

// storyOurElection: kafka-leader-election gives back what a controlled shutdown
// moved.
func (c *cluster) storyOurElection(t *testing.T) {
	c.signal(t, plane1, provider.Term)
	c.awaitTopic(t, planeBrokers[1:], orders, ordersPartitions, notLedBy(plane1))
	c.awaitGone(t, plane1)
	c.restart(t, plane1)
	c.awaitTopic(t, planeBrokers, orders, ordersPartitions, replicated(planeBrokers...))
	c.elect(t, plane1, planeBrokers)
}
