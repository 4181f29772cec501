package interop

import (
	"strings"
	"testing"
)

// story is a flow. Those of a list run in its order on one cluster.
type story struct {
	name string
	run  func(*rig, *testing.T)
}

// ofRealBrokers are all of a cluster of real brokers.
var ofRealBrokers = []story{
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
var ofOldProtocol = []story{
	{"topics", (*rig).storyTopics},
	{"expansion", (*rig).storyExpansion},
	{"reassignment", (*rig).storyReassignment},
	{"deletion", (*rig).storyDeletion},
	{"controlled-shutdown", (*rig).storyControlledShutdown},
	{"preferred-election", (*rig).storyPreferredElection},
}

// ofOurBrokers are Kafka's tools on a cluster of kbench's brokers alone.
var ofOurBrokers = []story{
	{"our-topics", (*rig).storyOurTopics},
	{"configs", (*rig).storyConfigs},
	{"acls", (*rig).storyACLs},
	{"our-reassignment", (*rig).storyOurReassignment},
	{"our-election", (*rig).storyOurElection},
}

// tell runs stories. One that fails ends the run: the next ones would begin from
// a state that nobody meant.
func (r *rig) tell(t *testing.T, stories []story) {
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

func TestRealBrokers(t *testing.T) { newRealRig(t, "").tell(t, ofRealBrokers) }

// TestRealBrokersOfOldProtocol: before Kafka 2.7 leaders wrote ISRs to ZooKeeper
// and told by /isr_change_notification, and topics had no ids.
func TestRealBrokersOfOldProtocol(t *testing.T) { newRealRig(t, "2.6").tell(t, ofOldProtocol) }

func TestToolsOnOurBrokers(t *testing.T) {
	r := newRig(t, "")
	for _, id := range planeBrokers {
		r.startOurs(t, id)
	}
	r.awaitServing(t, planeBrokers...)
	r.asks = []broker{plane1, plane2, second}
	r.tell(t, ofOurBrokers)
}

const (
	orders            = "orders" // the topic that lives through all stories
	ordersPartitions  = 6
	offsetsPartitions = 3
)

// storyTopics: Kafka's tool creates topics of three replicas; every broker has
// them, on disk too; records go through with acks=all.
func (r *rig) storyTopics(t *testing.T) {
	for topic, partitions := range map[string]string{orders: "6", "__consumer_offsets": "3"} {
		wants(t, r.tool(t, kafkaTopics, real1, "--create", "--topic", topic, "--partitions", partitions, "--replication-factor", "3"),
			"Created topic "+topic+".")
	}
	r.awaitTopic(t, append(realBrokers, candidates...), orders, ordersPartitions, replicated(realBrokers...))
	for _, id := range realBrokers {
		r.awaitDirectories(t, id, orders, ordersPartitions)
	}
	wants(t, r.tool(t, kafkaTopics, real2, "--list"), orders)
	said := r.tool(t, kafkaTopics, real3, "--describe", "--topic", orders)
	wants(t, said, "PartitionCount: 6", "ReplicationFactor: 3")
	if ids := r.protocol == ""; strings.Contains(said, "TopicId: ") != ids {
		t.Errorf("it should have an id: %t:\n%s", ids, said)
	}
	r.produceOrders(t)
	r.consume(t, orders, r.ordersHold)
}

// storyConsoleClients: Kafka's own clients, the consumer in a group.
func (r *rig) storyConsoleClients(t *testing.T) {
	r.tool(t, kafkaTopics, real1, "--create", "--topic", "console", "--partitions", "2", "--replication-factor", "3")
	r.toolReads(t, lines(50), consoleProducer, real2, "--topic", "console", "--producer-property", "acks=all")
	said := r.tool(t, consoleConsumer, real3, "--topic", "console", "--group", "readers", "--from-beginning",
		"--max-messages", "50", "--timeout-ms", "30000")
	wants(t, said, "line 0\n", "line 49\n", "Processed a total of 50 messages")
	wants(t, r.tool(t, kafkaGetOffsets, real1, "--topic", "console"), "console:0:", "console:1:")
}
