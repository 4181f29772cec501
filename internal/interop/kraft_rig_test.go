package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kbench/harness/kafka"
	"kbench/harness/process"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	vocabulary "kbench/kafka"
	"kbench/kafka/access"
	"kbench/kraftcontroller/metalog"
)

// The controllers of KRaft clusters. The brokers are those of ZooKeeper mode.
const (
	ours1, ours2, ours3    broker = 1001, 1002, 1003
	kafka1, kafka2, kafka3 broker = 2001, 2002, 2003
)

var (
	ourControllers  = []broker{ours1, ours2, ours3}
	realControllers = []broker{kafka1, kafka2, kafka3}
)

const (
	versionKRaft = "4.4.0" // of the real nodes
	kraftCluster = "MkU3OEVBNTcwNTJENDM2Qg"
	// metadataVersion is the newest that kafka-metadata-shell knows, too. Clusters
	// begin with it and are raised to the newest once the shell has read a snapshot.
	metadataVersion = "4.3-IV0"

	// Timers are longer than Kafka's, so that a node that the machine keeps from
	// running for a while is not taken for dead; the session is shorter, since a
	// story waits for its end.
	requestTimeout   = 30 * time.Second
	brokerSession    = 6 * time.Second
	brokerHeartbeat  = time.Second
	bytesToASnapshot = 4_000 // of records, so that nodes that join begin from a snapshot
)

// kraft is a cluster of KRaft mode whose voters are those of its log.
type kraft struct {
	*cluster
	shell       kafka.Installation // that has kafka-metadata-shell
	controllers []broker           // all that may be, each with a port
	directories map[broker]string  // ids of the first voters' directories
	paused      map[broker]bool
}

// fetchTimeouts are those of the controllers. Of two that miss the leader the one
// that does so last wins the election most often: until it does it grants the
// other no pre-vote. With these, leaders of both kinds follow each other soon in
// each mixed quorum.
var fetchTimeouts = map[broker]time.Duration{
	kafka3: 3000 * time.Millisecond, kafka2: 3000 * time.Millisecond, ours1: 3300 * time.Millisecond,
	kafka1: 3600 * time.Millisecond, ours2: 3900 * time.Millisecond, ours3: 4200 * time.Millisecond,
}

// fetchTimeout is that of a controller or a broker.
func fetchTimeout(id broker) time.Duration { return cmp.Or(fetchTimeouts[id], 3*time.Second) }

// isReal reports whether a controller is of Apache Kafka.
func isReal(id broker) bool { return id >= kafka1 }

// newKRaft gives each controller its port and starts none.
func newKRaft(t *testing.T, controllers ...broker) *kraft {
	t.Helper()
	inst := need(t, versionKRaft, "interop-kraft", func(inst kafka.Installation) error {
		_, err := shellBeside(inst)
		return err
	})
	k := &kraft{cluster: newCluster(t, inst), controllers: controllers, directories: map[broker]string{}, paused: map[broker]bool{}}
	var err error
	if k.shell, err = shellBeside(inst); err != nil {
		t.Fatal(err)
	}
	k.registered, k.granted = k.unfenced, `The controller has asked us to exit controlled shutdown`
	for _, id := range controllers {
		k.ports[id], k.directories[id] = k.reserve(t, k.name(id)), metalog.RandomUUID().String()
	}
	return k
}

// shellBeside finds kafka-metadata-shell: releases have it among all jars, `make
// kafka` has not.
func shellBeside(inst kafka.Installation) (kafka.Installation, error) {
	apart := filepath.Join(inst.Libs, "..", "..", "shell", "libs")
	for _, libs := range []string{inst.Libs, apart} {
		found, err := filepath.Glob(filepath.Join(libs, "kafka-shell-*.jar"))
		if err != nil {
			return inst, err
		}
		if len(found) > 0 {
			if libs == apart {
				inst.Libs, inst.Version = apart, "shell"
			}
			return inst, nil
		}
	}
	return inst, fmt.Errorf("no kafka-shell jar in %s or %s: `harness/kafka/maven/fetch.sh shell %s` fetches it", inst.Libs, apart, filepath.Join(apart, "..", ".."))
}

func (k *kraft) name(id broker) string {
	kind := "ours"
	if isReal(id) || slices.Contains(realBrokers, id) {
		kind = "real"
	}
	return fmt.Sprintf("%s-%d", kind, id)
}

// quorumServers are where a node asks who leads.
func (k *kraft) quorumServers() []string {
	out := make([]string, len(k.controllers))
	for i, id := range k.controllers {
		out[i] = k.addr(id)
	}
	return out
}

// first is how a node's directory is formatted where these are the first voters.
func (k *kraft) firstVoters(ids ...broker) []string {
	voters := make([]string, len(ids))
	for i, id := range ids {
		voters[i] = fmt.Sprintf("%d@%s:%s", id, k.addr(id), k.directories[id])
	}
	return []string{"--initial-controllers", strings.Join(voters, ",")}
}

// joins is how a node's directory is formatted that is no first voter.
var joins = []string{"--no-initial-controllers"}

// startController starts a controller for the first time.
func (k *kraft) startController(t *testing.T, id broker, format []string) {
	t.Helper()
	if isReal(id) {
		k.startFormatted(t, id, "256m", k.controllerProperties(id), format)
		return
	}
	k.dirs[id] = filepath.Join(k.dir, "nodes", k.name(id), "data", "metadata")
	words := append([]string{
		"node", "format", "--cluster-id", kraftCluster, "--node-id", fmt.Sprint(id), "--data-dir", k.dirs[id], "--release-version", metadataVersion,
	}, format...)
	if out, err := exec.CommandContext(t.Context(), k.binary, words...).CombinedOutput(); err != nil {
		t.Fatalf("kbench %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	k.launch(t, id, nodeconfig.Config{
		Role:   nodeconfig.RoleController,
		Quorum: nodeconfig.Quorum{NodeID: vocabulary.BrokerID(id), Host: process.Host, Port: k.ports[id], Bootstrap: k.quorumServers()},
		Tuning: nodeconfig.Tuning{SnapshotBytes: bytesToASnapshot},
	})
}

// startOurBroker starts a metadata-plane broker for the first time.
func (k *kraft) startOurBroker(t *testing.T, id broker) {
	t.Helper()
	k.ports[id] = k.reserve(t, k.name(id))
	k.launch(t, id, nodeconfig.Config{
		Role:    nodeconfig.RoleBroker,
		Brokers: []nodeconfig.Broker{{ID: vocabulary.BrokerID(id), Host: process.Host, Port: k.ports[id]}},
		Quorum:  nodeconfig.Quorum{Bootstrap: k.quorumServers()},
	})
}

func (k *kraft) launch(t *testing.T, id broker, cfg nodeconfig.Config) {
	t.Helper()
	cfg.Name, cfg.Mode, cfg.ClusterID, cfg.Security = k.name(id), nodeconfig.ModeKRaft, kraftCluster, aclsDecide
	cfg.Timers = nodeconfig.Timers{
		FetchTimeout: nodeconfig.Duration(fetchTimeout(id)), BrokerSession: nodeconfig.Duration(brokerSession), BrokerHeartbeat: nodeconfig.Duration(brokerHeartbeat),
	}
	n, err := k.provider.Launch(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.nodes[id] = n
	k.logs = append(k.logs, newNodeLog(cfg.Name, filepath.Join(k.dir, "nodes", cfg.Name, "node.log"), false))
}

// startRealBroker starts a real broker for the first time.
func (k *kraft) startRealBroker(t *testing.T, id broker) {
	t.Helper()
	k.ports[id], k.secure[id] = k.reserve(t, k.name(id)), k.reserve(t, k.name(id))
	p := k.brokerProperties(id)
	if id == jbod {
		data := filepath.Join(k.dir, k.name(id), "data")
		k.logDirs[id] = []string{data, data + "-2"}
		p = append(p, provider.Property{Key: "log.dirs", Value: strings.Join(k.logDirs[id], ",")},
			provider.Property{Key: "replica.high.watermark.checkpoint.interval.ms", Value: "500"}) // by which it finds out that one has failed
	}
	k.startFormatted(t, id, "300m", p, joins)
}

// startFormatted has kafka-storage prepare a directory, and starts its node.
func (k *kraft) startFormatted(t *testing.T, id broker, heap string, p kafka.Properties, format []string) {
	t.Helper()
	place := kafka.Place{Conf: filepath.Join(k.dir, k.name(id)), Libs: k.inst.Libs}
	place.Data = filepath.Join(place.Conf, "data")
	if err := os.MkdirAll(place.Conf, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range place.Files(p) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k.format(t, id, format)
	k.startKafka(t, id, k.name(id), heap, p)
}

// format has kafka-storage prepare the directory of a real node.
func (k *kraft) format(t *testing.T, id broker, how []string) {
	t.Helper()
	file := filepath.Join(k.dir, k.name(id), "server.properties")
	runs(t, k.tools, append([]string{kafkaStorage, "format", "-t", kraftCluster, "-c", file, "--release-version", metadataVersion}, how...)...)
}

// nodeProperties are what real controllers and brokers have alike. Everybody
// may do everything as an anonymous user; others have what ACLs give them.
func (k *kraft) nodeProperties(id broker, role, listeners string) kafka.Properties {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return kafka.Properties{
		{Key: "process.roles", Value: role},
		{Key: "node.id", Value: fmt.Sprint(id)},
		{Key: "listeners", Value: listeners},
		{Key: "controller.listener.names", Value: "CONTROLLER"},
		{Key: "listener.security.protocol.map", Value: "CONTROLLER:PLAINTEXT," + kafka.Listener + ":PLAINTEXT,SASL:SASL_PLAINTEXT"},
		{Key: "controller.quorum.bootstrap.servers", Value: strings.Join(k.quorumServers(), ",")},
		{Key: "controller.quorum.fetch.timeout.ms", Value: ms(fetchTimeout(id))},
		{Key: "controller.quorum.request.timeout.ms", Value: ms(requestTimeout)},
		{Key: "broker.session.timeout.ms", Value: ms(brokerSession)},
		{Key: "broker.heartbeat.interval.ms", Value: ms(brokerHeartbeat)},
		{Key: "metadata.log.max.record.bytes.between.snapshots", Value: strconv.Itoa(bytesToASnapshot)},
		{Key: "auto.leader.rebalance.enable", Value: "false"},
		{Key: "auto.create.topics.enable", Value: "false"},
		{Key: "authorizer.class.name", Value: "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
		{Key: "super.users", Value: access.Anonymous},
	}
}

func (k *kraft) controllerProperties(id broker) kafka.Properties {
	return k.nodeProperties(id, "controller", "CONTROLLER://"+k.addr(id))
}

// brokerProperties has a second listener for clients alone, with SASL.
func (k *kraft) brokerProperties(id broker) kafka.Properties {
	listeners := fmt.Sprintf("%s://%s,SASL://%s:%d", kafka.Listener, k.addr(id), process.Host, k.secure[id])
	return k.nodeProperties(id, "broker", listeners).With(kafka.Properties{
		{Key: "inter.broker.listener.name", Value: kafka.Listener},
		{Key: "sasl.enabled.mechanisms", Value: "SCRAM-SHA-256"},
		{Key: "listener.name.sasl.scram-sha-256.sasl.jaas.config", Value: "org.apache.kafka.common.security.scram.ScramLoginModule required;"},
		{Key: "offsets.topic.num.partitions", Value: strconv.Itoa(offsetsPartitions)},
		{Key: "offsets.topic.replication.factor", Value: "3"},
		{Key: "transaction.state.log.num.partitions", Value: "2"},
		{Key: "transaction.state.log.replication.factor", Value: "3"},
		{Key: "transaction.state.log.min.isr", Value: "1"},
		{Key: "group.initial.rebalance.delay.ms", Value: "0"},
		{Key: "log.cleaner.dedupe.buffer.size", Value: strconv.Itoa(8 << 20)},
		{Key: "log.segment.delete.delay.ms", Value: "100"},
		{Key: "log.initial.task.delay.ms", Value: "500"}, // of the first deletion of logs
	})
}

// restartController starts a controller again; it is waited for where its log
// is compared.
func (k *kraft) restartController(t *testing.T, id broker) {
	t.Helper()
	if err := k.nodes[id].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// pause stops a controller in its tracks until resume.
func (k *kraft) pause(t *testing.T, id broker) {
	t.Helper()
	if _, err := k.nodes[id].Signal(t.Context(), provider.Pause); err != nil {
		t.Fatal(err)
	}
	k.paused[id] = true
}

func (k *kraft) resume(t *testing.T, id broker) {
	t.Helper()
	if _, err := k.nodes[id].Signal(t.Context(), provider.Resume); err != nil {
		t.Fatal(err)
	}
	delete(k.paused, id)
}

// answering are the nodes of a list that run.
func (k *kraft) answering(ids []broker) []broker {
	return slices.DeleteFunc(slices.Clone(ids), func(id broker) bool {
		return k.nodes[id] == nil || k.paused[id] || !k.nodes[id].Running()
	})
}

// words runs a tool that must exit 0 and gives what it printed.
func (k *kraft) words(t *testing.T, words ...string) string {
	t.Helper()
	return runs(t, k.tools, words...)
}

func runs(t *testing.T, x *tools, words ...string) string {
	t.Helper()
	said, code, err := x.run("", words...)
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 {
		t.Fatalf("%s\nexit %d:\n%s", strings.Join(words, " "), code, said)
	}
	return said
}

// atQuorum runs a tool against the controllers that run.
func (k *kraft) atQuorum(t *testing.T, class string, words ...string) string {
	t.Helper()
	return k.words(t, k.quorumWords(class, words...)...)
}

func (k *kraft) quorumWords(class string, words ...string) []string {
	var at []string
	for _, id := range k.answering(k.controllers) {
		at = append(at, k.addr(id))
	}
	return append([]string{class, "--bootstrap-controller", strings.Join(at, ",")}, words...)
}

// unfenced asks a broker itself, if it runs, or another whether it is unfenced.
func (k *kraft) unfenced(ctx context.Context, id broker) error {
	running := k.answering(append([]broker{id}, k.all...))
	if len(running) == 0 {
		return errors.New("no broker runs")
	}
	known, err := k.brokersAt(ctx, running[0])
	if err == nil && !slices.Contains(known, id) {
		err = fmt.Errorf("at broker %d: %w", running[0], errAbsent)
	}
	return err
}

// kinds tells which of both kinds some controllers are.
func kinds(ids map[broker]bool) (ours, real bool) {
	for id := range maps.Keys(ids) {
		ours, real = ours || !isReal(id), real || isReal(id)
	}
	return ours, real
}
