package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"kbench/broker/replica"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/kafka/wire"
)

// Config is what both modes need. ID and Endpoints must be set; every other
// zero value takes Kafka's default.
type Config struct {
	ID kafka.BrokerID
	// ClusterID is what clients are told. ZooKeeper mode takes it from
	// /cluster/id, which is created with this one where it is a valid id.
	ClusterID string
	// Endpoints are what others dial, and the first is for brokers among
	// themselves. Every broker of a cluster needs the same listener names.
	Endpoints []kafka.Endpoint
	// Protocols are the security protocols of the Endpoints by listener; one
	// that is missing is plaintext.
	Protocols map[string]kafka.SecurityProtocol
	// Identity is how the broker shows itself at the others' first Endpoint.
	Identity wire.Identity
	Rack     string
	// DataDir keeps what must survive a restart; "" keeps nothing.
	DataDir string
	// LogDirs are the log directories, log.dirs. Replicas lie in them as Kafka's do,
	// and the broker is without those of a directory that fails. None keeps nothing
	// of the replicas on a disk.
	LogDirs []LogDir

	ReplicaLagMax  time.Duration // replica.lag.time.max.ms, 30 s
	FetchWait      time.Duration // replica.fetch.wait.max.ms, 500 ms: the period of an idle follower's fetches
	FetchBackoff   time.Duration // replica.fetch.backoff.ms, 1 s: after an answer with an error
	RequestTimeout time.Duration // of requests to other nodes, 30 s
	// CheckpointInterval is replica.high.watermark.checkpoint.interval.ms, 5 s: how
	// often a failed log directory is found.
	CheckpointInterval time.Duration
	// LogDirFailureTimeout is log.dir.failure.timeout.ms, 30 s: how long a broker of
	// KRaft mode tries to tell of a failed directory before it ends.
	LogDirFailureTimeout time.Duration
	// TokenSecret is delegation.token.secret.key, the same at all brokers; ""
	// refuses delegation tokens.
	TokenSecret string
	MinISR      int // min.insync.replicas where a topic has none, 1

	// ControllerAPIs are the handlers of a controller candidate in the same
	// process (ZooKeeper mode). They take the place of the broker's answer
	// NOT_CONTROLLER in APIs.
	ControllerAPIs []wire.API

	Trace  *trace.Writer // nil writes none
	Logger *slog.Logger  // nil discards
	Now    func() time.Time
	// Dial opens connections to other nodes; nil dials TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (c *Config) setDefaults() error {
	var errs []error
	if c.ID < 0 {
		errs = append(errs, fmt.Errorf("id %d: must not be negative", c.ID))
	}
	if len(c.Endpoints) == 0 {
		errs = append(errs, errors.New("no endpoint: name at least one listener with host and port"))
	}
	if len(c.LogDirs) > replica.MaxDirs {
		errs = append(errs, fmt.Errorf("%d log directories: at most %d", len(c.LogDirs), replica.MaxDirs))
	}
	seen := map[string]bool{}
	for _, e := range c.Endpoints {
		if e.Listener == "" || e.Host == "" || e.Port == 0 || seen[e.Listener] {
			errs = append(errs, fmt.Errorf("endpoint %q %s: needs a listener name of its own, a host and a port", e.Listener, e.Addr()))
		}
		seen[e.Listener] = true
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"ReplicaLagMax", &c.ReplicaLagMax, 30 * time.Second},
		{"FetchWait", &c.FetchWait, 500 * time.Millisecond},
		{"FetchBackoff", &c.FetchBackoff, time.Second},
		{"RequestTimeout", &c.RequestTimeout, 30 * time.Second},
		{"CheckpointInterval", &c.CheckpointInterval, 5 * time.Second},
		{"LogDirFailureTimeout", &c.LogDirFailureTimeout, 30 * time.Second},
	} {
		if *d.value < 0 {
			errs = append(errs, fmt.Errorf("%s %v: must not be negative", d.name, *d.value))
		}
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	c.MinISR = max(c.MinISR, 1)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("broker %d: %w", c.ID, err)
	}
	return nil
}
