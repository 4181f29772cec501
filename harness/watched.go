package harness

import (
	"context"

	"kbench/kafka"
	"kbench/workloads"
)

// watchedCluster lets a monitor hear of the faults that a workload makes, and
// of the controller that a health gate finds: between trials, so that asking
// disturbs no measurement.
type watchedCluster struct {
	*cluster
	monitor *monitor
}

// Inject implements workloads.Cluster.
func (c watchedCluster) Inject(ctx context.Context, id kafka.BrokerID, f workloads.Fault) (int64, error) {
	ns, err := c.cluster.Inject(ctx, id, f)
	if err == nil {
		c.monitor.fault(id, f)
	}
	return ns, err
}

// WaitHealthy implements workloads.Cluster.
func (c watchedCluster) WaitHealthy(ctx context.Context) error {
	if err := c.cluster.WaitHealthy(ctx); err != nil {
		return err
	}
	if now, ok := c.leadership(ctx, c.monitor.known()); ok {
		c.monitor.controller(now)
	}
	return nil
}

// watchedRecorder lets a monitor hear of what is measured.
type watchedRecorder struct {
	workloads.Recorder
	monitor *monitor
}

// Histogram implements workloads.Recorder.
func (r watchedRecorder) Histogram(metric, phase string) func(int64) {
	record, name := r.Recorder.Histogram(metric, phase), metric+"."+phase
	return func(ns int64) {
		record(ns)
		r.monitor.value(name, float64(ns))
	}
}

// Trial implements workloads.Recorder.
func (r watchedRecorder) Trial(t workloads.Trial) {
	r.Recorder.Trial(t)
	r.monitor.trial(t)
}
