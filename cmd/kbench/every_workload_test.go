package main

import (
	"strings"
	"testing"

	"kbench/harness/spec"
	"kbench/workloads"
)

// everyWorkloadSpec runs on small clusters of ours what other tests do not. A
// cell that a busy machine made invalid is run again.
const everyWorkloadSpec = `name: every-workload
targets: [TARGET]
provider: process
trials: 1
retries: 3
cluster: {brokers: 4, partitions: 100, partitionsPerTopic: 20, timeouts: matched, store: embedded}
workloads:
  - {kind: propagation, how: config, rate: 10/s, duration: 1s, probe: {rate: 50/s}}
  - {kind: preferred-election, partitions: 40}
  - {kind: reassign, partitions: 40}
  - {kind: isr-churn, away: 3s}
  - {kind: broker-join, away: 1s, partitions: 40}
  - {kind: leader-seek, how: pause, rate: 50/s, duration: 4s, probe: {partitions: 16}}
  - {kind: data-interference, rate: 10/s, duration: 2s, probe: {rate: 50/s}}
  - {kind: mixed, rate: 20/s, duration: 1s, probe: {rate: 50/s}}
  - {kind: controller-failover, how: pause, probe: {rate: 50/s}}
  - {kind: rolling-restart, probe: {rate: 50/s}}
  - {kind: create-partitions, partitions: 100}
  - {kind: delete-topics, partitions: 100}
  - {kind: memory, trials: 1}
`

// elsewhere says which test runs the other kinds on real nodes.
var elsewhere = map[string]string{
	"create-topics":       "TestEveryEventOnRealKafka",
	"controlled-shutdown": "TestEveryEventOnRealKafka",
	"broker-failure":      "TestEveryEventOnRealKafka",
	"quorum-change":       "TestScripts/quorumrun",
	"reconcile":           "TestPushedRun",
	"removed-voter":       "TestPushedRun",
	"max-rate":            "TestMaxRate",
}

// TestEveryWorkload: each kind of workload is valid on real nodes of both
// controllers, and gives a figure of its own.
func TestEveryWorkload(t *testing.T) {
	if testing.Short() {
		t.Skip("runs thirteen workloads, half a minute for each target")
	}
	for _, target := range []spec.Target{spec.ZK, spec.KRaft} {
		t.Run(string(target), func(t *testing.T) {
			r := runOnKafka(t, t.TempDir(), target, everyWorkloadSpec)
			figures, err := r.Figures()
			if err != nil {
				t.Fatal(err)
			}
			measured := map[string]bool{}
			for _, f := range figures {
				measured[f.Workload] = measured[f.Workload] || f.N > 0
			}
			for _, w := range workloads.All() {
				if elsewhere[w.Kind] == "" && !measured[w.Kind] {
					t.Errorf("no figure of %s", w.Kind)
				}
			}
		})
	}
}

// TestEveryWorkloadIsListed: a workload that is added comes into the spec above.
func TestEveryWorkloadIsListed(t *testing.T) {
	for _, w := range workloads.All() {
		if here := strings.Contains(everyWorkloadSpec, "kind: "+w.Kind+","); here == (elsewhere[w.Kind] != "") {
			t.Errorf("%s: in the spec: %v, elsewhere: %q", w.Kind, here, elsewhere[w.Kind])
		}
	}
}
