package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kbench/harness/provider"
)

// storyToolsAtOurs: tools that ask kbench's brokers.
func (r *rig) storyToolsAtOurs(t *testing.T) {
	for _, id := range candidates {
		said := r.tool(t, kafkaBrokerAPIVersions, id)
		wants(t, said, fmt.Sprintf("(id: %d rack: null) -> (", id), "LeaderAndIsr(4): 0 to 7", "AlterPartition(56): ")
		if strings.Contains(said, "ERROR") {
			t.Errorf("a broker gives no versions:\n%s", said)
		}
		wants(t, r.tool(t, kafkaTopics, id, "--describe", "--topic", orders), "PartitionCount: 6")
		wants(t, r.tool(t, kafkaTopics, id, "--list"), orders)
	}
	said, code, err := r.tools.run("", kafkaCluster, "cluster-id", "--bootstrap-server", r.addr(first))
	if err != nil || code != 0 {
		t.Fatalf("exit %d, %v:\n%s", code, err, said)
	}
	wants(t, said, "Cluster ID: ")
	said, code, err = r.tools.run("", kafkaFeatures, "--bootstrap-server", r.addr(first), "describe")
	if err != nil || code != 0 {
		t.Fatalf("exit %d, %v:\n%s", code, err, said)
	}
	r.tool(t, kafkaTopics, second, "--create", "--topic", "by-ours", "--partitions", "2", "--replication-factor", "3", "--config", "retention.ms=60000")
	r.awaitTopic(t, realBrokers, "by-ours", 2, replicated(realBrokers...))
	wants(t, r.tool(t, kafkaConfigs, real1, "--describe", "--entity-type", "topics", "--entity-name", "by-ours"), "retention.ms=60000")
}

// storyExpansion: partitions are added by kafka-topics --alter.
func (c *cluster) storyExpansion(t *testing.T) {
	c.tool(t, kafkaTopics, real1, "--create", "--topic", "grown", "--partitions", "2", "--replication-factor", "3")
	c.awaitTopic(t, realBrokers, "grown", 2, replicated(realBrokers...))
	done := c.faults.beginOnly("a topic grows", growth)
	c.tool(t, kafkaTopics, real2, "--alter", "--topic", "grown", "--partitions", "5")
	c.awaitTopic(t, c.all, "grown", 5, replicated(realBrokers...))
	for _, id := range realBrokers {
		c.awaitDirectories(t, id, "grown", 5)
	}
	done()
	c.produce(t, "grown", 50, 100)
	c.consume(t, "grown", 50)
}

// reassign writes a plan for kafka-reassign-partitions: partition 0 of a topic
// on the brokers named.
func (c *cluster) reassign(t *testing.T, topic string, to ...broker) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(to)), ","), "[]")
	plan := fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[%s]}]}`, topic, list)
	if err := os.WriteFile(file, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// storyReassignment: a replica moves with its data, and leaves its old disk.
func (c *cluster) storyReassignment(t *testing.T) {
	const topic = "moved"
	c.tool(t, kafkaTopics, real1, "--create", "--topic", topic, "--replica-assignment", "1:2")
	c.awaitTopic(t, realBrokers, topic, 1, replicated(real1, real2))
	c.produce(t, topic, 200, 1000)
	plan := c.reassign(t, topic, real3, real2)
	done := c.faults.beginOnly("a broker gets a replica", growth)
	wants(t, c.tool(t, kafkaReassign, c.front, "--execute", "--reassignment-json-file", plan), "Successfully started partition reassignment for moved-0")
	c.awaitTopic(t, c.all, topic, 1, replicated(real2, real3))
	done()
	c.awaitDirectories(t, real1, topic, 0)
	if got := c.bytesOf(real3, topic, 0); got < 100_000 {
		t.Errorf("%d bytes were copied", got)
	}
	eventually(t, "the end of the reassignment", func(context.Context) error {
		said := c.tool(t, kafkaReassign, real2, "--verify", "--reassignment-json-file", plan)
		if !strings.Contains(said, "Reassignment of partition moved-0 is completed.") {
			return errors.New(said)
		}
		return nil
	})
	c.consume(t, topic, 200)
}

// storyReassignmentCancel: a move that a throttle keeps from ending is listed,
// and cancelled; the new replica goes again.
func (c *cluster) storyReassignmentCancel(t *testing.T) {
	const topic = "cancelled"
	c.tool(t, kafkaTopics, real1, "--create", "--topic", topic, "--replica-assignment", "1:2")
	c.awaitTopic(t, realBrokers, topic, 1, replicated(real1, real2))
	c.produce(t, topic, 400, 4000)
	plan := c.reassign(t, topic, real2, real3)
	done := c.faults.beginOnly("a broker gets a replica", growth)
	wants(t, c.tool(t, kafkaReassign, real1, "--execute", "--reassignment-json-file", plan, "--throttle", "1000"),
		"The inter-broker throttle limit was set to 1000 B/s", "Successfully started partition reassignment for cancelled-0")
	c.awaitDirectories(t, real3, topic, 1)
	done()
	wants(t, c.tool(t, kafkaReassign, real2, "--list"), "cancelled-0: replicas: 2,3,1. adding: 3. removing: 1.")
	wants(t, c.tool(t, kafkaReassign, real3, "--cancel", "--reassignment-json-file", plan), "Successfully cancelled partition reassignment for: cancelled-0")
	c.awaitTopic(t, c.all, topic, 1, replicated(real1, real2))
	c.awaitDirectories(t, real3, topic, 0)
	wants(t, c.tool(t, kafkaReassign, real1, "--list"), "No partition reassignments found.")
	for _, id := range realBrokers {
		eventually(t, fmt.Sprintf("no throttle is left at broker %d", id), func(context.Context) error {
			said := c.tool(t, kafkaConfigs, real1, "--describe", "--entity-type", "brokers", "--entity-name", fmt.Sprint(id))
			if strings.Contains(said, "throttled.rate") {
				return errors.New(said)
			}
			return nil
		})
	}
	c.consume(t, topic, 400)
}

// storyMixed: a topic on real brokers and on one of kbench, which keeps no
// data, so that the topic stays empty. All are in sync, and leadership moves
// from one kind to the other.
func (r *rig) storyMixed(t *testing.T) {
	const topic = "mixed"
	r.startOurs(t, plane1)
	r.awaitServing(t, plane1)
	r.tool(t, kafkaTopics, real1, "--create", "--topic", topic, "--replica-assignment", "1:11,11:2,3:11")
	all := append(append(slices.Clone(realBrokers), candidates...), plane1)
	r.awaitTopic(t, all, topic, 3, func(n int32, p partition) error {
		if !slices.Equal(p.isr, p.replicas) {
			return errors.New("not all are in sync")
		}
		return nil
	})
	r.tool(t, kafkaBrokerAPIVersions, plane1)
	done := r.faults.begin("the broker of kbench leaves")
	r.signal(t, plane1, provider.Term)
	r.awaitTopic(t, realBrokers, topic, 3, notLedBy(plane1))
	r.awaitGone(t, plane1)
	r.restart(t, plane1)
	r.awaitTopic(t, all, topic, 3, replicated())
	done()
	r.tool(t, kafkaLeaderElection, real2, "--election-type", "preferred", "--topic", topic, "--partition", "1")
	r.awaitTopic(t, all, topic, 3, func(n int32, p partition) error {
		if n == 1 && p.leader != plane1 {
			return errors.New("the preferred replica does not lead")
		}
		return nil
	})
	r.tool(t, kafkaTopics, real1, "--delete", "--topic", topic)
	r.awaitAbsent(t, all, topic)
	done = r.faults.begin("the broker of kbench leaves for good")
	r.signal(t, plane1, provider.Term)
	r.awaitGone(t, plane1)
	done()
}

// awaitAbsent waits until no broker named knows a topic.
func (c *cluster) awaitAbsent(t *testing.T, on []broker, topic string) {
	t.Helper()
	for _, id := range on {
		cl := c.asked(t, id)
		eventually(t, fmt.Sprintf("broker %d knows no %s", id, topic), func(ctx context.Context) error {
			if _, err := metadata(ctx, cl, topic); !errors.Is(err, errAbsent) {
				return errors.Join(errors.New("it does"), err)
			}
			return nil
		})
	}
}

// awaitDeleted waits until nothing of a topic is left in ZooKeeper. Brokers forget
// it earlier, and a controller that is lost meanwhile leaves the rest to the next,
// which tells them of partitions without a leader, as Kafka's does.
func (r *rig) awaitDeleted(t *testing.T, topic string) {
	t.Helper()
	eventually(t, "nothing of the topic in ZooKeeper", func(context.Context) error {
		for _, path := range []string{"/brokers/topics/" + topic, "/admin/delete_topics/" + topic, "/config/topics/" + topic} {
			if there, _, err := r.znodes.Exists(path); there || err != nil {
				return errors.Join(fmt.Errorf("%s is there", path), err)
			}
		}
		return nil
	})
}

// storyDeletion: replicas go from every disk, nothing is left in ZooKeeper, and
// the name is free again.
func (r *rig) storyDeletion(t *testing.T) {
	r.deletion(t, func(topic string) {
		r.awaitDeleted(t, topic)
	})
}

// deletion deletes and creates a topic twice; left looks for what is left of it.
func (c *cluster) deletion(t *testing.T, left func(topic string)) {
	const topic = "grown"
	for range 2 {
		c.tool(t, kafkaTopics, real3, "--delete", "--topic", topic)
		c.awaitAbsent(t, c.all, topic)
		for _, id := range realBrokers {
			c.awaitDirectories(t, id, topic, 0)
		}
		left(topic)
		c.tool(t, kafkaTopics, real1, "--create", "--topic", topic, "--partitions", "4", "--replication-factor", "3")
		c.awaitTopic(t, realBrokers, topic, 4, replicated(realBrokers...))
	}
	c.produce(t, topic, 20, 100)
	c.consume(t, topic, 20)
}
