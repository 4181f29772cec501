package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"kbench/harness/provider"
	"kbench/workloads"
)

// liveLogDir fails a log directory under a broker with replicas: others lead what
// it led there, the rest it serves on, and after its restart all is whole.
func liveLogDir(t *testing.T, target string, open func(context.Context, string) (provider.Provider, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	run, faults := liveCluster(t, ctx, liveTarget{target, "store: embedded", "\n  - {at: 0s, for: 1s, kind: fail-log-dir, on: broker-1}\n"}, open)
	c := run.cluster
	const partitions = 12
	cfg := workloads.PopulateConfig{Prefix: "logs", Partitions: partitions, PartitionsPerTopic: partitions, Replication: 3}
	if err := workloads.Populate(ctx, c, cfg, run.rec, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitHealthy(ctx); err != nil {
		t.Fatal(err)
	}
	before := ledBy(t, ctx, c, 1)
	standing, err := newInjector(c, 1).Begin(ctx, faults[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range c.Brokers() { // the victim serves metadata, too
		err := poll(ctx, fmt.Sprintf("broker %d serves what the controller made of it", b.ID), func(ctx context.Context) error {
			m, err := fetchMetadata(ctx, b, nil)
			if err != nil {
				return err
			}
			off, led := 0, 0
			for _, topic := range m.Topics {
				for _, p := range topic.Partitions {
					lost := slices.Contains(p.OfflineReplicas, 1)
					switch {
					case p.Leader < 0 || lost && (p.Leader == 1 || slices.Contains(p.ISR, 1)):
						return fmt.Errorf("partition %d has leader %d, ISR %v, offline %v", p.Partition, p.Leader, p.ISR, p.OfflineReplicas)
					case lost:
						off++
					case p.Leader == 1:
						led++
					}
				}
			}
			if off != partitions/2 || led == 0 || led >= before {
				return fmt.Errorf("%d replicas are offline, broker 1 leads %d, before %d", off, led, before)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if _, _, err := standing.End(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitHealthy(ctx); err != nil {
		t.Error(err)
	}
}

// ledBy counts the partitions that a broker leads.
func ledBy(t *testing.T, ctx context.Context, c *cluster, id int32) int {
	t.Helper()
	m, err := fetchMetadata(ctx, c.Brokers()[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, topic := range m.Topics {
		for _, p := range topic.Partitions {
			if p.Leader == id {
				n++
			}
		}
	}
	return n
}
