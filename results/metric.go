package results

import (
	"fmt"
	"slices"
	"strings"
)

// Metric is one measured quantity. Its phases are parts or views of it; one of
// them is the headline, which is meant where a phase is not named.
type Metric struct {
	Name     string
	Workload string // the kind of workload that measures it
	Unit     Unit
	Better   Direction
	Headline string // a phase
	Phases   []Phase
	Doc      string
}

// Phase is a part of a metric.
type Phase struct {
	Name string
	Doc  string
}

// Unit is what values of a metric count.
type Unit string

// Durations are nanoseconds; rates are per second; a Number counts events or
// messages, and bytes of messages; Bytes are of memory and logs.
const (
	Nanoseconds Unit = "ns"
	PerSecond   Unit = "1/s"
	Number      Unit = "1"
	Bytes       Unit = "B"
)

// Direction says which of two values of a metric is the better one.
type Direction string

// Durations, numbers and sizes are better where they are lower, rates where they are
// higher.
const (
	Lower  Direction = "lower"
	Higher Direction = "higher"
)

// Metrics is the catalogue of what is measured, in the order of reports.
// Clocks are those of the design: latencies start at the intended time.
var metrics = []Metric{
	{
		Name: "creation", Workload: "create-topics", Unit: PerSecond, Better: Higher, Headline: "rate",
		Doc:    "partitions created, from the first intended CreateTopics until every live broker serves them all",
		Phases: []Phase{{"rate", "partitions per second"}},
	},
	{
		Name: "deletion", Workload: "delete-topics", Unit: PerSecond, Better: Higher, Headline: "rate",
		Doc:    "partitions deleted, from the first intended DeleteTopics until no live broker serves any",
		Phases: []Phase{{"rate", "partitions per second"}},
	},
	{
		Name: "enlargement", Workload: "create-partitions", Unit: PerSecond, Better: Higher, Headline: "rate",
		Doc:    "partitions added to topics, from the first intended CreatePartitions until every live broker serves them all",
		Phases: []Phase{{"rate", "partitions per second"}},
	},
	{
		Name: "controlled-shutdown", Workload: "controlled-shutdown", Unit: Nanoseconds, Better: Lower, Headline: "moved",
		Doc: "from SIGTERM of a broker",
		Phases: []Phase{
			{"granted", "until the controller lets it go"},
			{"moved", "until every other live broker serves the new leader of every partition moved"},
			{"exit", "until the process has exited"},
		},
	},
	{
		Name: "propagation", Workload: "propagation", Unit: Nanoseconds, Better: Lower, Headline: "last",
		Doc: "from the intended time of a change",
		Phases: []Phase{
			{"first", "until the first live broker serves it"},
			{"median", "until the median live broker serves it"},
			{"last", "until the last live broker serves it"},
			{"acked", "until it is acknowledged"},
			{"service", "until the last live broker serves it, from when it was sent: what a generator that is late would show"},
		},
	},
	{
		Name: "divergence", Workload: "propagation", Unit: Nanoseconds, Better: Lower, Headline: "views",
		Doc:    "how long brokers' views of one change disagreed",
		Phases: []Phase{{"views", "from the first live broker that serves a change until the last"}},
	},
	{
		Name: "disagreement", Workload: "propagation", Unit: Number, Better: Lower, Headline: "brokers",
		Doc: "live brokers that answer with the old view of a change after another has served the new one; a broker that was not asked meanwhile is not counted",
		Phases: []Phase{
			{"brokers", "mean over the changes"},
			{"most", "at the change that had most"},
		},
	},
	{
		Name: "recovery.controller", Workload: "controller-failover", Unit: Nanoseconds, Better: Lower, Headline: "first-admin",
		Doc: "loss of the active controller; detect to push are each counted from the end of the phase before",
		Phases: []Phase{
			{"detect", "until its session or fetch timeout fires"},
			{"elect", "until a successor holds the epoch"},
			{"load", "until the successor has its state"},
			{"push", "until every live broker holds the new epoch"},
			{"first-admin", "from the fault until an admin request of the open-loop stream succeeds"},
			{"total", "from the fault until all of the above are over"},
			{"rest", "from detection until all of the above are over: what timers do not decide"},
		},
	},
	{
		Name: "recovery.broker", Workload: "broker-failure", Unit: Nanoseconds, Better: Lower, Headline: "moved",
		Doc: "loss of a broker",
		Phases: []Phase{
			{"detect", "until the controller declares it dead"},
			{"moved", "from the fault until every leadership it held is served by another broker, on every live broker"},
			{"rest", "from detection until then: what timers do not decide"},
		},
	},
	{
		Name: "unavailability", Workload: "broker-failure", Unit: Nanoseconds, Better: Lower, Headline: "partition",
		Doc:    "clients of one partition, from the first intended produce that finds no leader until the first acknowledged one",
		Phases: []Phase{{"partition", "one value for each probed partition"}},
	},
	{
		Name: "rolling-restart", Workload: "rolling-restart", Unit: Nanoseconds, Better: Lower, Headline: "total",
		Doc: "restart of every broker, one after the other",
		Phases: []Phase{
			{"total", "from the first SIGTERM until the last broker is back and the cluster whole"},
			{"broker", "from the SIGTERM of one broker until it is back and the cluster whole"},
			{"lost", "time that a probed partition could not be produced to, in all, mean over the partitions"},
		},
	},
	{
		Name: "election.preferred", Workload: "preferred-election", Unit: Nanoseconds, Better: Lower, Headline: "served",
		Doc: "from the first intended ElectLeaders",
		Phases: []Phase{
			{"acked", "until the last request is answered"},
			{"served", "until every live broker names the elected leader of every partition"},
		},
	},
	{
		Name: "reassignment", Workload: "reassign", Unit: Nanoseconds, Better: Lower, Headline: "served",
		Doc: "from the first intended AlterPartitionReassignments",
		Phases: []Phase{
			{"acked", "until the last request is answered"},
			{"served", "until every live broker serves the new replicas of every partition, all in sync"},
		},
	},
	{
		Name: "isr-churn", Workload: "isr-churn", Unit: Nanoseconds, Better: Lower, Headline: "expanded",
		Doc: "a broker that stalls and runs on",
		Phases: []Phase{
			{"shrunk", "from the stall until every other live broker serves every ISR without it"},
			{"expanded", "from its end until every live broker serves every ISR with it"},
		},
	},
	{
		Name: "broker-join", Workload: "broker-join", Unit: Nanoseconds, Better: Lower, Headline: "in-sync",
		Doc: "from the start of a broker that was away",
		Phases: []Phase{
			{"registered", "until its registration is acknowledged"},
			{"caught-up", "until it serves all metadata of the cluster itself"},
			{"in-sync", "until every live broker serves it in every ISR that it belongs to"},
		},
	},
	{
		Name: "quorum-change", Workload: "quorum-change", Unit: Nanoseconds, Better: Lower, Headline: "added",
		Doc: "a voter of the metadata quorum that is removed and added again",
		Phases: []Phase{
			{"removed", "from the intended RemoveRaftVoter until it is acknowledged, and another controller is active where the leader went"},
			{"added", "from the intended AddRaftVoter until it is acknowledged"},
		},
	},
	{
		Name: "reconcile", Workload: "reconcile", Unit: Nanoseconds, Better: Lower, Headline: "agreed",
		Doc: "a voter whose log has diverged, from when it reaches the others again",
		Phases: []Phase{
			{"found", "until it hears of the leader"},
			{"agreed", "until all that was committed without it is durable there, and what it alone had is gone"},
			{"rest", "from the one to the other: what connections and timers do not decide"},
		},
	},
	{
		Name: "traffic", Workload: "reconcile", Unit: Number, Better: Lower, Headline: "messages",
		Doc: "between a voter whose log has diverged and the others, from when it hears of the leader until it agrees",
		Phases: []Phase{
			{"messages", "in both directions"},
			{"bytes", "of these messages"},
			{"round-trips", "times it heard again after it had spoken"},
		},
	},
	{
		Name: "removed-voter", Workload: "removed-voter", Unit: Nanoseconds, Better: Lower, Headline: "stall",
		Doc: "return of a voter that was removed while it was away",
		Phases: []Phase{
			{"stall", "longest time without an acknowledged admin request"},
			{"settled", "until it knows that it does not vote any more"},
		},
	},
	{
		Name: "disturbance", Workload: "removed-voter", Unit: Number, Better: Lower, Headline: "elections",
		Doc: "what a voter that was removed while it was away does when it is back",
		Phases: []Phase{
			{"elections", "controllers elected"},
			{"epochs", "epochs that the quorum went through"},
			{"campaigns", "campaigns that the removed voter began; one that goes on asking for pre-votes counts once"},
		},
	},
	{
		Name: "interference", Workload: "data-interference", Unit: Nanoseconds, Better: Lower, Headline: "loaded",
		Doc: "changes beside records that are produced",
		Phases: []Phase{
			{"quiet", "from the intended time of a change until the last live broker serves it, while nobody produces"},
			{"loaded", "the same beside the records"},
			{"produce", "from the intended time of a produce request until it is acknowledged"},
		},
	},
	{
		Name: "mixed", Workload: "mixed", Unit: Nanoseconds, Better: Lower, Headline: "all",
		Doc: "changes of several kinds, from the intended time of one until the last live broker serves it",
		Phases: []Phase{
			{"all", "changes of every kind"},
			{"create", "topics created"},
			{"config", "configurations changed"},
			{"leader", "leaders elected"},
		},
	},
	{
		Name: "sustained", Workload: "max-rate", Unit: PerSecond, Better: Higher, Headline: "rate",
		Doc:    "highest rate of changes that the cluster sustains, by bisection",
		Phases: []Phase{{"rate", "changes per second"}},
	},
	{
		Name: "memory.controller", Workload: "memory", Unit: Bytes, Better: Lower, Headline: "per-partition",
		Doc: "live heap of the active controller's process, after a collection of its garbage",
		Phases: []Phase{
			{"heap", "all of it"},
			{"per-partition", "the same by the partitions of the cluster"},
		},
	},
	{
		Name: "leader-seek", Workload: "leader-seek", Unit: Nanoseconds, Better: Lower, Headline: "found",
		Doc:    "clients that ask random brokers for a leader",
		Phases: []Phase{{"found", "from the intended time of a produce until it is acknowledged, with every question and further try that it takes"}},
	},
	{
		Name: "failed-tries", Workload: "leader-seek", Unit: Number, Better: Lower, Headline: "all",
		Doc: "tries of clients that seek a leader and do not reach it",
		Phases: []Phase{
			{"all", "of every kind"},
			{"stale", "the broker that was named refuses the record, since it does not lead"},
			{"no-leader", "the broker that was asked knows no leader"},
			{"unanswered", "the broker that was asked does not answer"},
			{"timed-out", "the leader that was named does not answer"},
		},
	},
}

// Metrics returns the catalogue of what is measured, in the order of reports.
func Metrics() []Metric { return slices.Clone(metrics) }

// alsoMeasured are workloads that measure a metric of another workload.
var alsoMeasured = map[string][]string{
	"divergence":     {"mixed"},
	"disagreement":   {"mixed"},
	"unavailability": {"controlled-shutdown", "controller-failover", "rolling-restart", "leader-seek"},
}

// Measures reports whether a kind of workload gives samples of the metric.
// metric may carry a phase.
func Measures(workload, metric string) bool {
	m, _, err := FindMetric(metric)
	return err == nil && (m.Workload == workload || slices.Contains(alsoMeasured[m.Name], workload))
}

// WorkloadOf names the kind of workload that measures the metric, empty where
// the metric is unknown.
func WorkloadOf(metric string) string {
	m, _, err := FindMetric(metric)
	if err != nil {
		return ""
	}
	return m.Workload
}

// FindMetric splits name into a metric and its phase: recovery.controller.load
// is the phase load of recovery.controller. Without a phase it is the
// headline.
func FindMetric(name string) (Metric, string, error) {
	for _, m := range metrics {
		if name == m.Name {
			return m, m.Headline, nil
		}
		phase, ok := strings.CutPrefix(name, m.Name+".")
		if !ok {
			continue
		}
		if m.hasPhase(phase) {
			return m, phase, nil
		}
		return Metric{}, "", fmt.Errorf("%s has no phase %q; it has %s", m.Name, phase, strings.Join(m.phaseNames(), ", "))
	}
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	return Metric{}, "", fmt.Errorf("unknown metric %q; there are %s", name, strings.Join(names, ", "))
}

func (m Metric) hasPhase(name string) bool { return slices.Contains(m.phaseNames(), name) }

func (m Metric) phaseNames() []string {
	names := make([]string, len(m.Phases))
	for i, p := range m.Phases {
		names[i] = p.Name
	}
	return names
}
