package workloads

import (
	"testing"
	"time"

	"kbench/internal/nodeconfig"
)

// Each batch workload measures the delay of its request and of the broker that
// is behind, and leaves nothing of its own.
func TestBatchesMeasureWhatWasInjected(t *testing.T) {
	const admin, behind = 80 * time.Millisecond, 220 * time.Millisecond
	for kind, c := range map[string]struct {
		metric   string
		params   Params
		requests int64
	}{
		"delete-topics":      {MetricDeletion, Params{Partitions: 6000, PartitionsPerTopic: 100}, 2},
		"create-partitions":  {MetricEnlargement, Params{Partitions: 6000, PartitionsPerTopic: 100}, 2},
		"preferred-election": {MetricElection, Params{Trials: 1, Partitions: 300}, 1},
		"reassign":           {MetricReassignment, Params{Trials: 1, Partitions: 300}, 1},
	} {
		t.Run(kind, func(t *testing.T) {
			measured(t, func(t *attempted) {
				cluster := newFakeCluster(t.T, nodeconfig.ModeKRaft, 4, 30)
				cluster.admin = admin
				cluster.behind(behind)
				trial := mustRun(t, cluster, kind, c.params).trials[0]
				want := time.Duration(c.requests)*admin + behind
				switch kind {
				case "delete-topics", "create-partitions":
					rate := trial.Values[0].V
					near(t, kind, time.Duration(float64(c.params.Partitions)/rate*1e9), want)
				case "preferred-election": // elections are true at once here
					near(t, kind, value(t, trial, c.metric, PhaseServed), behind)
				default:
					near(t, "acked", value(t, trial, c.metric, PhaseAcked), admin)
					near(t, kind, value(t, trial, c.metric, PhaseServed), want)
				}
				if got := countOf(trial, "requests"); got != c.requests {
					t.Errorf("%d requests, want %d", got, c.requests)
				}
				cluster.mu.Lock()
				defer cluster.mu.Unlock()
				for name, topic := range cluster.topics {
					if topic.goneNs == 0 && len(name) > 3 {
						t.Errorf("topic %s was left", name)
					}
				}
			})
		})
	}
}

func TestAClusterOfOneBrokerRefusesMoves(t *testing.T) {
	one := Setup{Mode: nodeconfig.ModeKRaft, Brokers: 1, Controllers: 3, Replication: 1, PerNode: 1}
	three := Setup{Mode: nodeconfig.ModeKRaft, Brokers: 3, Controllers: 3, Replication: 3, PerNode: 1}
	zk := three
	zk.Mode = nodeconfig.ModeZK
	many := three
	many.PerNode = 3
	for kind, refused := range map[string][]Setup{
		"create-topics": nil, "reassign": {one}, "preferred-election": {one}, "isr-churn": {one}, "broker-join": {one},
		"leader-seek": {one}, "rolling-restart": {one, many}, "quorum-change": {zk}, "mixed": {one},
	} {
		w, err := Lookup(kind)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Resolve(Params{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Refuses(three, p); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, s := range refused {
			if w.Refuses(s, p) == nil {
				t.Errorf("%s does not refuse %+v", kind, s)
			}
		}
	}
}
