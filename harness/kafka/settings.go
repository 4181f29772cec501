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

// controllerListener is the name of a KRaft controller's listener.
const controllerListener = "CONTROLLER"

// Candidate is the configuration of a broker of ZooKeeper mode that is there to
// be the controller. Zero durations leave Kafka's default.
type Candidate struct {
	ID             int32
	Host           string
	Port           uint16
	Servers        []string      // of ZooKeeper, host:port
	SessionTimeout time.Duration // zookeeper.session.timeout.ms
	MaxInFlight    int           // zookeeper.max.in.flight.requests; 0 leaves Kafka's default
}

// Properties is the candidate's server.properties without log.dirs.
func (c Candidate) Properties() Properties {
	p := Properties{
		{Key: "broker.id", Value: strconv.Itoa(int(c.ID))},
		// Ids above 1000 are for brokers that number themselves otherwise.
		{Key: "broker.id.generation.enable", Value: "false"},
		{Key: "listeners", Value: Listener + "://" + address(c.Host, c.Port)},
		{Key: "inter.broker.listener.name", Value: Listener},
		{Key: "zookeeper.connect", Value: strings.Join(c.Servers, ",")},
	}
	p = p.millis("zookeeper.session.timeout.ms", c.SessionTimeout)
	if c.MaxInFlight > 0 {
		p = append(p, provider.Property{Key: "zookeeper.max.in.flight.requests", Value: strconv.Itoa(c.MaxInFlight)})
	}
	return append(p, quiet...)
}

// Controller is the configuration of a voter of a KRaft quorum. Zero durations
// leave Kafka's default, but for those where zero is a value.
type Controller struct {
	ID                 int32
	Voters             []nodeconfig.Voter // this one among them
	FetchTimeout       time.Duration      // controller.quorum.fetch.timeout.ms
	ElectionTimeout    time.Duration      // controller.quorum.election.timeout.ms
	ElectionBackoffMax time.Duration      // controller.quorum.election.backoff.max.ms, 0 too
	BrokerSession      time.Duration      // broker.session.timeout.ms
	BrokerHeartbeat    time.Duration      // broker.heartbeat.interval.ms
	AppendLinger       time.Duration      // controller.quorum.append.linger.ms, 0 too
	NoOpInterval       time.Duration      // metadata.max.idle.interval.ms, 0 too: none are written
}

// Properties is the controller's server.properties without log.dirs.
func (c Controller) Properties() Properties {
	var voters []string
	var self string
	for _, v := range c.Voters {
		voters = append(voters, fmt.Sprintf("%d@%s", v.ID, v.Addr()))
		if int32(v.ID) == c.ID {
			self = address(v.Host, v.Port)
		}
	}
	p := Properties{
		{Key: "process.roles", Value: "controller"},
		{Key: "node.id", Value: strconv.Itoa(int(c.ID))},
		{Key: "listeners", Value: controllerListener + "://" + self},
		{Key: "controller.listener.names", Value: controllerListener},
		{Key: "listener.security.protocol.map", Value: controllerListener + ":PLAINTEXT," + Listener + ":PLAINTEXT"},
		{Key: "controller.quorum.voters", Value: strings.Join(voters, ",")},
	}
	p = p.millis("controller.quorum.fetch.timeout.ms", c.FetchTimeout)
	p = p.millis("controller.quorum.election.timeout.ms", c.ElectionTimeout)
	p = p.millis("broker.session.timeout.ms", c.BrokerSession)
	p = p.millis("broker.heartbeat.interval.ms", c.BrokerHeartbeat)
	p = append(p,
		provider.Property{Key: "controller.quorum.election.backoff.max.ms", Value: millis(c.ElectionBackoffMax)},
		provider.Property{Key: "controller.quorum.append.linger.ms", Value: millis(c.AppendLinger)},
		provider.Property{Key: "metadata.max.idle.interval.ms", Value: millis(c.NoOpInterval)},
	)
	return append(p, quiet...)
}

// quiet keeps a controller from moving leaders or making topics by itself in
// the midst of a measurement. kbench's controllers do neither.
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
