package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kbench/harness/spec"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/workloads"
)

const (
	// The probes of what is not recorded, per second over all brokers: enough to
	// compile their paths, and no load that a cold JVM would still work off when
	// something is measured.
	warmProbes, warmProbePartitions = 150, 16
	// warmMoves bounds the epochs until each candidate has been the controller:
	// the one that is deposed may win again.
	warmMoves = 10
	// moveTimeout bounds one of them.
	moveTimeout = time.Minute
)

// WarmShutdowns is how many brokers of a cell are stopped and started again
// before anything is measured. Those of real Kafka take a minute to come back
// with 5,000 partitions, and their JVMs come back cold: one does there, for the
// controller and the survivors.
func WarmShutdowns(c spec.Cell) int {
	if c.RealBrokers() {
		return 1
	}
	return 2
}

// warmUp has the JVMs of real Kafka and of a real ZooKeeper load and compile what
// is going to be measured, on the cluster as it is: every candidate of real
// Kafka's ZooKeeper mode is the controller for a moment, and brokers leave and
// come back. Nothing of it is recorded. Programs of Go are compiled before and
// need none.
func (run *cellRun) warmUp(ctx context.Context) error {
	w, ok := run.warming()
	if !ok || len(run.cluster.Brokers()) < 2 {
		return nil
	}
	run.phase("warm-up")
	if run.spec.Target.Kafka() != "" && run.spec.Target.InZooKeeper() {
		if err := run.cluster.moveController(ctx); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	kind, err := workloads.Lookup(w.Kind)
	if err != nil {
		return err
	}
	err = kind.Run(ctx, workloads.Env{
		Cluster: run.cluster, Recorder: unrecorded{}, Seed: run.seed(), Label: "warm", Progress: run.monitor.work,
		Params: w.Params,
	})
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return nil
}

// warming is the workload that warms the cell's cluster; ok is false where none
// has to.
func (run *cellRun) warming() (w spec.Workload, ok bool) {
	return spec.Workload{
		Kind: "controlled-shutdown",
		Params: workloads.Params{
			Trials: WarmShutdowns(run.spec), ProbePartitions: warmProbePartitions,
			ProbeRate: max(1, float64(warmProbes)/float64(max(run.spec.Config.Cluster.Brokers, 1))),
		},
	}, isWarmed(run.spec, run.out.Store)
}

// isWarmed reports whether a cell whose metadata is in store has JVMs.
func isWarmed(c spec.Cell, store string) bool {
	return c.Target.Kafka() != "" || onZooKeeper(c, store)
}

// onZooKeeper reports whether a cell whose metadata is in store has a ZooKeeper
// that is not kbench's own.
func onZooKeeper(c spec.Cell, store string) bool {
	return c.Target.InZooKeeper() && store != EmbeddedStore
}

// moveController has every candidate be the controller once, as far as the
// elections go that way.
func (c *cluster) moveController(ctx context.Context) error {
	been := map[string]bool{}
	for epoch := int64(0); ; {
		e, err := c.activeAfter(ctx, epoch)
		if err != nil {
			return err
		}
		epoch, been[e.Node] = e.Epoch, true
		if len(been) == len(c.Controllers()) || epoch >= warmMoves {
			return nil
		}
		if err := c.watch.Depose(); err != nil {
			return err
		}
	}
}

// activeAfter waits until a controller of a later epoch than this one serves.
func (c *cluster) activeAfter(ctx context.Context, epoch int64) (last trace.Event, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, moveTimeout, fmt.Errorf("not within %s", moveTimeout))
	defer cancel()
	err = poll(ctx, fmt.Sprintf("a controller after epoch %d serves", epoch), func(ctx context.Context) error {
		events, err := c.Events(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Kind == trace.ControllerActive && e.Epoch > max(epoch, last.Epoch) {
				last = e
			}
		}
		if last.Epoch == 0 {
			return errors.New("no log tells of one")
		}
		return nil
	})
	return last, err
}

// unrecorded is a recorder that keeps nothing.
type unrecorded struct{}

func (unrecorded) Histogram(string, string) func(int64)         { return func(int64) {} }
func (unrecorded) Trial(workloads.Trial)                        {}
func (unrecorded) Event(workloads.Event)                        {}
func (unrecorded) Acked(workloads.Operation)                    {}
func (unrecorded) Unanswered(workloads.Operation)               {}
func (unrecorded) Refused(workloads.Operation, kafka.ErrorCode) {}
