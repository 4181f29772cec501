package interop

import (
	"testing"
	"time"
)

// stories are the flows, in the order in which they run on one cluster.
var stories = []struct {
	name string
	run  func(*rig, *testing.T)
}{
	{"topics", (*rig).storyTopics},
	{"console-clients", (*rig).storyConsoleClients},
	{"tools-at-ours", (*rig).storyToolsAtOurs},
	{"configs", (*rig).storyConfigs},
	{"acls", (*rig).storyACLs},
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

// TestRealBrokersUnderOurController runs every story. One that fails ends the
// run: the next ones would begin from a state that nobody meant.
func TestRealBrokersUnderOurController(t *testing.T) {
	began := time.Now()
	r := newRig(t)
	t.Logf("the cluster is up after %v", time.Since(began).Round(time.Millisecond))
	r.judgeLogs(t)
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
	wants(t, r.tool(t, kafkaTopics, real3, "--describe", "--topic", orders), "PartitionCount: 6", "ReplicationFactor: 3", "TopicId: ")
	r.produce(t, orders, 100, 100)
	r.consume(t, orders, 100)
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
