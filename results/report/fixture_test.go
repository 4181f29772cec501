package report

import (
	"fmt"
	"math"
	"testing"
	"time"

	"kbench/results"
	"kbench/results/simulated"
)

var started = time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)

// truth is a run of two targets over three rungs: zk's recovery and moves grow
// with the partitions, kraft's do not.
func truth(bounds ...string) simulated.Truth {
	return simulated.Truth{
		Name: "zk-vs-kraft", Targets: []string{"zk", "kraft"}, Partitions: []int{1000, 10_000, 100_000}, Trials: 10, Seed: 7, Started: started,
		Commit: "0123456789abcdef", Bounds: bounds, Noise: &simulated.Noise{Sigma: 0.08, Outliers: 0.03, Factor: 4},
		Metrics: []string{
			"creation.rate", "controlled-shutdown.granted", "controlled-shutdown.moved", "controlled-shutdown.exit",
			"propagation.first", "propagation.median", "propagation.last",
			"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.load", "recovery.controller.push", "recovery.controller.first-admin",
			"recovery.broker.detect", "recovery.broker.moved", "unavailability.partition",
		},
		Value: trueValue,
		Resources: func(p simulated.Point) (heap, rss, log int64) {
			return int64(8e6 + 400*float64(p.Partitions)), int64(30e6 + 900*float64(p.Partitions)), int64(p.Partitions) * 120
		},
		Edit: func(m *results.Manifest) {
			m.CommandLine, m.SpecYAML = []string{"kbench", "run", "--set", "zk.maxInFlight=10 | 1"}, "name: zk-vs-kraft\ntargets: [zk, kraft]\n"
			m.Differences = []results.Contrast{{What: "how brokers learn", Values: map[string]string{"zk": "pushed | in turn", "kraft": "fetched"}}}
			m.Provider = "process"
		},
	}
}

func trueValue(p simulated.Point) float64 {
	k, zk := float64(p.Partitions)/1000, p.Target == "zk"
	ms := func(zkMs, kraftMs float64) float64 {
		if zk {
			return zkMs * 1e6
		}
		return kraftMs * 1e6
	}
	switch p.Metric {
	case "creation.rate":
		if zk {
			return 4000 / math.Pow(k, 0.1)
		}
		return 9000
	case "controlled-shutdown.granted":
		return ms(100*k, 350)
	case "controlled-shutdown.moved":
		return ms(80*k, 400)
	case "controlled-shutdown.exit":
		return ms(110*k+20, 410)
	case "propagation.first":
		return ms(7, 70)
	case "propagation.median":
		return ms(9, 72)
	case "propagation.last":
		return ms(12, 75)
	case "recovery.controller.detect":
		return ms(1990, 1995)
	case "recovery.controller.elect":
		return ms(3, 15)
	case "recovery.controller.load":
		return ms(60*k, 4)
	case "recovery.controller.push":
		return ms(4+k, 12)
	case "recovery.controller.first-admin":
		return ms(2010+61*k, 2040)
	case "recovery.broker.detect":
		return ms(1700, 1800)
	case "recovery.broker.moved":
		return ms(1750+30*k, 2100)
	default:
		return ms(1760+30*k, 2150)
	}
}

// comparison writes the run of truth and gives its folder.
func comparison(t *testing.T, bounds ...string) string {
	t.Helper()
	r, err := simulated.Write(t.TempDir(), truth(bounds...))
	if err != nil {
		t.Fatal(err)
	}
	return r.Dir
}

// eventful writes a run by hand with what simulations leave out: who was the
// controller, when faults were undone, what each broker served, and names that
// would be markup. Names are those of the first cell.
func eventful(t *testing.T, name string) string {
	t.Helper()
	w, err := results.Create(t.TempDir(), "eventful", started)
	if err != nil {
		t.Fatal(err)
	}
	m := results.Manifest{Name: name, Started: started, Ended: started.Add(time.Minute), Provider: name, SpecYAML: name, CommandLine: []string{name}, Warnings: []string{name}}
	for i, target := range []string{name, "kraft"} {
		c := results.Cell{ID: fmt.Sprintf("%s.cell-%d", target, i), Target: target, Variant: "base", Partitions: 1000, Verdict: results.Valid, Store: name, Notes: []string{name}}
		m.Cells = append(m.Cells, c)
		second := int64(time.Second)
		at := int64(i+1) * 1000 * second
		event := func(ns int64, kind, node string, data map[string]any) {
			e := results.Event{MonoNs: ns, Wall: started, Cell: c.ID, Repeat: 1, Workload: "controller-failover", Trial: 1, Kind: kind, Node: node, Data: data}
			if err := w.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		event(at, "controller", "1001", map[string]any{"epoch": 1})
		event(at+second, "controller", "1001", map[string]any{"detail": "named by the cluster"})
		event(at+10*second, "fault", "1001", map[string]any{"detail": name})
		event(at+12*second, "controller", "1002", map[string]any{"epoch": 2})
		event(at+13*second, "healed", "1001", map[string]any{"detail": "start"})
		event(at+15*second, "restored", "1001", map[string]any{"detail": "healthy and balanced"})
		event(at+10*second, "trial", "1001", map[string]any{"how": "kill", "valid": true, "endNs": at + 12*second, "admin.sent": 100, "admin.late": 1, "admin.dropped": 2})
		event(at+20*second, "trial", "", map[string]any{"valid": true})
		for trial := 1; trial <= 6; trial++ {
			for _, metric := range []string{"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.load", "recovery.controller.push", "recovery.controller.first-admin"} {
				s := results.Sample{
					Cell: c.ID, Workload: "controller-failover", Repeat: 1, Trial: trial, Metric: metric, Value: float64((i + 1) * trial * 1e8), Unit: results.Nanoseconds,
					AtNs: at, Subject: name, Valid: trial != 6, Reason: map[bool]string{true: name}[trial == 6],
				}
				if err := w.Sample(s); err != nil {
					t.Fatal(err)
				}
			}
		}
		rec := results.NewRecorder(1)
		for k := range 400 {
			rec.Shard(0).Record(time.Duration(k+1) * time.Millisecond / 4 * time.Duration(i+1))
		}
		var intervals []results.Interval
		for _, tag := range []string{"last", "broker.1", "broker.2"} {
			intervals = append(intervals, results.Interval{Tag: tag, Start: started, End: started.Add(time.Second), Dist: rec.Merged()})
		}
		if err := w.Hlog(c.ID, results.HlogFigure("propagation", "propagation", 1), intervals); err != nil {
			t.Fatal(err)
		}
		for k := range int64(40) {
			for _, node := range []string{"controller-1001", "broker-1", name} {
				r := results.Resource{Cell: c.ID, Repeat: 1, MonoNs: at + k*second/2, Node: node, CPUMs: k * 100, RSSBytes: 50e6 + k*1e5, HeapBytes: 10e6 + k%7*1e5, WrittenBytes: k * 1000, DataBytes: k * 100}
				if err := w.Metric(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	path, err := w.Commit(m)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
