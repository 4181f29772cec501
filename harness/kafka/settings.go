package kafka

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
)

// Listener is the name of a candidate's listener, as that of kbench's brokers:
// controllers reach brokers by the listener of their own name.
const Listener = "PLAINTEXT"

// controlListener is the name of a candidate's control-plane listener, which
// must be that of kbench's brokers too.
const controlListener = nodeconfig.ControlPlaneListener

// controllerListener is the name of a KRaft controller's listener.
const controllerListener = "CONTROLLER"

// Candidate is the configuration of a broker of ZooKeeper mode: one that is
// there to be the controller alone, or one that hosts replicas too. Zero
// durations leave Kafka's default.
type Candidate struct {
	ID              int32
	Host            string
	Port            uint16
	ControlPlane    bool          // there is a control-plane listener (KIP-291), at ControlPort
	ControlPort     uint16        //
	Servers         []string      // of ZooKeeper, host:port
	SessionTimeout  time.Duration // zookeeper.session.timeout.ms
	MaxInFlight     int           // zookeeper.max.in.flight.requests; 0 leaves Kafka's default
	ReplicaLagMax   time.Duration // replica.lag.time.max.ms
	ShutdownBackoff time.Duration // controlled.shutdown.retry.backoff.ms
}

// Properties is the candidate's server.properties without log.dirs.
func (c Candidate) Properties() Properties {
	p := Properties{
		{Key: "broker.id", Value: strconv.Itoa(int(c.ID))},
		// Ids above 1000 are for brokers that number themselves otherwise.
		{Key: "broker.id.generation.enable", Value: "false"},
		{Key: "listeners", Value: c.listeners()},
		{Key: "inter.broker.listener.name", Value: Listener},
		{Key: "zookeeper.connect", Value: strings.Join(c.Servers, ",")},
	}
	if c.ControlPlane {
		p = append(p,
			provider.Property{Key: "control.plane.listener.name", Value: controlListener},
			provider.Property{Key: "listener.security.protocol.map", Value: controlListener + ":PLAINTEXT," + Listener + ":PLAINTEXT"},
		)
	}
	p = p.millis("zookeeper.session.timeout.ms", c.SessionTimeout)
	if c.MaxInFlight > 0 {
		p = append(p, provider.Property{Key: "zookeeper.max.in.flight.requests", Value: strconv.Itoa(c.MaxInFlight)})
	}
	p = p.millis("replica.lag.time.max.ms", c.ReplicaLagMax)
	p = p.millis("controlled.shutdown.retry.backoff.ms", c.ShutdownBackoff)
	return append(p, quiet...)
}

func (c Candidate) listeners() string {
	text := Listener + "://" + address(c.Host, c.Port)
	if c.ControlPlane {
		text += "," + controlListener + "://" + address(c.Host, c.ControlPort)
	}
	return text
}

// Quorum is what every node of a KRaft cluster is told. Zero durations leave
// Kafka's default, but for those where zero is a value.
type Quorum struct {
	ID                 int32
	Voters             []nodeconfig.Voter
	FetchTimeout       time.Duration // controller.quorum.fetch.timeout.ms
	ElectionTimeout    time.Duration // controller.quorum.election.timeout.ms
	ElectionBackoffMax time.Duration // controller.quorum.election.backoff.max.ms, 0 too
	BrokerSession      time.Duration // broker.session.timeout.ms
	BrokerHeartbeat    time.Duration // broker.heartbeat.interval.ms
	AppendLinger       time.Duration // controller.quorum.append.linger.ms, 0 too
	NoOpInterval       time.Duration // metadata.max.idle.interval.ms, 0 too: none are written
}

// Controller is the configuration of a voter: its ID is among the Voters.
type Controller struct{ Quorum }

// Properties is the controller's server.properties without log.dirs.
func (c Controller) Properties() Properties {
	return c.properties("controller", controllerListener+"://"+c.self())
}

// Broker is the configuration of a broker of a KRaft cluster, and of a voter
// too where its ID is among the Voters.
type Broker struct {
	Quorum
	Host          string
	Port          uint16
	ReplicaLagMax time.Duration // replica.lag.time.max.ms
}

// Properties is the broker's server.properties without log.dirs.
func (b Broker) Properties() Properties {
	roles, listeners := "broker", Listener+"://"+address(b.Host, b.Port)
	if self := b.self(); self != "" {
		roles, listeners = "broker,controller", listeners+","+controllerListener+"://"+self
	}
	p := b.properties(roles, listeners)
	p = append(p, provider.Property{Key: "inter.broker.listener.name", Value: Listener})
	return p.millis("replica.lag.time.max.ms", b.ReplicaLagMax)
}

// self is where the node listens as a voter, "" where it is none.
func (q Quorum) self() string {
	for _, v := range q.Voters {
		if int32(v.ID) == q.ID {
			return address(v.Host, v.Port)
		}
	}
	return ""
}

func (q Quorum) properties(roles, listeners string) Properties {
	var voters []string
	for _, v := range q.Voters {
		voters = append(voters, fmt.Sprintf("%d@%s", v.ID, v.Addr()))
	}
	p := Properties{
		{Key: "process.roles", Value: roles},
		{Key: "node.id", Value: strconv.Itoa(int(q.ID))},
		{Key: "listeners", Value: listeners},
		{Key: "controller.listener.names", Value: controllerListener},
		{Key: "listener.security.protocol.map", Value: controllerListener + ":PLAINTEXT," + Listener + ":PLAINTEXT"},
		{Key: "controller.quorum.voters", Value: strings.Join(voters, ",")},
	}
	p = p.millis("controller.quorum.fetch.timeout.ms", q.FetchTimeout)
	p = p.millis("controller.quorum.election.timeout.ms", q.ElectionTimeout)
	p = p.millis("broker.session.timeout.ms", q.BrokerSession)
	p = p.millis("broker.heartbeat.interval.ms", q.BrokerHeartbeat)
	p = append(p,
		provider.Property{Key: "controller.quorum.election.backoff.max.ms", Value: millis(q.ElectionBackoffMax)},
		provider.Property{Key: "controller.quorum.append.linger.ms", Value: millis(q.AppendLinger)},
		provider.Property{Key: "metadata.max.idle.interval.ms", Value: millis(q.NoOpInterval)},
	)
	return append(p, quiet...)
}

// quiet keeps a node from moving leaders or making topics by itself in the midst
// of a measurement. kbench's do neither.
var quiet = Properties{
	{Key: "auto.leader.rebalance.enable", Value: "false"},
	{Key: "auto.create.topics.enable", Value: "false"},
}

func (p Properties) millis(key string, d time.Duration) Properties {
	if d == 0 {
		return p
	}
	return append(p, provider.Property{Key: key, Value: millis(d)})
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func address(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
