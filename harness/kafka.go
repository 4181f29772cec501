package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	apache "kbench/harness/kafka"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/nodeconfig"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// kafkaShape is what the controllers of real Kafka have beside the shape that
// they share with kbench's.
type kafkaShape struct {
	version    string
	properties apache.Properties // what the spec adds
	heap       string
	jvm        []string
}

// kafkaShapeOf is nil where the controllers are kbench's.
func kafkaShapeOf(c spec.Cell) *kafkaShape {
	version := c.Target.Kafka()
	if version == "" {
		return nil
	}
	// The spec was judged: its text is what Parse reads.
	more, _ := apache.Parse(c.Config.Kafka.Properties)
	return &kafkaShape{
		version: version, properties: more,
		heap: c.Config.Kafka.Heap, jvm: strings.Fields(c.Config.Kafka.JVM),
	}
}

// kafkaNode is the controller m as a process of real Kafka.
func (s shape) kafkaNode(m member) *provider.Kafka {
	return &provider.Kafka{
		Name: m.cfg.Name, Version: s.kafka.version, Properties: s.kafkaProperties(m).With(s.kafka.properties),
		ClusterID: s.storageID(), Heap: s.kafka.heap, JVM: s.kafka.jvm,
	}
}

// storageID is what storage is formatted with: ZooKeeper mode formats none.
func (s shape) storageID() string {
	if s.mode == nodeconfig.ModeZK {
		return ""
	}
	return s.clusterID.String()
}

// kafkaProperties are those that make a real controller equal to kbench's.
func (s shape) kafkaProperties(m member) apache.Properties {
	if s.mode == nodeconfig.ModeZK {
		c := apache.Candidate{
			ID: int32(m.ids[0]), Servers: m.cfg.ZooKeeper.Servers,
			SessionTimeout: s.zkSession, MaxInFlight: s.tuning.ZKMaxInFlight,
		}
		if len(m.cfg.Brokers) > 0 {
			c.Host, c.Port = m.cfg.Brokers[0].Host, m.cfg.Brokers[0].Port
		}
		return c.Properties()
	}
	return apache.Controller{
		ID: int32(m.ids[0]), Voters: m.cfg.Quorum.Voters,
		FetchTimeout: s.timers.FetchTimeout.D(), ElectionTimeout: s.timers.ElectionTimeout.D(),
		ElectionBackoffMax: s.timers.ElectionBackoffMax.D(),
		BrokerSession:      s.timers.BrokerSession.D(), BrokerHeartbeat: s.timers.BrokerHeartbeat.D(),
		AppendLinger: s.tuning.AppendLinger.D(), NoOpInterval: s.tuning.NoOpInterval.D(),
	}.Properties()
}

// kafkaSettings says for reports how a cell's controllers are configured: what
// their server.properties hold beside names and addresses.
func kafkaSettings(c spec.Cell) string {
	s := shapeOf(c, [16]byte{})
	if s.kafka == nil {
		return "none: the settings of this cell say all"
	}
	m := member{ids: []kafka.BrokerID{firstControllerID}}
	var out apache.Properties
	for _, p := range s.kafkaProperties(m).With(s.kafka.properties) {
		if !named[p.Key] {
			out = append(out, p)
		}
	}
	return out.String()
}

// named are the properties that name and place a node.
var named = map[string]bool{
	"broker.id": true, "node.id": true, "listeners": true, "zookeeper.connect": true, "controller.quorum.voters": true,
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

// kafkaWarmUp says for reports what warms the JVMs.
func kafkaWarmUp(c spec.Cell) string {
	switch {
	case c.Target.Kafka() == "":
		return "none: compiled ahead"
	case c.Target.InZooKeeper():
		return fmt.Sprintf("the partitions are created, each candidate is the controller once, %d brokers leave and come back", warmShutdowns)
	}
	return fmt.Sprintf("the partitions are created, %d brokers leave and come back", warmShutdowns)
}

const (
	// candidateStarts bounds how often a candidate is started until it serves.
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
