package zkcontroller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/ibp"
	"kbench/kafka/wire"
	"kbench/zkcontroller/zk"
)

// Config is a candidate. ID and Servers must be set; every other zero value is
// Kafka's default.
type Config struct {
	ID        kafka.BrokerID
	Servers   []string         // of ZooKeeper, host:port
	Dedicated []kafka.BrokerID // brokers that get no replicas; the same at all candidates

	SessionTimeout time.Duration // zookeeper.session.timeout.ms, 18 s
	MaxInFlight    int           // zookeeper.max.in.flight.requests, 10; 1 is Kafka before 1.1
	UnfencedWrites bool          // true is Kafka before 2.1
	// PerPartition is Kafka before 1.1: one request to a broker for each
	// partition; with MaxInFlight 1 too, an event moves its partitions one after
	// another.
	PerPartition bool
	// StatesPerMulti is how many partition states one fenced multi writes at
	// most: 1, Kafka's way, to 200. From 2 on the states are not read before they
	// are written, see machine.Config.HeldStates.
	StatesPerMulti  int
	MaxRequestBytes int // jute.maxbuffer of the servers; 1 MiB less one
	MaxReplyBytes   int // the longest reply that is taken, such as the list of all topics; 64 MiB

	// Protocol is inter.broker.protocol.version, 3.9: it decides the versions of
	// the requests to brokers, topic ids and who writes ISRs.
	Protocol ibp.Version
	// NoBrokerEpochs is Kafka before 2.2 (KIP-380): requests carry no broker
	// epoch, and a broker that comes back between two looks is not noticed.
	NoBrokerEpochs bool

	// FullMetadata is Kafka 1.0: an UpdateMetadata about brokers carries every
	// partition too.
	FullMetadata bool
	// StateChangeLog names a file that gets a line, each written at once, for
	// every partition of every request to a broker: the logging that took most of
	// a controlled shutdown before Kafka 1.1. "" writes none.
	StateChangeLog string

	// ControlListener is control.plane.listener.name (KIP-291): the listener of
	// the brokers to which requests go; "" means Listener.
	ControlListener string
	Listener        string        // inter.broker.listener.name; PLAINTEXT
	SocketTimeout   time.Duration // controller.socket.timeout.ms, 30 s
	RetryBackoff    time.Duration // between tries of one request to a broker, 100 ms

	DefaultPartitions  int32 // num.partitions, 1
	DefaultReplication int16 // default.replication.factor, 1
	UncleanElection    bool  // unclean.leader.election.enable
	NoDeletion         bool  // delete.topic.enable=false

	// NoRebalance is auto.leader.rebalance.enable=false. Otherwise leaders move
	// back first after RebalanceDelay, then every RebalanceInterval.
	NoRebalance       bool
	RebalanceDelay    time.Duration // 5 s
	RebalanceInterval time.Duration // leader.imbalance.check.interval.seconds, 300 s
	ImbalancePercent  int           // leader.imbalance.per.broker.percentage, 10

	Trace  *trace.Writer // nil writes none
	Logger *slog.Logger  // nil discards

	// DialZooKeeper and DialBroker replace plain TCP, for TLS, tests and faults.
	DialZooKeeper func(network, addr string, timeout time.Duration) (net.Conn, error)
	DialBroker    func(ctx context.Context, network, addr string) (net.Conn, error)
	// Identity is how the controller shows itself at the brokers' listener for
	// it; Access is how it does to ZooKeeper.
	Identity wire.Identity
	Access   zk.Access
}

// maxStatesPerMulti keeps a multi below the least jute.maxbuffer that is taken,
// with names of the greatest length.
const maxStatesPerMulti = 200

func (c *Config) setDefaults() error {
	var errs []error
	if c.ID < 0 {
		errs = append(errs, fmt.Errorf("broker id %d is negative", c.ID))
	}
	if len(c.Servers) == 0 {
		errs = append(errs, errors.New("no ZooKeeper server: name at least one as host:port"))
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"SessionTimeout", &c.SessionTimeout, 18 * time.Second},
		{"SocketTimeout", &c.SocketTimeout, 30 * time.Second},
		{"RetryBackoff", &c.RetryBackoff, 100 * time.Millisecond},
		{"RebalanceDelay", &c.RebalanceDelay, 5 * time.Second},
		{"RebalanceInterval", &c.RebalanceInterval, 300 * time.Second},
	} {
		if *d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, it must not be negative", d.name, *d.value))
		}
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	if c.MaxInFlight < 0 || c.MaxRequestBytes < 0 || c.MaxReplyBytes < 0 {
		errs = append(errs, errors.New("MaxInFlight, MaxRequestBytes and MaxReplyBytes must not be negative"))
	}
	if c.StatesPerMulti == 0 {
		c.StatesPerMulti = 1
	}
	if c.StatesPerMulti < 1 || c.StatesPerMulti > maxStatesPerMulti {
		errs = append(errs, fmt.Errorf("StatesPerMulti is %d, it must be 1 to %d", c.StatesPerMulti, maxStatesPerMulti))
	}
	if c.MaxReplyBytes == 0 {
		c.MaxReplyBytes = zk.DefaultMaxReplyBytes
	}
	if c.Listener == "" {
		c.Listener = "PLAINTEXT"
	}
	if c.ControlListener == "" {
		c.ControlListener = c.Listener
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if len(errs) > 0 {
		return fmt.Errorf("zkcontroller: %w", errors.Join(errs...))
	}
	return nil
}
