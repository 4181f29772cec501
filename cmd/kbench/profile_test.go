package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kbench/harness/jvm"
	"kbench/harness/kafka"
	"kbench/harness/spec"
	"kbench/harness/zookeeper"
)

// TestProfile keeps profiles of every node, in the run folder and linked from
// the report.
func TestProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := runKbench(ctx, os.Args[0], dir, "run", "--targets", "kraft", "--provider", "process", "--partitions", "10", "--workloads", "propagation",
		"--set", "workloads.propagation.duration=1s", "--retries", "3", "--profile", "--out", "out", "--data-dir", "data")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "out", "latest", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"broker-1", "broker-2", "broker-3", "controller-1001"} {
		for _, kind := range []string{"cpu", "heap"} {
			name := "nodes/kraft.base.partitions-10.1/" + node + ".propagation." + kind + ".pprof"
			if b, err := os.ReadFile(filepath.Join(dir, "out", "latest", name)); err != nil || len(b) < 100 {
				t.Errorf("%s holds %d bytes, %v", name, len(b), err)
			}
			if !strings.Contains(string(page), `<a href="`+name+`">`) {
				t.Errorf("the report has no link to %s", name)
			}
		}
	}
}

// kafkaProfileSpec has nodes of both kinds, JVMs of real Kafka, which are killed in
// the end, and kbench's brokers.
const kafkaProfileSpec = `name: kafka-profile
targets: [TARGET]
provider: process
trials: 1
retries: 3
cluster: {partitions: 10, timeouts: matched}
set: {kafka.heap: 256m}
workloads:
  - {kind: propagation, rate: 10/s, duration: 1s}
`

// TestProfileOfKafka keeps what every JVM recorded of itself, linked from the
// report and nowhere else.
func TestProfileOfKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real Kafka")
	}
	needKafka(t, spec.KafkaKRaft)
	needJcmd(t)
	dir, tmp := t.TempDir(), t.TempDir()
	t.Setenv("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir="+tmp)
	runOnKafka(t, dir, spec.KafkaKRaft, kafkaProfileSpec, "--profile")
	latest := filepath.Join(dir, "out", "latest")
	page, err := os.ReadFile(filepath.Join(latest, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, controller := range []string{"1001", "1002", "1003"} {
		files, err := filepath.Glob(filepath.Join(latest, "nodes", "*", "controller-"+controller+".jfr"))
		if err != nil || len(files) == 0 {
			t.Errorf("controller %s left no recording: %v", controller, err)
			continue
		}
		for _, file := range files {
			if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("FLR\x00")) || len(b) < 10_000 {
				t.Errorf("%s is no recording: %d bytes, %v", file, len(b), err)
			}
			name, err := filepath.Rel(latest, file)
			if err != nil || !strings.Contains(string(page), `<a href="`+filepath.ToSlash(name)+`">`) {
				t.Errorf("the report has no link to %s, %v", name, err)
			}
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the JVMs left %v, %v", left, err)
	}
}

// TestProfileOfZooKeeper keeps what every server of a real ensemble recorded of
// itself, and what it used.
func TestProfileOfZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	inst, err := zookeeper.Find()
	if err == nil {
		_, err = jvm.Jcmd(inst.Java)
	}
	if err != nil {
		if os.Getenv("KBENCH_REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: ", err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := runKbench(ctx, os.Args[0], dir, "run", "--targets", "zk", "--store", "zookeeper", "--provider", "process", "--partitions", "10", "--workloads", "propagation",
		"--set", "workloads.propagation.duration=1s", "--retries", "3", "--profile", "--out", "out", "--data-dir", "data")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	latest := filepath.Join(dir, "out", "latest")
	page, err := os.ReadFile(filepath.Join(latest, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	used, err := os.ReadFile(filepath.Join(latest, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"zookeeper-1", "zookeeper-2", "zookeeper-3"} {
		name := "nodes/zk.base.partitions-10.1/" + server + ".jfr"
		if b, err := os.ReadFile(filepath.Join(latest, name)); err != nil || !bytes.HasPrefix(b, []byte("FLR\x00")) {
			t.Errorf("%s is no recording: %d bytes, %v", name, len(b), err)
		}
		if !strings.Contains(string(page), `<a href="`+name+`">`) {
			t.Errorf("the report has no link to %s", name)
		}
		if !strings.Contains(string(used), `"node":"`+server+`"`) {
			t.Errorf("nothing tells what %s used", server)
		}
	}
}

// needJcmd skips where Java is no JDK, unless KBENCH_REQUIRE_KAFKA is set.
func needJcmd(t *testing.T) {
	t.Helper()
	inst, err := kafka.Find(spec.KafkaKRaft.Kafka())
	if err == nil {
		_, err = jvm.Jcmd(inst.Java)
	}
	skipWithoutKafka(t, err)
}
