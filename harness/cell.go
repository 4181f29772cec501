package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/kafka"
	"kbench/results"
	"kbench/workloads"
)

// Deadlines of a cell's life; a workload has its own.
const (
	upTimeout     = 3 * time.Minute
	upTimeoutReal = 6 * time.Minute // of twice as many JVMs
	verifyTimeout = 5 * time.Minute
	downTimeout   = time.Minute
	settleTimeout = 20 * time.Second
	// salvageTimeout bounds the look at a cluster that is not whole any more.
	salvageTimeout = 30 * time.Second
	// createFloor is the slowest creation that is waited for, partitions/s, and
	// that of brokers that make a directory and files for each replica.
	createFloor, createFloorReal = 200, 25
)

// cellRun is the life of one cell.
type cellRun struct {
	*runner
	spec    spec.Cell
	repeat  int
	attempt int // at the repeat, from 1
	n       int // of the cells that are run, from 1
	rec     *recorder
	monitor *monitor
	out     results.Cell
	faults  []error // what makes the cell invalid and did not end it
	judged  bool    // by its history, which is kept
	left    error   // why not all that the cell made was removed

	provider provider.Provider
	cluster  *cluster
}

// stem names the files of one cluster: the cell, the repeat and, where it was
// run again, the attempt.
func (run *cellRun) stem() string {
	s := fmt.Sprintf("%s.%d", run.spec.ID, run.repeat)
	if run.attempt > 1 {
		s += fmt.Sprintf(".attempt-%d", run.attempt)
	}
	return s
}

// live runs the phases in order. Teardown comes last and always, with a
// deadline of its own, after everything was written.
func (run *cellRun) live(ctx context.Context) (err error) {
	name := clusterName(run.started, run.n, run.spec.Target)
	run.phase("up")
	run.provider, err = run.openProvider(ctx, name)
	if err != nil {
		return fmt.Errorf("open the provider: %w", err)
	}
	defer func() { err = errors.Join(err, run.down(ctx)) }()
	defer func() { err = errors.Join(err, run.collect(ctx)) }()
	defer func() { err = errors.Join(err, run.keepInterrupted(ctx)) }()
	if err := run.up(ctx); err != nil {
		return err
	}
	for _, prepare := range []func(context.Context) error{run.populate, run.warmUp} {
		if err := run.whileAll(ctx, prepare); err != nil {
			return err
		}
	}
	for _, w := range run.spec.Workloads {
		if err := run.whileAll(ctx, func(ctx context.Context) error { return run.drive(ctx, w) }); err != nil {
			return errors.Join(err, run.salvage(ctx))
		}
		if !run.rec.flush() {
			return nil // judge says so: what came next could not be kept
		}
	}
	return run.verify(ctx)
}

// clusterName names the cluster of a cell as no other run on this machine does,
// not even one that started in the same second: directories, containers and
// networks are named after it, so it holds no @ of a target's version.
func clusterName(started time.Time, n int, target spec.Target) string {
	return fmt.Sprintf("%s-%06x-%d-%s", started.UTC().Format("20060102t150405"), rand.Uint32N(1<<24), n, strings.ReplaceAll(string(target), "@", "-"))
}

func (run *cellRun) up(ctx context.Context) error {
	bound := upTimeout
	if run.spec.RealBrokers() {
		bound = upTimeoutReal
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("not within %s", bound))
	defer cancel()
	if run.spec.Target == spec.AttachTarget {
		return run.attach(ctx)
	}
	var st store
	var err error
	if run.spec.Networked() {
		if err = run.provider.Separate(ctx); err != nil {
			return fmt.Errorf("give every node a network of its own: %w", err)
		}
		run.out.Notes = append(run.out.Notes, "every node has a network of its own, and packets between nodes pass a bridge: links are cut, or poor")
	}
	if run.spec.Target.InZooKeeper() {
		if st, err = openStore(ctx, run.provider, run.spec, run.Profile, run.say); err != nil {
			return err
		}
		run.out.Store = st.description
	} else {
		run.out.Store = "metadata log, fsynced"
	}
	s := shapeOf(run.spec, clusterID(run.Spec.Seed, run.n))
	s.victims = run.victims(s)
	if s.kafka != nil {
		run.out.Notes = append(run.out.Notes, kafkaNote(run.spec))
	}
	members, err := layout(ctx, s, run.provider, st.servers)
	if err != nil {
		return err
	}
	for i := range members {
		members[i].cfg.DiskFaults = diskFaults(run.spec)
	}
	if err := run.layProfiles(ctx, members); err != nil {
		return err
	}
	clients, err := run.secure(ctx, members)
	if err != nil {
		return err
	}
	run.cluster, err = startCluster(ctx, run.provider, s.mode, st, members)
	run.cluster.clients = clients
	if err != nil {
		return err
	}
	run.out.Notes = append(run.out.Notes, run.cluster.runFrom()...)
	if err := run.cluster.WaitHealthy(ctx); err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	if run.spec.Networked() {
		run.cluster.poor, run.cluster.networked = run.spec.Config.Network.Faults(), true
		return run.cluster.attachAgents(ctx)
	}
	return nil
}

// diskFaults asks a provider for a file with the faults of a node's disk, where
// the cell has any.
func diskFaults(c spec.Cell) string {
	if c.DiskFaults() {
		return "disk.json"
	}
	return ""
}

// clusterID is drawn from the seed, so that the same plan names the same
// cluster.
func clusterID(seed int64, n int) kafka.UUID {
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	var u kafka.UUID
	for i := range u {
		u[i] = byte(rng.Uint32())
	}
	u[0] |= 0x40 // never a leading '-', which tools take for a flag
	u[0] &= 0x7f
	return u
}

func (run *cellRun) populate(ctx context.Context) error {
	n := run.out.Partitions
	floor := createFloor
	if run.spec.RealBrokers() {
		floor = createFloorReal
	}
	bound := time.Minute + time.Duration(n/floor)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("not within %s", bound))
	defer cancel()
	run.phase("populate")
	err := workloads.Populate(ctx, run.cluster, workloads.PopulateConfig{
		Prefix: run.cluster.own + "kbench", Partitions: n,
		PartitionsPerTopic: run.spec.Config.Cluster.PartitionsPerTopic,
		Replication:        run.spec.Config.Cluster.Replication,
	}, run.rec, func(done, total int) {
		run.monitor.work(workloads.Progress{Workload: "populate", Phase: "create", Done: done, Total: total})
	})
	if err == nil {
		err = run.cluster.WaitHealthy(ctx)
	}
	if err != nil {
		return fmt.Errorf("create %d partitions: %w", n, err)
	}
	return nil
}

func (run *cellRun) drive(ctx context.Context, w spec.Workload) error {
	run.monitor.workload(w.Kind)
	kind, err := workloads.Lookup(w.Kind)
	if err != nil {
		return err
	}
	run.rec.begin(w.Kind)
	defer run.rec.end()
	profiles := run.profile(w.Kind)
	defer profiles.wait()
	err = kind.Run(ctx, workloads.Env{
		Cluster: watchedCluster{run.cluster, run.monitor}, Recorder: watchedRecorder{run.rec, run.monitor}, Params: w.Params,
		Prefix: run.cluster.own,
		Seed:   run.seed(),
		Label:  fmt.Sprintf("r%d", run.repeat),
		Progress: func(p workloads.Progress) {
			profiles.reached(ctx, p.Phase)
			run.monitor.work(p)
		},
		Faults: run.timeline(kind), Injector: newInjector(run.cluster, run.seed()),
	})
	if err != nil {
		return err
	}
	if fault := run.short(w); fault != nil {
		run.faults = append(run.faults, fault) // the other workloads can be measured all the same
	}
	return nil
}

// seed is that of the cell's workloads.
func (run *cellRun) seed() uint64 { return uint64(run.Spec.Seed) + uint64(run.repeat) }

// victims are the brokers that the cell's workloads will take away: each has a
// process of its own, so that no other broker goes with it, and so do those that
// the timeline names. Where one of them may be the controller, the next takes its
// place.
func (run *cellRun) victims(s shape) map[kafka.BrokerID]bool {
	var brokers []kafka.BrokerID
	for id := range s.brokers {
		brokers = append(brokers, kafka.BrokerID(id+1))
	}
	victims := map[kafka.BrokerID]bool{}
	for _, f := range run.spec.Faults {
		for _, on := range f.On {
			if id, err := strconv.Atoi(strings.TrimPrefix(on, "broker-")); err == nil {
				victims[kafka.BrokerID(id)] = true
			}
		}
	}
	kinds := run.spec.Workloads
	if w, ok := run.warming(); ok {
		kinds = append(slices.Clone(kinds), w)
	}
	for _, w := range kinds {
		kind, err := workloads.Lookup(w.Kind)
		if err != nil {
			continue // it is found when it is driven
		}
		for _, id := range kind.Hurts(run.seed(), brokers, w.Params) {
			victims[id] = true
			if s.colocated {
				victims[workloads.StandIn(id, brokers)] = true
			}
		}
	}
	return victims
}

// timeline is the faults that a workload plays.
func (run *cellRun) timeline(kind workloads.Workload) []workloads.TimedFault {
	if !kind.Timeline {
		return nil
	}
	return run.spec.Faults
}

// short is the fault of a workload with fewer valid trials than it should have.
func (run *cellRun) short(w spec.Workload) error {
	n, reason := run.rec.validTrials(w.Kind)
	want := w.Params.Events()
	switch {
	case n >= want:
		return nil
	case reason == "":
		return fmt.Errorf("workload %s: %d of %d trials are valid", w.Kind, n, want)
	}
	return fmt.Errorf("workload %s: %d of %d trials are valid; the last that is not: %s", w.Kind, n, want, reason)
}

// down removes the cluster; an interrupt does not cut it short.
func (run *cellRun) down(ctx context.Context) error {
	run.phase("down")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	run.cluster.close()
	if err := run.provider.Close(ctx); err != nil {
		run.left = fmt.Errorf("tear down: %w", err)
	}
	return run.left
}

func (run *cellRun) phase(name string) { run.monitor.phase(name) }
