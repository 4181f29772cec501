package interop

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/harness/kafka"
	"kbench/harness/process"
	"kbench/harness/provider"
	"kbench/harness/zookeeper"
	"kbench/internal/nodeconfig"
	vocabulary "kbench/kafka"
	"kbench/kafka/access"
)

// The brokers of a cluster: real ones, metadata-plane brokers of kbench, and
// candidates of kbench that host no replicas.
const (
	real1, real2, real3    broker = 1, 2, 3
	plane1, plane2, plane3 broker = 11, 12, 13
	first, second          broker = 1001, 1002
)

var (
	realBrokers  = []broker{real1, real2, real3}
	planeBrokers = []broker{plane1, plane2, plane3}
	candidates   = []broker{first, second}
)

const (
	version = "3.9.2" // of the real brokers
	// The session of the real brokers is long, so that a gate that is shut for a
	// while does not end it. That of kbench's nodes is shorter, so that a killed
	// controller is missed before, and outlives a moment in which the machine
	// stands still.
	tick        = time.Second
	realSession = 20 * time.Second
	ourSession  = 6 * time.Second
)

// rig is a cluster of ZooKeeper mode.
type rig struct {
	*cluster
	store  provider.Ensemble
	gate   *gate
	znodes *zk.Conn
}

// newRig starts ZooKeeper and the candidates; the first one holds /controller.
func newRig(t *testing.T, protocol string) *rig {
	t.Helper()
	r := &rig{cluster: newCluster(t, need(t, version, "interop-zk", func(kafka.Installation) error {
		_, err := zookeeper.Find()
		return err
	}))}
	r.protocol, r.registered, r.front, r.keepers = protocol, r.znode, first, realBrokers
	r.granted = `Controlled shutdown request returned successfully`
	var err error
	if r.store, err = r.provider.ZooKeeper(t.Context(), provider.ZooKeeper{Size: 1, TickTime: tick}); err != nil {
		t.Fatal(err)
	}
	if r.znodes, _, err = zk.Connect(r.store.Servers(), realSession, zk.WithLogger(silent{})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.znodes.Close)
	r.gate = newGate(t, r.store.Servers()[0])
	r.startOurs(t, first)
	r.awaitController(t, first)
	r.startOurs(t, second)
	r.awaitServing(t, second)
	return r
}

// newRealRig is a cluster of real brokers.
func newRealRig(t *testing.T, protocol string) *rig {
	t.Helper()
	began := time.Now()
	r := newRig(t, protocol)
	for _, id := range realBrokers {
		r.startReal(t, id)
	}
	r.awaitServing(t, realBrokers...)
	r.asks, r.all = []broker{real1, real3, first}, append(slices.Clone(realBrokers), candidates...)
	r.judgeLogs(t)
	t.Logf("the cluster is up after %v", time.Since(began).Round(time.Millisecond))
	return r
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// startOurs starts a node of kbench for the first time.
func (r *rig) startOurs(t *testing.T, id broker) {
	t.Helper()
	var dedicated []vocabulary.BrokerID
	for _, c := range candidates {
		dedicated = append(dedicated, vocabulary.BrokerID(c))
	}
	name := fmt.Sprintf("ours-%d", id)
	r.ports[id] = r.reserve(t, name)
	n, err := r.provider.Launch(t.Context(), nodeconfig.Config{
		Name: name, Role: nodeconfig.RoleBroker, Mode: nodeconfig.ModeZK,
		ClusterID: vocabulary.UUID{1: 1, 15: 7}.String(),
		Brokers: []nodeconfig.Broker{{
			ID: vocabulary.BrokerID(id), Host: process.Host, Port: r.ports[id], Candidate: slices.Contains(candidates, id),
		}},
		ZooKeeper: nodeconfig.ZooKeeper{
			Servers: r.store.Servers(), SessionTimeout: nodeconfig.Duration(ourSession), Dedicated: dedicated,
		},
		Tuning:   nodeconfig.Tuning{ZKProtocol: r.protocol},
		Security: aclsDecide,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.nodes[id] = n
	r.logs = append(r.logs, newNodeLog(name, filepath.Join(r.dir, "nodes", name, "node.log"), false))
}

// startReal starts a real broker for the first time.
func (r *rig) startReal(t *testing.T, id broker) {
	t.Helper()
	name := fmt.Sprintf("real-%d", id)
	r.ports[id], r.secure[id] = r.reserve(t, name), r.reserve(t, name)
	r.startKafka(t, id, name, "300m", r.properties(id))
}

// properties are those of a real broker. Its second listener is for clients
// alone, with SASL.
func (r *rig) properties(id broker) kafka.Properties {
	candidate := kafka.Candidate{
		ID: int32(id), Host: process.Host, Port: r.ports[id], Servers: []string{r.gate.addr()}, SessionTimeout: realSession,
	}
	p := candidate.Properties().With(kafka.Properties{
		{Key: "listeners", Value: fmt.Sprintf("%s://%s,SASL://%s:%d", kafka.Listener, r.addr(id), process.Host, r.secure[id])},
		{Key: "listener.security.protocol.map", Value: kafka.Listener + ":PLAINTEXT,SASL:SASL_PLAINTEXT"},
		{Key: "sasl.enabled.mechanisms", Value: "SCRAM-SHA-256"},
		{Key: "listener.name.sasl.scram-sha-256.sasl.jaas.config", Value: "org.apache.kafka.common.security.scram.ScramLoginModule required;"},
		{Key: "authorizer.class.name", Value: "kafka.security.authorizer.AclAuthorizer"},
		{Key: "super.users", Value: access.Anonymous},
		{Key: "offsets.topic.num.partitions", Value: strconv.Itoa(offsetsPartitions)},
		{Key: "offsets.topic.replication.factor", Value: "3"},
		{Key: "group.initial.rebalance.delay.ms", Value: "0"},
		{Key: "controlled.shutdown.retry.backoff.ms", Value: "500"},
		{Key: "log.cleaner.dedupe.buffer.size", Value: strconv.Itoa(8 << 20)},
		{Key: "log.segment.delete.delay.ms", Value: "100"},
		{Key: "log.initial.task.delay.ms", Value: "500"}, // of the first deletion of logs
	})
	if r.protocol != "" {
		p = p.With(kafka.Properties{{Key: "inter.broker.protocol.version", Value: r.protocol}})
	}
	return p
}
