package main

import (
	"testing"

	"kbench/harness/spec"
	"kbench/results"
)

// hundredSpec has a hundred brokers in four processes.
const hundredSpec = `name: hundred-brokers
targets: [TARGET]
provider: process
trials: 1
retries: 3
cluster: {brokers: 100, brokersPerNode: 25, partitions: 300, partitionsPerTopic: 10, timeouts: matched, store: embedded}
workloads:
  - {kind: propagation, rate: 1/s, duration: 3s, probe: {rate: 2/s}}
`

// What a process may use that holds twenty-five brokers, or serves a hundred:
// about twice what it does. A broker has some tens of goroutines, for its
// connections to the others and theirs to it.
const (
	hundredGoroutines = 1500
	hundredMemory     = 256 << 20
)

// TestAHundredBrokers: many brokers in a process serve changes, and what they
// use is bounded and in the run folder.
func TestAHundredBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a hundred brokers")
	}
	for _, target := range []spec.Target{spec.ZK, spec.KRaft} {
		t.Run(string(target), func(t *testing.T) {
			r := runOnKafka(t, t.TempDir(), target, hundredSpec)
			checkFigures(t, r, "propagation.last", "divergence.views")
			most := map[string]results.Resource{}
			err := r.EachResource(func(u results.Resource) error {
				m := most[u.Node]
				m.Goroutines, m.RSSBytes = max(m.Goroutines, u.Goroutines), max(m.RSSBytes, u.RSSBytes)
				most[u.Node] = m
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"brokers-1-25", "brokers-26-50", "brokers-51-75", "brokers-76-100", "controller-1001", "controller-1002", "controller-1003"} {
				switch u, ok := most[name]; {
				case !ok || u.Goroutines == 0 || u.RSSBytes == 0:
					t.Errorf("%s: its resources are not told: %+v", name, u)
				case u.Goroutines > hundredGoroutines || u.RSSBytes > hundredMemory:
					t.Errorf("%s: %d goroutines and %d MiB, want at most %d and %d", name, u.Goroutines, u.RSSBytes>>20, hundredGoroutines, hundredMemory>>20)
				}
			}
		})
	}
}
