package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"kbench/harness/provider"
	vocabulary "kbench/kafka"
	"kbench/kraftcontroller/metalog"
)

// storyTransactions: a real coordinator's transaction, with producer ids that
// the controller gave, is seen when it commits and not when it aborts.
func (k *kraft) storyTransactions(t *testing.T) {
	const topic = "transactions"
	k.tool(t, kafkaTopics, k.front, "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "3")
	cl := k.client(t, kgo.TransactionalID("interop"))
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for n := range 30 {
			cl.Produce(ctx, &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%v %d", end, n)}, nil)
		}
		if err := cl.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if err := cl.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	k.consume(t, topic, 30, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
}

// storyDeletion: replicas go from every disk, and the name is free again.
func (k *kraft) storyDeletion(t *testing.T) { k.deletion(t, func(string) {}) }

// storyControllerKilled: another controller takes over, and all brokers follow
// it; the one that was killed comes back with the same log.
func (k *kraft) storyControllerKilled(t *testing.T) {
	before := k.awaitLeader(t, 0, k.controllers...)
	var voters []broker
	for id := range before.voters {
		voters = append(voters, id)
	}
	slices.Sort(voters)
	done := k.faults.begin("the active controller is killed")
	k.signal(t, before.leader, provider.Kill)
	k.awaitLeader(t, before.epoch, without(voters, before.leader)...)
	k.tool(t, kafkaTopics, k.front, "--create", "--topic", "after-failover", "--partitions", "3", "--replication-factor", "3")
	k.awaitTopic(t, k.all, "after-failover", 3, replicated(k.all...))
	if len(k.keepers) > 0 {
		k.produce(t, "after-failover", 30, 100)
		k.consume(t, "after-failover", 30)
		k.consume(t, orders, k.held)
	}
	k.restartController(t, before.leader)
	k.awaitEqualLogs(t, voters...)
	k.awaitListens(t, before.leader)
	done()
}

// storyOurTopics: a topic's life by kafka-topics at brokers of kbench.
func (k *kraft) storyOurTopics(t *testing.T) {
	for _, id := range planeBrokers {
		said := k.tool(t, kafkaBrokerAPIVersions, id)
		if n := strings.Count(said, "rack: null"); n != len(planeBrokers) || strings.Contains(said, "ERROR") {
			t.Errorf("%d brokers give their versions:\n%s", n, said)
		}
	}
	k.ourTopics(t, planeBrokers)
}

// storyOurBrokerKilled: a broker of kbench dies; its leaders move once its
// session is over, and it comes back in sync.
func (k *kraft) storyOurBrokerKilled(t *testing.T) {
	done := k.faults.begin("a broker of kbench is killed")
	k.signal(t, plane2, provider.Kill)
	k.awaitGone(t, plane2)
	k.awaitTopic(t, k.without(plane2), orders, ordersPartitions, notLedBy(plane2))
	k.restart(t, plane2)
	k.awaitTopic(t, k.all, orders, ordersPartitions, replicated(k.all...))
	done()
}

// storyQuorumTools: kafka-metadata-quorum, kafka-features and kafka-cluster ask
// controllers of kbench, straight and through real brokers.
func (k *kraft) storyQuorumTools(t *testing.T) {
	q := k.awaitLeader(t, 0, k.controllers...)
	through := []string{"--bootstrap-server", k.addr(k.front)}
	for _, words := range [][]string{k.quorumWords(kafkaMetadataQuorum), append([]string{kafkaMetadataQuorum}, through...)} {
		said := k.words(t, append(words, "describe", "--status")...)
		wants(t, strings.Join(strings.Fields(said), " "),
			fmt.Sprintf("LeaderId: %d LeaderEpoch: %d", q.leader, q.epoch), `"endpoints": ["CONTROLLER://`+k.addr(q.leader))
		said = k.words(t, append(words, "describe", "--replication")...)
		for id := range q.voters {
			wants(t, said, fmt.Sprintf("%d  ", id))
		}
		wants(t, said, "Leader", "Follower", "Observer")
	}
	for _, words := range [][]string{k.quorumWords(kafkaFeatures), append([]string{kafkaFeatures}, through...)} {
		said := k.words(t, append(words, "describe")...)
		wants(t, said, "Feature: metadata.version", "Feature: kraft.version", "FinalizedVersionLevel: 1")
	}
	wants(t, k.words(t, append([]string{kafkaCluster, "cluster-id"}, through...)...), "Cluster ID: "+kraftCluster)
	wants(t, k.words(t, kafkaCluster, "list-endpoints", "--bootstrap-controller", k.addr(q.leader)), "controller", fmt.Sprint(q.leader))
	wants(t, k.words(t, append([]string{kafkaCluster, "list-endpoints"}, through...)...), "broker", fmt.Sprint(k.front))
}

// storyToolsAtOurs: the tools at nodes of kbench alone.
func (k *kraft) storyToolsAtOurs(t *testing.T) {
	k.storyQuorumTools(t)
	k.features(t)
	k.storyConfigs(t)
	k.storyACLs(t)
	k.configsAtControllers(t)
	k.aclsAtControllers(t)
	k.votersThroughBrokers(t)
	k.tool(t, kafkaTopics, plane3, "--create", "--topic", "by-tools", "--partitions", "4", "--replication-factor", "3")
	k.awaitTopic(t, planeBrokers, "by-tools", 4, replicated(planeBrokers...))
	k.tool(t, kafkaTopics, plane1, "--delete", "--topic", "by-tools")
	k.awaitAbsent(t, planeBrokers, "by-tools")
}

// features changes the level of a feature, down and up again.
func (k *kraft) features(t *testing.T) {
	const feature = "transaction.version"
	shown := func(level int) string { return fmt.Sprintf("FinalizedVersionLevel: %d", level) }
	look := func(level int) {
		t.Helper()
		said := k.atQuorum(t, kafkaFeatures, "describe")
		for line := range strings.Lines(said) {
			if strings.Contains(line, "Feature: "+feature) {
				wants(t, line, shown(level))
				return
			}
		}
		t.Fatalf("%s is not in\n%s", feature, said)
	}
	look(2)
	k.atQuorum(t, kafkaFeatures, "downgrade", "--feature", feature+"=1")
	look(1)
	k.words(t, kafkaFeatures, "--bootstrap-server", k.addr(plane1), "upgrade", "--feature", feature+"=2")
	look(2)
}

// storyClientMetricsAndGroups: kafka-configs and kafka-client-metrics find what
// has configuration of these types, which brokers list (KIP-1142), and are told
// what is wrong.
func (k *kraft) storyClientMetricsAndGroups(t *testing.T) {
	for _, e := range []struct{ kind, name, set, wrong, why string }{
		{"client-metrics", "slow-clients", "interval.ms=60000", "interval.ms=1", "interval must be between 100 and 3600000"},
		{"groups", "readers", "consumer.session.timeout.ms=50000", "consumer.session.timeout.ms=1", "consumer.session.timeout.ms must be in the range"},
	} {
		key, _, _ := strings.Cut(e.set, "=")
		kind := []string{"--entity-type", e.kind}
		entity := append(kind, "--entity-name", e.name)
		wants(t, k.tool(t, kafkaConfigs, k.front, append([]string{"--alter", "--add-config", e.set}, entity...)...), "Completed updating")
		k.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), true, e.set)
		k.everywhere(t, kafkaConfigs, append([]string{"--describe"}, kind...), true, e.name)
		words := append([]string{kafkaConfigs, "--bootstrap-server", k.addr(k.front), "--alter", "--add-config", e.wrong}, entity...)
		if said, code, err := k.tools.run("", words...); err != nil || code == 0 || !strings.Contains(said, e.why) {
			t.Fatalf("%s\nexit %d, %v:\n%s", strings.Join(words, " "), code, err, said)
		}
		if e.kind == "client-metrics" {
			k.everywhere(t, kafkaClientMetrics, []string{"--list"}, true, e.name)
			k.everywhere(t, kafkaClientMetrics, []string{"--describe"}, true, e.set)
		}
		wants(t, k.tool(t, kafkaConfigs, k.front, append([]string{"--alter", "--delete-config", key}, entity...)...), "Completed updating")
		k.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), false, e.set)
	}
}

// configsAtControllers has kafka-configs ask controllers.
func (k *kraft) configsAtControllers(t *testing.T) {
	entity := []string{"--entity-type", "brokers", "--entity-default"}
	set := "background.threads=7"
	k.atQuorum(t, kafkaConfigs, append([]string{"--alter", "--add-config", set}, entity...)...)
	wants(t, k.atQuorum(t, kafkaConfigs, append([]string{"--describe"}, entity...)...), set)
	k.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), true, set)
	k.atQuorum(t, kafkaConfigs, append([]string{"--alter", "--delete-config", "background.threads"}, entity...)...)
	k.everywhere(t, kafkaConfigs, append([]string{"--describe"}, entity...), false, set)
}

// aclsAtControllers has kafka-acls ask controllers.
func (k *kraft) aclsAtControllers(t *testing.T) {
	rule := []string{"--allow-principal", "User:controllers", "--operation", "Read", "--topic", orders}
	list := []string{"--list", "--topic", orders}
	k.atQuorum(t, kafkaACLs, append([]string{"--add"}, rule...)...)
	wants(t, k.atQuorum(t, kafkaACLs, list...), "principal=User:controllers")
	k.everywhere(t, kafkaACLs, list, true, "principal=User:controllers")
	k.atQuorum(t, kafkaACLs, append([]string{"--remove", "--force"}, rule...)...)
	k.everywhere(t, kafkaACLs, list, false, "principal=User:controllers")
}

// votersThroughBrokers removes and adds a voter by way of a broker.
func (k *kraft) votersThroughBrokers(t *testing.T) {
	q := k.awaitLeader(t, 0, ourControllers...)
	gone := without(ourControllers, q.leader)[0]
	at := []string{"--bootstrap-server", k.addr(plane1)}
	k.words(t, append(append([]string{kafkaMetadataQuorum}, at...), "remove-controller", "--controller-id", fmt.Sprint(gone),
		"--controller-directory-id", vocabulary.UUID(q.voters[gone]).String())...)
	k.awaitVoters(t, without(ourControllers, gone)...)
	k.awaitQuorum(t, fmt.Sprintf("controller %d observes", gone), func(q quorumState) error {
		if !slices.Contains(q.observers, gone) {
			return fmt.Errorf("the observers are %d", q.observers)
		}
		return nil
	})
	k.words(t, append(append([]string{kafkaMetadataQuorum}, at...), "--command-config", k.ownProperties(t, gone), "add-controller")...)
	k.awaitVoters(t, ourControllers...)
}

// storyFiles: kafka-dump-log and kafka-metadata-shell read what controllers of
// kbench have on disk. The shell wants no other process at the directory, so
// that it gets a copy.
func (k *kraft) storyFiles(t *testing.T) {
	for _, id := range ourControllers {
		copied := filepath.Join(k.dir, "copy-of-"+k.name(id))
		if err := os.CopyFS(copied, os.DirFS(k.dirs[id])); err != nil {
			t.Fatal(err)
		}
		k.dump(t, copied)
		if id == ours1 {
			k.walk(t, copied)
		}
		if err := os.RemoveAll(copied); err != nil {
			t.Error(err)
		}
	}
}

// walk has kafka-metadata-shell tell all that the newest snapshot holds. It runs
// in a JVM of its own, since it ends others that it shares, and again where it
// answers before it has loaded the file: it waits only until that is read.
func (k *kraft) walk(t *testing.T, dir string) {
	t.Helper()
	snapshots, err := filepath.Glob(filepath.Join(dir, metalog.PartitionDir, "*.checkpoint"))
	if err != nil || len(snapshots) == 0 {
		t.Fatalf("there is no snapshot in %s: %v", dir, err)
	}
	slices.Sort(snapshots)
	eventually(t, "kafka-metadata-shell shows what the snapshot holds", func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, k.shell.Java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(k.shell.Libs, "*"),
			kafkaMetadataShell, "--snapshot", snapshots[len(snapshots)-1], "find", "/image").CombinedOutput()
		if err != nil {
			t.Fatalf("kafka-metadata-shell: %v\n%s", err, out)
		}
		for _, path := range []string{"topics/byName/" + orders + "/5", "features/metadataVersion", "cluster/brokers/", "cluster/controllers/"} {
			if !strings.Contains(string(out), "/image/"+path) {
				return fmt.Errorf("there is no %s in\n%s", path, out)
			}
		}
		return nil
	})
}

// dumpFault is what kafka-dump-log says of a file with a fault. That the first
// record of a log that begins after 0 follows -1 is none.
var dumpFault = regexp.MustCompile(`isvalid: false|ismatch|Exception|out of order|does not match|Could not|^ *\d+ is followed by `)

// dump has kafka-dump-log read every file of a metadata log.
func (k *kraft) dump(t *testing.T, dir string) {
	t.Helper()
	var files []string
	for _, kind := range []string{"log", "index", "timeindex", "checkpoint"} {
		found, err := filepath.Glob(filepath.Join(dir, metalog.PartitionDir, "*."+kind))
		indexes := strings.HasSuffix(kind, "index") // which short logs have not
		if err != nil || len(found) == 0 && !indexes {
			t.Fatalf("there is no %s file in %s: %v", kind, dir, err)
		}
		files = append(files, found...)
	}
	said := k.words(t, kafkaDumpLog, "--cluster-metadata-decoder", "--files", strings.Join(files, ","))
	for line := range strings.Lines(said) {
		if dumpFault.MatchString(line) {
			t.Errorf("kafka-dump-log says of the files in %s: %s", dir, line)
		}
	}
	wants(t, said, "TOPIC_RECORD", `"name":"`+orders+`"`, "SnapshotHeader", "SnapshotFooter")
}
