package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apache "kbench/harness/kafka"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// kafkaShape is what the nodes of real Kafka have beside the shape that they
// share with kbench's.
type kafkaShape struct {
	version     string
	brokers     bool              // the brokers are Kafka's too
	properties  apache.Properties // what the spec adds, by who gets it
	ofBroker    apache.Properties
	ofControl   apache.Properties
	heap        string
	jvm         []string
	replicaLag  time.Duration // replica.lag.time.max.ms
	shutBackoff time.Duration // controlled.shutdown.retry.backoff.ms, ZooKeeper mode
}

// kafkaShapeOf is nil where the controllers are kbench's.
func kafkaShapeOf(c spec.Cell) *kafkaShape {
	version := c.Target.Kafka()
	if version == "" {
		return nil
	}
	// The spec was judged: its text is what Parse reads.
	parse := func(text string) apache.Properties { p, _ := apache.Parse(text); return p }
	k := c.Config.Kafka
	return &kafkaShape{
		version: version, brokers: c.RealBrokers(), properties: parse(k.Properties),
		ofBroker: parse(k.BrokerProperties), ofControl: parse(k.ControllerProperties),
		heap: k.Heap, jvm: strings.Fields(k.JVM),
		replicaLag: c.Config.Broker.ReplicaLagMax, shutBackoff: c.Config.Broker.ShutdownBackoff,
	}
}

// real reports whether a member runs real Kafka.
func (s shape) real(m member) bool { return s.kafka != nil && (s.kafka.brokers || !m.worker) }

// kafkaNode is the member m as a process of real Kafka.
func (s shape) kafkaNode(m member) *provider.Kafka {
	return &provider.Kafka{
		Name: m.cfg.Name, Version: s.kafka.version, Properties: s.kafkaFile(m),
		ClusterID: s.storageID(), MetadataVersion: s.tuning.MetadataVersion, Heap: s.kafka.heap, JVM: s.kafka.jvm,
	}
}

// kafkaFile is the server.properties of a member: what makes it equal to
// kbench's, then what the spec adds.
func (s shape) kafkaFile(m member) apache.Properties {
	more := s.kafka.ofControl
	if m.worker {
		more = s.kafka.ofBroker
	}
	return s.kafkaProperties(m).With(s.kafka.properties).With(more)
}

// storageID is what storage is formatted with: ZooKeeper mode formats none.
func (s shape) storageID() string {
	if s.mode == nodeconfig.ModeZK {
		return ""
	}
	return s.clusterID.String()
}

// kafkaProperties are those that make a real node equal to kbench's.
func (s shape) kafkaProperties(m member) apache.Properties {
	if s.mode == nodeconfig.ModeZK {
		c := apache.Candidate{
			ID: int32(m.ids[0]), Servers: m.cfg.ZooKeeper.Servers,
			SessionTimeout: s.zkSession, MaxInFlight: s.tuning.ZKMaxInFlight, ControlPlane: s.control,
		}
		if len(m.cfg.Brokers) > 0 {
			b := m.cfg.Brokers[0]
			c.Host, c.Port = b.Host, b.Port
			for _, e := range b.Listeners {
				c.ControlPort = e.Port
			}
		}
		if m.worker {
			c.ReplicaLagMax, c.ShutdownBackoff = s.kafka.replicaLag, s.kafka.shutBackoff
		}
		return c.Properties()
	}
	q := apache.Quorum{
		ID: int32(m.ids[0]), Voters: m.cfg.Quorum.Voters,
		FetchTimeout: s.timers.FetchTimeout.D(), ElectionTimeout: s.timers.ElectionTimeout.D(),
		ElectionBackoffMax: s.timers.ElectionBackoffMax.D(),
		BrokerSession:      s.timers.BrokerSession.D(), BrokerHeartbeat: s.timers.BrokerHeartbeat.D(),
		AppendLinger: s.tuning.AppendLinger.D(), NoOpInterval: s.tuning.NoOpInterval.D(),
	}
	if !m.worker {
		return apache.Controller{Quorum: q}.Properties()
	}
	b := m.cfg.Brokers[0]
	return apache.Broker{Quorum: q, Host: b.Host, Port: b.Port, ReplicaLagMax: s.kafka.replicaLag}.Properties()
}

// kafkaSettings says for reports how a cell's controllers are configured: what
// their server.properties hold beside names and addresses.
func kafkaSettings(c spec.Cell) string {
	s := shapeOf(c, [16]byte{})
	if s.kafka == nil {
		return "none: the settings of this cell say all"
	}
	m := member{ids: []kafka.BrokerID{firstControllerID}, worker: s.colocated}
	if s.colocated {
		m.cfg.Brokers = []nodeconfig.Broker{{}}
		m.cfg.Quorum.Voters = []nodeconfig.Voter{{ID: firstControllerID}}
	}
	return unnamed(s.kafkaFile(m))
}

// brokerSettings says the same of a cell's brokers.
func brokerSettings(c spec.Cell) string {
	s := shapeOf(c, [16]byte{})
	if s.kafka == nil || !s.kafka.brokers {
		return "none: the brokers are kbench's"
	}
	return unnamed(s.kafkaFile(member{ids: []kafka.BrokerID{1}, worker: true, cfg: nodeconfig.Config{Brokers: []nodeconfig.Broker{{}}}}))
}

// unnamed are the properties but for those that name and place a node.
func unnamed(p apache.Properties) string {
	return slices.DeleteFunc(slices.Clone(p), func(one provider.Property) bool { return named[one.Key] }).String()
}

// named are the properties that name and place a node.
var named = map[string]bool{
	"broker.id": true, "node.id": true, "listeners": true, "zookeeper.connect": true, "controller.quorum.voters": true,
}

// brokerSoftware says for reports what the brokers of a cell are.
func brokerSoftware(c spec.Cell) string {
	if c.RealBrokers() {
		return "those of Apache Kafka " + c.Target.Kafka() + ", which keep logs for their replicas"
	}
	return "kbench's metadata-plane brokers, which keep no user data"
}

// kafkaSoftware says for reports what the controllers of a cell are.
func kafkaSoftware(c spec.Cell) string {
	s := kafkaShapeOf(c)
	if s == nil {
		return "kbench's, a process of Go"
	}
	text := fmt.Sprintf("Apache Kafka %s on a JVM with a heap of %s and the flags of Kafka's start script", s.version, s.heap)
	if len(s.jvm) > 0 {
		text += " and " + strings.Join(s.jvm, " ")
	}
	return text
}

// kafkaNote tells in a cell what of it is real Kafka.
func kafkaNote(c spec.Cell) string {
	if c.RealBrokers() {
		return "controllers and brokers are " + kafkaSoftware(c) + "; nodes/*/*.properties is their configuration"
	}
	return "the controllers are " + kafkaSoftware(c) + ", the brokers are kbench's; nodes/*/controller-*.properties is their configuration"
}

// runFrom tells what processes of real Kafka run from where they say so, each
// once.
func (c *cluster) runFrom() (notes []string) {
	for _, proc := range c.processes() {
		if d, ok := provider.As[provider.Described](proc); ok {
			if note := "real Kafka runs from " + d.Description(); !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// kafkaWarmUp says for reports what warms the JVMs.
func kafkaWarmUp(c spec.Cell, store string) string {
	if !isWarmed(c, store) {
		return "none: compiled ahead"
	}
	warmed := "the partitions are created, "
	switch {
	case c.Target.Kafka() == "":
		warmed = "of ZooKeeper: " + warmed
	case c.Target.InZooKeeper() && c.RealBrokers():
		warmed += "each broker is the controller once, "
	case c.Target.InZooKeeper():
		warmed += "each candidate is the controller once, "
	}
	if n := WarmShutdowns(c); n > 1 {
		return fmt.Sprintf("%s%d brokers leave and come back", warmed, n)
	}
	return warmed + "a broker leaves and comes back"
}

const (
	// candidateStarts bounds how often a node of real Kafka is started until it
	// serves.
	candidateStarts = 5
	// kafkaLooks is the pause between two looks whether it does.
	kafkaLooks = 50 * time.Millisecond
)

// launchKafka starts a process of real Kafka and waits until it serves, so that
// brokers do not spend their patience on JVMs that begin. Such a JVM may be
// silent for longer than a short ZooKeeper session, and a candidate whose
// session expires before it serves exits: it is started again, since nothing
// is measured yet.
func (m member) launchKafka(ctx context.Context, p provider.Provider) (provider.Node, error) {
	proc, err := p.Kafka(ctx, *m.kafka)
	if err != nil {
		return nil, err
	}
	addr, most := m.cfg.Quorum.AddrOf(m.ids[0]), 1
	if len(m.cfg.Brokers) > 0 {
		addr, most = kafka.Endpoint{Host: m.cfg.Brokers[0].Host, Port: m.cfg.Brokers[0].Port}.Addr(), candidateStarts
	}
	for starts := 1; ; {
		if serves(ctx, addr) {
			return proc, nil
		}
		switch {
		case ctx.Err() != nil:
			return proc, fmt.Errorf("wait until it serves: %w", context.Cause(ctx))
		case proc.Running():
			time.Sleep(kafkaLooks)
		case starts == most:
			return proc, fmt.Errorf("it exited %d times before it served; the end of nodes/*/%s.log may say why", starts, proc.Name())
		default:
			starts++
			if err := proc.Start(ctx); err != nil {
				return proc, err
			}
		}
	}
}

// serves reports whether the node at addr answers requests: Kafka listens
// earlier than it answers.
func serves(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := wire.Dial(ctx, addr, wire.DialOptions{ClientID: "kbench-health"})
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = conn.APIVersions(ctx)
	return err == nil
}
