package workloads

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
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

// The heap of the active controller is told in all and by the partitions that
// brokers serve; one that lost its leadership to the collection does not count.
func TestMemory(t *testing.T) {
	cluster := newFakeCluster(t, nodeconfig.ModeKRaft, 3, 50)
	cluster.heap = 20_000_000
	weigh := func() Trial {
		t.Helper()
		rec, err := runWorkload(t, cluster, "memory", Params{})
		if err != nil || len(rec.trials) != 1 {
			t.Fatalf("%d trials, %v", len(rec.trials), err)
		}
		return rec.trials[0]
	}
	trial := weigh()
	want := []Value{{MetricMemory, PhaseHeap, 20_000_000}, {MetricMemory, PhasePerPartition, 400_000}}
	if n := countOf(trial, "partitions"); !slices.Equal(trial.Values, want) || n != 50 || !trial.Valid {
		t.Errorf("%v, %d partitions; valid=%t: %s", trial.Values, n, trial.Valid, trial.Reason)
	}
	cluster.collected = func(c *fakeCluster) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.controller = append(c.controller, since[kafka.BrokerID]{1, 1002})
	}
	if trial := weigh(); trial.Valid || !strings.Contains(trial.Reason, "controller 1002 is active now") {
		t.Errorf("valid=%t: %s", trial.Valid, trial.Reason)
	}
}
