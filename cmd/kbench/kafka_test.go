package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/harness/kafka"
	"kbench/harness/spec"
	"kbench/harness/zookeeper"
	"kbench/internal/nodeconfig"
	"kbench/results"
)

// kafkaSpec runs every event of the built-in comparison once on controllers of real Kafka. A cell that
// a busy machine made invalid is run again.
const kafkaSpec = `name: real-kafka
targets: [TARGET]
provider: process
trials: 1
retries: 3
cluster: {partitions: 100, partitionsPerTopic: 20, timeouts: matched, ensemble: 1}
set: {kafka.heap: 512m, kafka.properties: num.io.threads=4}
workloads:
  - {kind: propagation, rate: 10/s, duration: 2s, probe: {rate: 50/s}}
  - {kind: controlled-shutdown, probe: {rate: 50/s}}
  - {kind: controller-failover, how: kill, probe: {rate: 50/s}}
  - {kind: broker-failure, how: kill, probe: {rate: 50/s}}
  - {kind: create-topics, partitions: 100}
`

// realBrokersSpec takes a real broker and the controller away, on clusters that
// are Kafka's whole.
const realBrokersSpec = `name: real-brokers
targets: [TARGET]
provider: process
trials: 1
retries: 3
cluster: {partitions: 30, partitionsPerTopic: 10, timeouts: matched, ensemble: 1}
set: {kafka.brokers: real, kafka.heap: 512m, kafka.brokerProperties: num.io.threads=4}
workloads:
  - {kind: propagation, how: config, rate: 5/s, duration: 2s, probe: {rate: 20/s}}
  - {kind: controlled-shutdown, probe: {rate: 50/s}}
  - {kind: controller-failover, how: kill, probe: {rate: 50/s}}
  - {kind: data-interference, rate: 5/s, duration: 2s, produce: {rate: 50/s}, probe: {rate: 20/s, partitions: 10}}
`

// controlPlane gives the nodes of a target that can have one a control-plane
// listener.
func controlPlane(target spec.Target) []string {
	if !target.InZooKeeper() {
		return nil
	}
	return []string{"--set", "zk.controlPlaneListener=true"}
}

// TestRealBrokers measures clusters that are Kafka's whole: six JVMs with a
// quorum, three with a ZooKeeper.
func TestRealBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka, most of a minute for each target")
	}
	for _, target := range []spec.Target{spec.KafkaZK, spec.KafkaKRaft} {
		t.Run(string(target), func(t *testing.T) {
			needKafka(t, target)
			dir := t.TempDir()
			r := runOnKafka(t, dir, target, realBrokersSpec, controlPlane(target)...)
			checkFigures(t, r, "propagation.last",
				"controlled-shutdown.granted", "controlled-shutdown.moved", "controlled-shutdown.exit",
				"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.load", "recovery.controller.push", "recovery.controller.first-admin",
				"interference.quiet", "interference.loaded", "interference.produce")
			c := r.Manifest.Cells[0]
			if c.Config["kafka.brokers"] != "real" || !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "controllers and brokers are Apache Kafka") }) {
				t.Errorf("kafka.brokers is %q, and the notes are %q", c.Config["kafka.brokers"], c.Notes)
			}
			checkKafkaFolder(t, filepath.Join(dir, "out", "latest"), "broker-", "1", "2", "3")
		})
	}
}

// needKafka skips with the reason where real Kafka or what it needs is not
// here, unless KBENCH_REQUIRE_KAFKA is set.
func needKafka(t *testing.T, target spec.Target) {
	t.Helper()
	if os.Getenv("KBENCH_KAFKA") == "" { // where `make kafka` puts the jars
		root, err := filepath.Abs(filepath.Join("..", "..", "bin", "kafka"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("KBENCH_KAFKA", root)
	}
	_, err := kafka.Find(target.Kafka())
	if err == nil && target.InZooKeeper() {
		_, err = zookeeper.Find()
	}
	skipWithoutKafka(t, err)
}

// skipWithoutKafka skips for err, unless it is nil or KBENCH_REQUIRE_KAFKA is set.
func skipWithoutKafka(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("KBENCH_REQUIRE_KAFKA") != "":
		t.Fatal(err)
	default:
		t.Skip("SKIPPED: ", err)
	}
}

func TestEveryEventOnRealKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka, most of a minute for each target")
	}
	for _, target := range []spec.Target{spec.KafkaZK, spec.KafkaKRaft} {
		t.Run(string(target), func(t *testing.T) {
			needKafka(t, target)
			dir := t.TempDir()
			r := runOnKafka(t, dir, target, kafkaSpec, controlPlane(target)...)
			checkKafkaFigures(t, r, target)
			if target.InZooKeeper() {
				checkListener(t, r, r.Manifest.Cells[0].ID, nodeconfig.ControlPlaneListener)
			}
			checkKafkaFolder(t, filepath.Join(dir, "out", "latest"), "controller-", "1001", "1002", "1003")
			if left, err := os.ReadDir(filepath.Join(dir, "data")); err == nil && len(left) > 0 {
				t.Errorf("the run left %v", left)
			}
		})
	}
}

func runOnKafka(t *testing.T, dir string, target spec.Target, text string, flags ...string) *results.Run {
	t.Helper()
	return runOnKafkaBy(t, os.Args[0], dir, target, text, flags...)
}

// runOnKafkaBy is runOnKafka with another program than this one for kbench.
func runOnKafkaBy(t *testing.T, binary, dir string, target spec.Target, text string, flags ...string) *results.Run {
	t.Helper()
	file := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "TARGET", string(target))), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	args := append([]string{"run", file, "--out", filepath.Join(dir, "out"), "--data-dir", filepath.Join(dir, "data")}, flags...)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), asKbench+"=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := results.Open(filepath.Join(dir, "out", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkKafkaFigures looks for a figure of every event, and for the phases that
// Kafka's logs and the brokers' traces tell.
func checkKafkaFigures(t *testing.T, r *results.Run, target spec.Target) {
	t.Helper()
	checkFigures(t, r,
		"creation.rate", "propagation.last", "controlled-shutdown.granted", "controlled-shutdown.moved", "controlled-shutdown.exit",
		"recovery.controller.detect", "recovery.controller.elect", "recovery.controller.load", "recovery.controller.push", "recovery.controller.first-admin",
		"recovery.broker.detect", "recovery.broker.moved")
	for _, c := range r.Manifest.Cells {
		if want := target.Kafka(); !slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note names Apache Kafka %s: %q", want, c.Notes)
		}
	}
}

func checkFigures(t *testing.T, r *results.Run, want ...string) {
	t.Helper()
	figures, err := r.Figures()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, f := range figures {
		have = append(have, f.Metric+"."+f.Phase)
	}
	for _, w := range want {
		if !slices.Contains(have, w) {
			t.Errorf("no figure of %s; there are %v", w, have)
		}
	}
}

// checkKafkaFolder looks for the configuration of each node.
func checkKafkaFolder(t *testing.T, out, role string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		files, err := filepath.Glob(filepath.Join(out, "nodes", "*", role+id+".properties"))
		if err != nil || len(files) == 0 {
			t.Errorf("no server.properties of %s%s in %s, %v", role, id, out, err)
			continue
		}
		b, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(b), "num.io.threads=4") {
			t.Errorf("%s lacks what the spec sets, %v:\n%s", files[0], err, b)
		}
	}
}
