package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/harness/docker"
	"kbench/harness/spec"
	"kbench/results"
)

// containedSpec kills a JVM of Kafka in a container of its own: few of them, and
// few partitions.
const containedSpec = `name: contained-kafka
targets: [TARGET]
provider: docker
trials: 1
retries: 3
cluster: {brokers: 2, SHAPE, partitions: 10, partitionsPerTopic: 5, replication: 2, timeouts: matched}
set: {kafka.brokers: real, kafka.heap: 256m, kafka.brokerProperties: num.io.threads=4}
workloads: [{WORKLOAD, probe: {rate: 50/s}}]
`

// TestRealBrokersInContainers measures what is Kafka's whole in containers: two
// brokers of 3.9 that race for the controller over a ZooKeeper, and two of 4.x
// with a controller.
func TestRealBrokersInContainers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka in containers")
	}
	if _, err := docker.Ask(t.Context()); err != nil {
		if os.Getenv("KBENCH_REQUIRE_DOCKER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: ", err)
	}
	binary := staticKbench(t)
	for _, c := range []struct {
		target          spec.Target
		shape, workload string
		figures         []string
	}{
		{spec.KafkaZK, "ensemble: 1", "kind: controller-failover, how: kill", []string{"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.first-admin"}},
		{spec.KafkaKRaft, "controllers: 1", "kind: broker-failure, how: kill", []string{"recovery.broker.detect", "recovery.broker.moved"}},
	} {
		t.Run(string(c.target), func(t *testing.T) {
			needKafka(t, c.target)
			dir := t.TempDir()
			text := strings.NewReplacer("SHAPE", c.shape, "WORKLOAD", c.workload).Replace(containedSpec)
			r := runOnKafkaBy(t, binary, dir, c.target, text)
			checkFigures(t, r, c.figures...)
			checkKafkaFolder(t, filepath.Join(dir, "out", "latest"), "broker-", "1", "2")
			if r.Manifest.Verdict != results.Valid || r.Manifest.Provider != "docker" {
				t.Errorf("%s on %s", r.Manifest.Verdict, r.Manifest.Provider)
			}
		})
	}
}
