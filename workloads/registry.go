package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
)

// Workload is one kind of load.
type Workload struct {
	Kind   string
	Doc    string // one line
	Clock  string // what starts and what ends the clock, in words
	Params []Param
	// Timeline: it plays the faults of a spec beside its load.
	Timeline bool
	// hurts: each trial takes a broker away, those of Victims.
	hurts bool
	// rolls: each trial takes every broker away, one after the other.
	rolls bool
	// lasts is the time of all trials that the parameters decide; nil for that
	// of one load, and of a node that is away in each trial.
	lasts func(Params) time.Duration
	run   func(context.Context, *run) error
	// refuses says why the workload cannot have a cluster, nil where it can
	// have any.
	refuses func(Setup, Params) error
}

// Setup is what a workload may refuse of a cluster before there is one.
type Setup struct {
	Mode        nodeconfig.Mode
	Brokers     int // that host replicas
	Controllers int // voters or candidates, colocated ones too
	Colocated   bool
	Replication int
	PerNode     int  // brokers in one process
	Kafka       bool // the controllers are Kafka's
}

// Refuses says why the workload cannot run on a cluster, and how to mend it;
// nil where it can.
func (w Workload) Refuses(s Setup, p Params) error {
	if w.refuses == nil {
		return nil
	}
	return w.refuses(s, p)
}

// needsTwoReplicas refuses clusters on which no leadership can move.
func needsTwoReplicas(s Setup, _ Params) error {
	if s.Replication < 2 || s.Brokers < 2 {
		return errors.New("with one replica no other broker can lead; write brokers and replication 2 or more")
	}
	return nil
}

// Env is what a workload runs in.
type Env struct {
	Cluster  Cluster
	Recorder Recorder
	Params   Params // zero fields take the kind's defaults
	Seed     uint64 // of victims, samples and arrivals
	// Faults is what a workload with a Timeline plays beside its load, and Injector
	// makes them; nil where there are none.
	Faults   []TimedFault
	Injector Injector
	// Prefix begins the name of every topic that the workload makes, and none
	// that begins otherwise is touched; "" for all topics of a cluster that is
	// kbench's own.
	Prefix string
	// Label goes into the names of the topics that are created, with the time
	// that makes them unique. 1 to 100 letters, digits, dots, dashes, or "".
	Label    string
	Progress func(Progress) // nil for none; called from the workload's goroutine
}

// The phases of a trial in which nothing is measured yet.
const (
	PhaseGate    = "gate"    // the cluster is to be healthy
	PhasePrepare = "prepare" // what the trial needs is made
)

// Progress says how far a workload is.
type Progress struct {
	Workload      string
	Trial, Trials int    // from 1; 0 where there are none
	Phase         string // gate, probe, fault, recover, restore, create, drive
	Done, Total   int    // partitions or operations, 0 where not counted
}

var registry = []Workload{
	createTopics, deleteTopics, createPartitions,
	controlledShutdown, brokerFailure, rollingRestart, controllerFailover, brokerJoin, quorumChange, reconcile, removedVoter,
	propagation, maxRate, preferredElection, reassignment, isrChurn,
	leaderSeek, dataInterference, mixed, heapSize,
}

// All lists the workloads in the order of documents.
func All() []Workload { return slices.Clone(registry) }

// Lookup finds a workload by its kind.
func Lookup(kind string) (Workload, error) {
	names := make([]string, len(registry))
	for i, w := range registry {
		if w.Kind == kind {
			return w, nil
		}
		names[i] = w.Kind
	}
	return Workload{}, fmt.Errorf("unknown workload %q; there are %s", kind, strings.Join(names, ", "))
}

// Hurts lists the broker that each trial takes away of a cluster that has these,
// by their ids, as far as none is the active controller; none of a workload that
// takes no broker away, or all.
func (w Workload) Hurts(seed uint64, brokers []kafka.BrokerID, p Params) []kafka.BrokerID {
	p, err := w.Resolve(p)
	if err != nil || !w.hurts {
		return nil
	}
	return Victims(seed, brokers, p.Trials)
}

// Rolls lists the brokers in the order in which the trials take all of them
// away, none of a workload that does not.
func (w Workload) Rolls(seed uint64, brokers []kafka.BrokerID, p Params) []kafka.BrokerID {
	p, err := w.Resolve(p)
	if err != nil || !w.rolls {
		return nil
	}
	var out []kafka.BrokerID
	for n := 1; n <= p.Trials; n++ {
		out = append(out, rollOrder(seed, brokers, n)...)
	}
	return out
}

// Lasts is the time that the parameters decide, of all trials together: loads,
// and nodes that are away. What the cluster takes for its part, to notice and to
// recover, comes on top. p is resolved.
func (w Workload) Lasts(p Params) time.Duration {
	if w.lasts != nil {
		return w.lasts(p)
	}
	return p.Duration + time.Duration(p.Trials)*p.Away
}

// Losses is how often the workload waits for a cluster of so many brokers to be
// whole again. p is resolved.
func (w Workload) Losses(p Params, brokers int) int {
	if w.rolls {
		return p.Trials * brokers
	}
	return p.Trials * max(p.Kills, 1)
}

// Run runs the workload to its end. Trials that went wrong are recorded as
// invalid and are no error; an error means that the workload could not go on:
// bad parameters, a cluster that did not become healthy again, or the end of
// ctx, which ends the current trial and keeps what it measured.
func (w Workload) Run(ctx context.Context, env Env) error {
	p, err := w.Resolve(env.Params)
	if err != nil {
		return err
	}
	r, err := newRun(w, env, p)
	if err != nil {
		return err
	}
	defer r.close()
	r.event(EventNote, 0, 0, trace.Now(), "%s", clientsLine())
	if err := w.run(ctx, r); err != nil {
		return fmt.Errorf("workload %s: %w", w.Kind, err)
	}
	return nil
}
