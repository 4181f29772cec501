package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kbench/kafka/ibp"
	"kbench/kafka/metadata"
)

// kind is the type of a setting or workload parameter, as written in YAML.
type kind int

const (
	kindCount kind = iota
	kindDuration
	kindRate
	kindBool
	kindEnum
	kindText
	kindControllers // a count, or the word colocated
)

// param is one named scalar of a T: how it is written, its bounds and where
// it lives.
type param[T any] struct {
	path  string
	doc   string
	kind  kind
	min   float64 // counts, nanoseconds or events per second
	max   float64
	enum  []string
	check func(text string) error // of text
	// targets are those it acts on, by kind; nil for all.
	targets []Target
	field   func(*T) any
}

// actsOn reports whether the setting changes anything for a target.
func (p param[T]) actsOn(t Target) bool {
	return p.targets == nil || slices.Contains(p.targets, t.Kind())
}

// settings lists every scalar path of a cluster, in the order of the
// normalised form.
var settings = []param[Config]{
	count("cluster.partitions", 1, 10_000_000, "partitions of the whole cluster, made through CreateTopics before measuring", func(c *Config) any { return &c.Cluster.Partitions }),
	count("cluster.brokers", 1, 1000, "brokers that host replicas", func(c *Config) any { return &c.Cluster.Brokers }),
	{path: "cluster.controllers", kind: kindControllers, min: 1, max: 9, doc: "dedicated controllers: voters in kraft, candidates without replicas in zk; or colocated, on the brokers", field: func(c *Config) any { return &c.Cluster.Controllers }},
	count("cluster.replication", 1, 10, "replicas of each partition", func(c *Config) any { return &c.Cluster.Replication }),
	count("cluster.partitionsPerTopic", 1, 10_000, "partitions of each topic; the last topic takes what is left", func(c *Config) any { return &c.Cluster.PartitionsPerTopic }),
	count("cluster.brokersPerNode", 1, 500, "brokers in one node process; victims always have a process of their own", func(c *Config) any { return &c.Cluster.BrokersPerNode }),
	on(startedTargets, count("cluster.logDirs", 1, 16, "log directories of each of kbench's brokers, log.dirs; with several they keep checkpoints there, and a directory may fail", func(c *Config) any { return &c.Cluster.LogDirs })),
	enum("cluster.timeouts", "timer profile: Kafka's defaults, or matched 2 s timers on both sides", func(c *Config) any { return &c.Cluster.Timeouts }, string(TimeoutsDefault), string(TimeoutsMatched)),
	on(zkTargets, enum("cluster.store", "metadata store of zk: a real ZooKeeper, the embedded single server, or the real one where it is to be had", func(c *Config) any { return &c.Cluster.Store }, string(StoreAuto), string(StoreZooKeeper), string(StoreEmbedded))),
	on(zkTargets, enum("cluster.ensemble", "servers of a real ZooKeeper", func(c *Config) any { return &c.Cluster.Ensemble }, "1", "3")),
	on(securedTargets, enum("cluster.security", "listeners of brokers and controllers: plaintext, or with ACLs and TLS (certificates of both sides), SASL (SCRAM-SHA-512) or both; sessions with ZooKeeper stay plain", func(c *Config) any { return &c.Cluster.Security }, plaintext, string(SecurityTLS), string(SecuritySASL), string(SecuritySASLTLS))),

	on(zkTargets, duration("zk.sessionTimeout", 100*time.Millisecond, 10*time.Minute, "zookeeper.session.timeout.ms", func(c *Config) any { return &c.ZK.SessionTimeout })),
	on(zkTargets, duration("zk.tickTime", 10*time.Millisecond, time.Minute, "ZooKeeper's tickTime; sessions are granted between 2 and 20 ticks", func(c *Config) any { return &c.ZK.TickTime })),
	on(zkTargets, count("zk.maxInFlight", 1, 1000, "zookeeper.max.in.flight.requests; 1 is Kafka before 1.1", func(c *Config) any { return &c.ZK.MaxInFlight })),
	on([]Target{ZK}, boolean("zk.fencedWrites", "writes fenced by the controller epoch; false is Kafka before 2.1", func(c *Config) any { return &c.ZK.FencedWrites })),
	on([]Target{ZK}, boolean("zk.perPartitionRequests", "one controller request for each partition, as Kafka before 1.1", func(c *Config) any { return &c.ZK.PerPartitionRequests })),
	on([]Target{ZK}, count("zk.statesPerMulti", 1, 200, "partition states written by one multi; 1 is Kafka's way, which reads each before it writes it", func(c *Config) any { return &c.ZK.StatesPerMulti })),

	on([]Target{ZK}, boolean("zk.brokerEpochs", "requests to brokers carry their epochs; false is Kafka before 2.2 (KIP-380)", func(c *Config) any { return &c.ZK.BrokerEpochs })),
	on([]Target{ZK}, boolean("zk.fullMetadata", "an UpdateMetadata about brokers carries every partition too, as in Kafka 1.0", func(c *Config) any { return &c.ZK.FullMetadata })),
	on([]Target{ZK}, boolean("zk.stateChangeLog", "a line written at once for each partition of each controller request, as before Kafka 1.1", func(c *Config) any { return &c.ZK.StateChangeLog })),
	on(zkTargets, boolean("zk.controlPlaneListener", "control.plane.listener.name: requests from and to the controller have a listener, a queue and a handler of their own at each broker (KIP-291); false shares those of clients, as Kafka does", func(c *Config) any { return &c.ZK.ControlPlaneListener })),
	on([]Target{ZK}, text("zk.protocol", "inter.broker.protocol.version: versions of controller requests, topic ids, who writes ISRs", checkProtocol, func(c *Config) any { return &c.ZK.Protocol })),

	on(kraftTargets, duration("kraft.append.linger", 0, 10*time.Second, "controller.quorum.append.linger.ms", func(c *Config) any { return &c.KRaft.AppendLinger })),
	on(kraftTargets, duration("kraft.noop.interval", 0, time.Hour, "metadata.max.idle.interval.ms; 0s writes no NoOp records", func(c *Config) any { return &c.KRaft.NoOpInterval })),
	on(kraftTargets, boolean("kraft.hwPush", "fetches are answered when the high watermark moves (KIP-1166), as Kafka does from 4.1 on", func(c *Config) any { return &c.KRaft.HWPush })),
	on([]Target{KRaft, RaftPush}, boolean("kraft.preVote", "candidates ask before they raise the epoch (KIP-996)", func(c *Config) any { return &c.KRaft.PreVote })),
	on(kraftTargets, duration("kraft.fetchTimeout", 100*time.Millisecond, 10*time.Minute, "controller.quorum.fetch.timeout.ms", func(c *Config) any { return &c.KRaft.FetchTimeout })),
	on(pullTargets, duration("kraft.electionTimeout", 50*time.Millisecond, 10*time.Minute, "controller.quorum.election.timeout.ms", func(c *Config) any { return &c.KRaft.ElectionTimeout })),
	on(pullTargets, duration("kraft.electionBackoffMax", 0, 10*time.Minute, "controller.quorum.election.backoff.max.ms", func(c *Config) any { return &c.KRaft.ElectionBackoffMax })),
	on(kraftTargets, text("kraft.metadataVersion", "metadata.version of the new cluster and the features that go with it, such as 4.0-IV3, or 4.0 for the newest of a release; left out, 4.0-IV3 alone, and of real Kafka the newest that it has", checkMetadataVersion, func(c *Config) any { return &c.KRaft.MetadataVersion })),

	on(kraftTargets, duration("broker.sessionTimeout", 100*time.Millisecond, 10*time.Minute, "broker.session.timeout.ms; zk uses the ZooKeeper session", func(c *Config) any { return &c.Broker.SessionTimeout })),
	on(kraftTargets, duration("broker.heartbeatInterval", 10*time.Millisecond, 5*time.Minute, "broker.heartbeat.interval.ms", func(c *Config) any { return &c.Broker.HeartbeatInterval })),
	duration("broker.replicaLagMax", 100*time.Millisecond, time.Hour, "replica.lag.time.max.ms", func(c *Config) any { return &c.Broker.ReplicaLagMax }),
	on(zkTargets, duration("broker.shutdownBackoff", 10*time.Millisecond, 10*time.Minute, "controlled.shutdown.retry.backoff.ms", func(c *Config) any { return &c.Broker.ShutdownBackoff })),

	on(kafkaTargets, enum("kafka.brokers", "brokers under the controllers of real Kafka: kbench's own, the same as on the other side, or Kafka's", func(c *Config) any { return &c.Kafka.Brokers }, string(BrokersOurs), string(BrokersReal))),
	on(kafkaTargets, text("kafka.properties", "more of server.properties, 'key=value; key=value'", checkProperties, func(c *Config) any { return &c.Kafka.Properties })),
	on(kafkaTargets, text("kafka.brokerProperties", "more of server.properties of real brokers alone", checkProperties, func(c *Config) any { return &c.Kafka.BrokerProperties })),
	on(kafkaTargets, text("kafka.controllerProperties", "more of server.properties of controllers alone", checkProperties, func(c *Config) any { return &c.Kafka.ControllerProperties })),
	on(kafkaTargets, text("kafka.heap", "heap of each JVM, such as 1g or 512m", checkHeap, func(c *Config) any { return &c.Kafka.Heap })),
	on(kafkaTargets, text("kafka.jvm", "more flags of each JVM, such as -XX:+UseZGC, apart by spaces", checkFlags, func(c *Config) any { return &c.Kafka.JVM })),

	duration("network.delay", 0, 10*time.Second, "delay of every packet that leaves a node, clients' answers included, by the kernel's netem; without it, of every packet that arrives, by a queue in user space", func(c *Config) any { return &c.Network.Delay }),
	duration("network.jitter", 0, 10*time.Second, "how far a packet's delay may lie from network.delay", func(c *Config) any { return &c.Network.Jitter }),
	count("network.lossPerMille", 0, 900, "packets of a thousand that are lost on the way to a node", func(c *Config) any { return &c.Network.LossPerMille }),
	count("network.kbitPerSecond", 0, 1_000_000, "bandwidth of what leaves a node; 0 for no bound, else 64 at least", func(c *Config) any { return &c.Network.KbitPerSecond }),
}

func count[T any](path string, lo, hi int64, doc string, field func(*T) any) param[T] {
	return param[T]{path: path, kind: kindCount, min: float64(lo), max: float64(hi), doc: doc, field: field}
}

func duration[T any](path string, lo, hi time.Duration, doc string, field func(*T) any) param[T] {
	return param[T]{path: path, kind: kindDuration, min: float64(lo), max: float64(hi), doc: doc, field: field}
}

func rate[T any](path string, lo, hi float64, doc string, field func(*T) any) param[T] {
	return param[T]{path: path, kind: kindRate, min: lo, max: hi, doc: doc, field: field}
}

func boolean[T any](path, doc string, field func(*T) any) param[T] {
	return param[T]{path: path, kind: kindBool, doc: doc, field: field}
}

func enum[T any](path, doc string, field func(*T) any, names ...string) param[T] {
	return param[T]{path: path, kind: kindEnum, enum: names, doc: doc, field: field}
}

func text[T any](path, doc string, check func(string) error, field func(*T) any) param[T] {
	return param[T]{path: path, kind: kindText, check: check, doc: doc, field: field}
}

func on[T any](targets []Target, p param[T]) param[T] {
	p.targets = targets
	return p
}

// set parses text into the parameter's field of c. The error says what is
// wrong and, after a semicolon, how to mend it.
func (p param[T]) set(c *T, text string) error {
	switch p.kind {
	case kindDuration:
		d, err := parseDuration(text)
		if err == nil {
			err = p.bounds(float64(d))
		}
		if err != nil {
			return err
		}
		*p.field(c).(*time.Duration) = d
	case kindRate:
		r, err := parseRate(text)
		if err == nil {
			err = p.bounds(r)
		}
		if err != nil {
			return err
		}
		*p.field(c).(*float64) = r
	case kindBool:
		b, err := parseBool(text)
		if err != nil {
			return err
		}
		*p.field(c).(*bool) = b
	case kindEnum:
		return p.setEnum(c, text)
	case kindText:
		if err := p.check(text); err != nil {
			return err
		}
		switch f := p.field(c).(type) {
		case *metadata.MetadataVersion:
			*f, _ = parseMetadataVersion(text) // it was checked
		case *string:
			*f = text
		}
	case kindCount, kindControllers:
		return p.setCount(c, text)
	}
	return nil
}

func (p param[T]) setCount(c *T, text string) error {
	if p.kind == kindControllers {
		switch n, err := parseCount(text); {
		case text == "colocated":
			*p.field(c).(*int) = Colocated
			return nil
		case err != nil:
			return fmt.Errorf("%q is neither a number nor colocated; write 3 or colocated", text)
		default:
			if err := p.bounds(float64(n)); err != nil {
				return fmt.Errorf("%w, or colocated", err)
			}
		}
	}
	n, err := parseCount(text)
	if err == nil {
		err = p.bounds(float64(n))
	}
	if err != nil {
		return err
	}
	switch f := p.field(c).(type) {
	case *LogDirs:
		*f = LogDirs(n)
	case *int:
		*f = int(n)
	}
	return nil
}

func (p param[T]) setEnum(c *T, text string) error {
	known := false
	for _, name := range p.enum {
		known = known || name == text
	}
	if !known {
		return fmt.Errorf("unknown value %q; %s", text, didYouMean(text, p.enum))
	}
	switch f := p.field(c).(type) {
	case *Timeouts:
		*f = Timeouts(text)
	case *Store:
		*f = Store(text)
	case *Brokers:
		*f = Brokers(text)
	case *Security:
		if *f = Security(text); text == plaintext {
			*f = ""
		}
	case *string:
		*f = text
	case *int:
		n, _ := strconv.Atoi(text)
		*f = n
	default:
		panic("spec: no enum type for " + p.path)
	}
	return nil
}

// bounds judges a value in the parameter's own unit.
func (p param[T]) bounds(v float64) error {
	switch {
	case v < p.min:
		return fmt.Errorf("%s is too small; write at least %s", p.format(v), p.format(p.min))
	case v > p.max:
		return fmt.Errorf("%s is too large; write at most %s", p.format(v), p.format(p.max))
	}
	return nil
}

func (p param[T]) format(v float64) string {
	switch p.kind {
	case kindDuration:
		return formatDuration(time.Duration(v))
	case kindRate:
		return formatRate(v)
	default:
		return formatCount(int64(v))
	}
}

// get writes the parameter's value in its canonical form, which set reads.
func (p param[T]) get(c *T) string {
	switch f := p.field(c).(type) {
	case *int:
		switch {
		case p.kind == kindControllers && *f == Colocated:
			return "colocated"
		case p.kind == kindEnum:
			return strconv.Itoa(*f)
		}
		return formatCount(int64(*f))
	case *LogDirs:
		return formatCount(int64(*f))
	case *time.Duration:
		return formatDuration(*f)
	case *float64:
		return formatRate(*f)
	case *bool:
		return strconv.FormatBool(*f)
	case *string:
		return *f
	case *Timeouts:
		return string(*f)
	case *Store:
		return string(*f)
	case *Brokers:
		return string(*f)
	case *metadata.MetadataVersion:
		return formatMetadataVersion(*f)
	case *Security:
		return f.String()
	default:
		panic("spec: no form for " + p.path)
	}
}

// canonicalPath resolves the short form of a cluster path: brokers is
// cluster.brokers.
func canonicalPath(path string) string {
	if !strings.Contains(path, ".") {
		return "cluster." + path
	}
	return path
}

// settingAt finds a setting by its path or its short form.
func settingAt(path string) (param[Config], bool) {
	path = canonicalPath(path)
	for _, s := range settings {
		if s.path == path {
			return s, true
		}
	}
	return param[Config]{}, false
}

// settingPaths lists all paths; short adds the short forms.
func settingPaths(short bool) []string {
	var paths []string
	for _, s := range settings {
		paths = append(paths, s.path)
		if name, ok := strings.CutPrefix(s.path, "cluster."); ok && short {
			paths = append(paths, name)
		}
	}
	return paths
}

func checkProtocol(text string) error {
	_, err := ibp.Parse(text)
	return err
}
