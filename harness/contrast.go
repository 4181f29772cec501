package harness

import (
	"fmt"
	"slices"

	"kbench/harness/spec"
	"kbench/results"
)

// contrasts is the table of what differs between the targets of a run beside
// what is measured, from the cells as they were run; a variant is in it where
// it differs from its target. Rows that are equal for all are left out, so that
// a run of one target has none.
func contrasts(matrix []spec.Cell, cells []results.Cell) []results.Contrast {
	var out []results.Contrast
	for _, row := range contrastRows {
		values := map[string]string{}
		for _, c := range matrix {
			value := row.value(c, storeOf(c, cells))
			if c.Target == spec.AttachTarget {
				value = "as the cluster that was found has it"
			}
			of, done := values[string(c.Target)]
			switch {
			case !done:
				values[string(c.Target)] = value
			case value != of && c.Variant != spec.BaseVariant:
				values[results.ContrastKey(string(c.Target), c.Variant)] = value
			}
		}
		if !allEqual(values) {
			out = append(out, results.Contrast{What: row.what, Values: values})
		}
	}
	return out
}

func storeOf(c spec.Cell, cells []results.Cell) string {
	for _, ran := range cells {
		if ran.ID == c.ID && ran.Store != "" {
			return ran.Store
		}
	}
	return "not started"
}

func allEqual(values map[string]string) bool {
	var seen []string
	for _, v := range values {
		if !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return len(seen) <= 1
}

// contrastRow is one thing that a reader must know of both sides.
type contrastRow struct {
	what  string
	value func(c spec.Cell, store string) string
}

// byTarget gives each side its own words.
func byTarget(zk, kraft func(spec.Config) string) func(spec.Cell, string) string {
	return func(c spec.Cell, _ string) string {
		if c.Target.InZooKeeper() {
			return zk(c.Config)
		}
		return kraft(c.Config)
	}
}

// unlessKafka lets a quorum of real Kafka have other words, given its version.
func unlessKafka(ours func(spec.Cell, string) string, kafka func(version string) string) func(spec.Cell, string) string {
	return func(c spec.Cell, store string) string {
		if v := c.Target.Kafka(); v != "" && !c.Target.InZooKeeper() {
			return kafka(v)
		}
		return ours(c, store)
	}
}

// unlessPushed lets a quorum whose leader pushes have other words.
func unlessPushed(pulled func(spec.Cell, string) string, pushed func(spec.Config) string) func(spec.Cell, string) string {
	return func(c spec.Cell, store string) string {
		if c.Target == spec.RaftPush {
			return pushed(c.Config)
		}
		return pulled(c, store)
	}
}

// voters says how many vote, and where they run.
func voters(c spec.Config) string {
	switch n := min(c.Cluster.Brokers, maxColocatedVoters); {
	case c.Cluster.Controllers != spec.Colocated:
		return fmt.Sprintf("%d voters", c.Cluster.Controllers)
	case n < c.Cluster.Brokers:
		return fmt.Sprintf("%d voters, in the processes of brokers 1 to %d of %d", n, n, c.Cluster.Brokers)
	default:
		return fmt.Sprintf("%d voters, one in the process of each broker", n)
	}
}

func words(s string) func(spec.Config) string { return func(spec.Config) string { return s } }

// writesInFlight says how a controller writes. Kafka's has one partition state
// in a request to ZooKeeper, whatever the setting of ours.
func writesInFlight(c spec.Cell) string {
	if !c.Target.InZooKeeper() {
		return fmt.Sprintf("batches, append linger %s", c.Config.KRaft.AppendLinger)
	}
	zk, of := c.Config.ZK, ""
	if zk.StatesPerMulti > 1 && c.Target.Kafka() == "" {
		of = fmt.Sprintf(" of up to %d partition states", zk.StatesPerMulti)
	}
	return fmt.Sprintf("%d ZooKeeper requests%s, fenced by the controller epoch: %t", zk.MaxInFlight, of, zk.FencedWrites)
}

// metadataLevels says which metadata.version a cell's cluster begins with, and
// whether it keeps eligible leader replicas.
func metadataLevels(c spec.Cell) string {
	if c.Target.InZooKeeper() {
		return "not applicable"
	}
	v, elr, known := c.MetadataVersion()
	switch {
	case !known:
		return "the newest of Apache Kafka " + c.Target.Kafka()
	case elr:
		return v.String() + " and the features that go with it, eligible leader replicas among them"
	case c.Config.KRaft.MetadataVersion == 0 && c.Target.Kafka() == "":
		return v.String() + " and no feature beside it: without eligible leader replicas"
	}
	return v.String() + " and the features that go with it: without eligible leader replicas"
}

var contrastRows = []contrastRow{
	{"software of the controllers", func(c spec.Cell, _ string) string { return kafkaSoftware(c) }},
	{"server.properties of the controllers", func(c spec.Cell, _ string) string { return kafkaSettings(c) }},
	{"brokers", func(c spec.Cell, _ string) string { return brokerSoftware(c) }},
	{"server.properties of the brokers", func(c spec.Cell, _ string) string { return brokerSettings(c) }},
	{"warm-up", kafkaWarmUp},
	{"security", func(c spec.Cell, _ string) string { return securityOf(c) }},
	{"metadata store", func(_ spec.Cell, store string) string { return store }},
	{"controllers", unlessPushed(byTarget(
		func(c spec.Config) string {
			if c.Cluster.Controllers == spec.Colocated {
				return "every broker is a candidate"
			}
			return fmt.Sprintf("%d dedicated candidates without replicas, which receive UpdateMetadata too", c.Cluster.Controllers)
		},
		voters,
	), func(c spec.Config) string {
		return voters(c) + "; their leader pushes the log (go.etcd.io/raft)"
	})},
	{"how brokers learn", byTarget(
		words("the controller pushes LeaderAndIsr and UpdateMetadata, one request at a time per broker"),
		words("brokers fetch the metadata log as observers"),
	)},
	{"loss of a controller is noticed by", unlessPushed(byTarget(
		func(c spec.Config) string {
			return fmt.Sprintf("ZooKeeper session timeout %s", c.ZK.SessionTimeout)
		},
		func(c spec.Config) string {
			return fmt.Sprintf("fetch timeout %s, then an election", c.KRaft.FetchTimeout)
		},
	), func(c spec.Config) string {
		return fmt.Sprintf("no message of the leader for a random time from %s to twice that, then an election", c.KRaft.FetchTimeout)
	})},
	{"loss of a broker is noticed by", byTarget(
		func(c spec.Config) string {
			return fmt.Sprintf("ZooKeeper session timeout %s", c.ZK.SessionTimeout)
		},
		func(c spec.Config) string {
			return fmt.Sprintf("broker session timeout %s, heartbeat %s", c.Broker.SessionTimeout, c.Broker.HeartbeatInterval)
		},
	)},
	{"controlled shutdown is granted when", byTarget(
		words("no leadership remains in ZooKeeper; brokers may not know yet"),
		words("no leadership remains and every active broker has fetched past it"),
	)},
	{"requests of the controller reach a broker", byTarget(
		func(c spec.Config) string {
			if c.ZK.ControlPlaneListener {
				return "by a listener of their own, with one handler (control.plane.listener.name)"
			}
			return "in the queue of its clients"
		},
		words("not at all: it asks the quorum, at listeners that serve no clients"),
	)},
	{"writes in flight", func(c spec.Cell, _ string) string { return writesInFlight(c) }},
	{"metadata.version", func(c spec.Cell, _ string) string { return metadataLevels(c) }},
	{"high watermark reaches idle brokers", unlessKafka(byTarget(
		words("not applicable"),
		func(c spec.Config) string {
			if c.KRaft.HWPush {
				return "at once (KIP-1166)"
			}
			return fmt.Sprintf("with the next record, at most %s later (no-op interval)", c.KRaft.NoOpInterval)
		},
	), func(version string) string {
		return "as Kafka " + version + " does it; 4.4.0 answers waiting fetches at once"
	})},
	{"admin requests go to", byTarget(
		words("the active controller"),
		words("any broker, which forwards them in an Envelope"),
	)},
}
