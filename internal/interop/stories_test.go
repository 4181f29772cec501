package interop

import (
	"strings"
	"testing"
)

// story is a flow on a rig. Those of a list run in its order on one cluster.
type story[R any] struct {
	name string
	run  func(R, *testing.T)
}

// ofRealBrokers are all of a cluster of real brokers.
var ofRealBrokers = []story[*rig]{
	{"topics", (*rig).storyTopics},
	{"console-clients", (*rig).storyConsoleClients},
	{"tools-at-ours", (*rig).storyToolsAtOurs},
	{"configs", (*rig).storyConfigs},
	{"acls", (*rig).storyACLs},
	{"security", (*rig).storySecurity},
	{"expansion", (*rig).storyExpansion},
	{"reassignment", (*rig).storyReassignment},
	{"reassignment-cancel", (*rig).storyReassignmentCancel},
	{"mixed", (*rig).storyMixed},
	{"deletion", (*rig).storyDeletion},
	{"controlled-shutdown", (*rig).storyControlledShutdown},
	{"preferred-election", (*rig).storyPreferredElection},
	{"broker-killed", (*rig).storyBrokerKilled},
	{"controller-killed", (*rig).storyControllerKilled},
	{"real-controller", (*rig).storyRealController},
}

// ofOldProtocol are those in which the inter-broker protocol shows.
var ofOldProtocol = []story[*rig]{
	{"topics", (*rig).storyTopics},
	{"expansion", (*rig).storyExpansion},
	{"reassignment", (*rig).storyReassignment},
	{"deletion", (*rig).storyDeletion},
	{"controlled-shutdown", (*rig).storyControlledShutdown},
	{"preferred-election", (*rig).storyPreferredElection},
}

// ofOurBrokers are Kafka's tools on a cluster of kbench's brokers alone.
var ofOurBrokers = []story[*rig]{
	{"our-topics", (*rig).storyOurTopics},
	{"configs", (*rig).storyConfigs},
	{"acls", (*rig).storyACLs},
	{"our-reassignment", (*rig).storyOurReassignment},
	{"our-election", (*rig).storyOurElection},
}

// tell runs stories. One that fails ends the run: the next ones would begin from
// a state that nobody meant.
func tell[R interface{ judgeLogs(*testing.T) }](t *testing.T, r R, stories []story[R]) {
	for _, s := range stories {
		ok := t.Run(s.name, func(t *testing.T) {
			s.run(r, t)
			r.judgeLogs(t)
		})
		if !ok {
			t.FailNow()
		}
	}
}

func TestRealBrokers(t *testing.T) { tell(t, newRealRig(t, ""), ofRealBrokers) }

// TestRealBrokersOfOldProtocol: before Kafka 2.7 leaders wrote ISRs to ZooKeeper
// and told by /isr_change_notification, and topics had no ids.
func TestRealBrokersOfOldProtocol(t *testing.T) { tell(t, newRealRig(t, "2.6"), ofOldProtocol) }

func TestToolsOnOurBrokers(t *testing.T) {
	r := newRig(t, "")
	for _, id := range planeBrokers {
		r.startOurs(t, id)
	}
	r.awaitServing(t, planeBrokers...)
	r.asks = []broker{plane1, plane2, second}
	tell(t, r, ofOurBrokers)
}

const (
	orders            = "orders" // the topic that lives through all stories
	ordersPartitions  = 6
	offsetsPartitions = 3
)

// storyTopics: Kafka's tool creates topics of three replicas; every broker has
// them, on disk too; records go through with acks=all.
func (c *cluster) storyTopics(t *testing.T) {
	for topic, partitions := range map[string]string{orders: "6", "__consumer_offsets": "3"} {
		wants(t, c.tool(t, kafkaTopics, real1, "--create", "--topic", topic, "--partitions", partitions, "--replication-factor", "3"),
			"Created topic "+topic+".")
	}
	c.awaitTopic(t, c.all, orders, ordersPartitions, replicated(realBrokers...))
	for _, id := range realBrokers {
		c.awaitDirectories(t, id, orders, ordersPartitions)
	}
	wants(t, c.tool(t, kafkaTopics, real2, "--list"), orders)
	said := c.tool(t, kafkaTopics, real3, "--describe", "--topic", orders)
	wants(t, said, "PartitionCount: 6", "ReplicationFactor: 3")
	if ids := c.protocol == ""; strings.Contains(said, "TopicId: ") != ids {
		t.Errorf("it should have an id: %t:\n%s", ids, said)
	}
	c.produceOrders(t)
	c.consume(t, orders, c.held)
}

// storyConsoleClients: Kafka's own clients, the consumer in a group.
func (c *cluster) storyConsoleClients(t *testing.T) {
	c.tool(t, kafkaTopics, real1, "--create", "--topic", "console", "--partitions", "2", "--replication-factor", "3")
	c.toolReads(t, lines(50), consoleProducer, real2, "--topic", "console", "--producer-property", "acks=all")
	said := c.tool(t, consoleConsumer, real3, "--topic", "console", "--group", "readers", "--from-beginning",
		"--max-messages", "50", "--timeout-ms", "30000")
	wants(t, said, "line 0\n", "line 49\n", "Processed a total of 50 messages")
	wants(t, c.tool(t, kafkaGetOffsets, real1, "--topic", "console"), "console:0:", "console:1:")
}
