package workloads

import (
	"slices"
	"testing"
	"time"

	"kbench/internal/nodeconfig"
	"kbench/kafka"
)

func TestEventsMeasureWhatWasInjected(t *testing.T) {
	for kind, p := range map[string]Params{
		"isr-churn":       {Trials: 1, Away: 600 * time.Millisecond},
		"broker-join":     {Trials: 1, Away: 400 * time.Millisecond, Partitions: 200},
		"rolling-restart": {Trials: 1, ProbePartitions: 10},
		"leader-seek":     {Trials: 1, Rate: 200, Duration: 2 * time.Second, ProbePartitions: 20},
	} {
		t.Run(kind, func(t *testing.T) {
			measured(t, func(t *attempted) {
				c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 4, 60)
				c.fence, c.grant, c.rejoin, c.exit = 250*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond, 150*time.Millisecond
				for id := range kafka.BrokerID(5) {
					c.delay[id] = 50 * time.Millisecond
				}
				rec := mustRun(t, c, kind, p)
				trial := rec.trials[len(rec.trials)-1]
				switch kind {
				case "isr-churn":
					near(t, "shrunk", value(t, trial, MetricISR, PhaseShrunk), 300*time.Millisecond)
					near(t, "expanded", value(t, trial, MetricISR, PhaseExpanded), 350*time.Millisecond)
					if countOf(trial, "fenced") != 1 {
						t.Errorf("counts %+v", trial.Counts)
					}
				case "broker-join":
					near(t, "in sync", value(t, trial, MetricJoin, PhaseInSync), 350*time.Millisecond)
					if countOf(trial, "partitions.created") != 200 || countOf(trial, "partitions.learnt") < 260 {
						t.Errorf("counts %+v", trial.Counts)
					}
				case "rolling-restart":
					checkRoll(t, c, rec, trial)
				case "leader-seek":
					checkSeek(t, rec, trial)
				}
			})
		})
	}
}

// checkRoll: four brokers are away 150 ms each and are seen in sync 350 ms after
// they run again; leaders move 100 ms after the SIGTERM, which clients hear
// 50 ms later.
func checkRoll(t *attempted, c *fakeCluster, rec *memory, trial Trial) {
	near(t, "total", value(t, trial, MetricRolling, PhaseTotal), 2*time.Second)
	if got := len(rec.values["rolling-restart.broker"]); got != 4 {
		t.Errorf("%d brokers were restarted", got)
	}
	if countOf(trial, "produces") == 0 || countOf(trial, "produces.failed") == 0 {
		t.Errorf("counts %+v", trial.Counts)
	}
	var due, acked int64
	for _, e := range rec.events {
		if e.Kind == EventAvailability {
			due, acked = due+e.Counts[0].N, acked+e.Counts[1].N
		}
	}
	if due != countOf(trial, "produces") || due-acked != countOf(trial, "produces.failed") {
		t.Errorf("the curve sums to %d of %d, counts %+v", acked, due, trial.Counts)
	}
	seen := map[kafka.BrokerID]int{}
	for _, e := range rec.events {
		if e.Kind == EventFault {
			seen[e.Node]++
		}
	}
	if len(seen) != 4 || len(c.injected) != 8 {
		t.Errorf("restarted %v by %v", seen, c.injected)
	}
}

// checkSeek: leaders move 250 ms after the kill.
func checkSeek(t *attempted, rec *memory, trial Trial) {
	if got := len(rec.values["leader-seek.found"]); got != 400 {
		t.Errorf("%d of 400 records were acknowledged", got)
	}
	if countOf(trial, "seek.acked") != 400 || countOf(trial, "seek.failed") != 0 {
		t.Errorf("counts %+v", trial.Counts)
	}
	if countOf(trial, "outages") == 0 || number(t, trial, MetricFailedTries, PhaseAll) == 0 {
		t.Errorf("nobody met the outage: %+v, %+v", trial.Counts, trial.Values)
	}
}

// A broker whose data is lost starts on an empty disk, and only one that nothing
// else counts on may lose it.
func TestABrokerJoinsWithoutItsData(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 4, 60)
		c.rejoin = 300 * time.Millisecond
		mustRun(t, c, "broker-join", Params{Trials: 1, Away: 100 * time.Millisecond, Partitions: 10, Data: dataLost})
		if len(t.slow) == 0 && !slices.Equal(c.injected, []Fault{FaultKill, FaultStartEmpty}) {
			t.Errorf("injected %v", c.injected)
		}
	})
	s := Setup{Mode: nodeconfig.ModeKRaft, Brokers: 3, Controllers: 3, Colocated: true, Replication: 3, PerNode: 1}
	if err := brokerJoin.Refuses(s, Params{Data: dataLost}); err == nil {
		t.Error("a voter may lose its log")
	}
	if err := brokerJoin.Refuses(s, Params{Data: dataKept}); err != nil {
		t.Error(err)
	}
}

// Two controllers are lost in a row, and each is a trial.
func TestRepeatedKills(t *testing.T) {
	measured(t, func(t *attempted) {
		c := newFakeCluster(t.T, nodeconfig.ModeKRaft, 3, 30)
		c.detect, c.elect, c.load, c.push = 100*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond
		rec := mustRun(t, c, "controller-failover", Params{Trials: 2, Kills: 2})
		if len(t.slow) > 0 {
			return
		}
		if len(rec.trials) != 4 {
			t.Fatalf("%d trials of 2 times 2 kills", len(rec.trials))
		}
		for i, trial := range rec.trials {
			if trial.N != i+1 {
				t.Errorf("trial %d is numbered %d", i+1, trial.N)
			}
			near(t, "first-admin", value(t, trial, MetricControllerRecovery, PhaseFirstAdmin), 130*time.Millisecond)
		}
		if rec.trials[0].Victim == rec.trials[1].Victim {
			t.Error("one controller was killed twice in a row")
		}
	})
}
