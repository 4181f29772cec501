package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kbench/harness/spec"
	"kbench/internal/heldport/heldtest"
)

const formatCluster = "MkU3OEVBNTcwNTJENDM2Qg"

// quorumTool runs kafka-metadata-quorum until its output holds what is waited
// for, for at most two minutes: each run starts a JVM.
func quorumTool(t *testing.T, jars, want string, args ...string) string {
	t.Helper()
	var out []byte
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		out, _ = exec.CommandContext(t.Context(), "java", append([]string{"-cp", jars, "org.apache.kafka.tools.MetadataQuorumCommand"}, args...)...).CombinedOutput()
		if regexp.MustCompile(want).Match(out) {
			return string(out)
		}
	}
	t.Fatalf("kafka-metadata-quorum %v does not say %q in two minutes:\n%s", args, want, out)
	return ""
}

// A controller of ours, formatted by `kbench node format`, and one of Apache
// Kafka, formatted by Kafka's own tool, are one quorum: Kafka's tools add the one
// and remove the other, which leads, hands over and follows.
func TestVotersOfBothKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts real Kafka, half a minute")
	}
	needKafka(t, spec.KafkaKRaft)
	jars := filepath.Join(os.Getenv("KBENCH_KAFKA"), "4.4.0", "libs", "*")
	dir, ports := t.TempDir(), heldtest.Ports(t, 2)
	ours, real := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])

	var stdout, stderr bytes.Buffer
	if code := run([]string{
		"node", "format", "--cluster-id", formatCluster, "--node-id", "3001", "--data-dir", filepath.Join(dir, "n", "metadata"),
		"--standalone", ours, "--release-version", "4.0-IV3",
	}, &stdout, &stderr); code != 0 {
		t.Fatalf("format: exit %d: %s", code, &stderr)
	}
	startNode(t, dir, "c", fmt.Sprintf(`{"name": "c", "role": "controller", "mode": "kraft", "clusterId": %q, "dataDir": "n",
		"quorum": {"nodeId": 3001, "host": "127.0.0.1", "port": %d, "bootstrap": [%q, %q]}}`, formatCluster, ports[0], ours, real), "active controller")

	properties := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(properties, fmt.Appendf(nil, `process.roles=controller
node.id=3002
controller.quorum.bootstrap.servers=%s
listeners=CONTROLLER://%s
controller.listener.names=CONTROLLER
log.dirs=%s
`, ours, real, filepath.Join(dir, "kafka")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "java", "-cp", jars, "kafka.tools.StorageTool", "format", "-t", formatCluster,
		"-c", properties, "--no-initial-controllers", "--release-version", "4.0").CombinedOutput(); err != nil {
		t.Fatalf("kafka-storage: %v\n%s", err, out)
	}
	var log bytes.Buffer
	kafka := exec.CommandContext(t.Context(), "java", "-Xmx256m", "-cp", jars, "kafka.Kafka", properties)
	kafka.Stdout, kafka.Stderr = &log, &log
	if err := kafka.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = kafka.Process.Kill()
			_ = kafka.Wait()
		}
	}
	defer stop()

	quorumTool(t, jars, `CurrentObservers: .*3002`, "--bootstrap-controller", ours, "describe", "--status")
	quorumTool(t, jars, `Added controller 3002|already part`, "--command-config", properties, "--bootstrap-controller", ours, "add-controller")
	status := quorumTool(t, jars, `CurrentVoters: .*3001.*3002`, "--bootstrap-controller", ours, "describe", "--status")
	own := regexp.MustCompile(`"id": 3001, "directoryId": "([^"]+)"`).FindStringSubmatch(status)
	if own == nil {
		t.Fatalf("no directory id of node 3001: %s", status)
	}
	// The leader goes: it commits that, hands over and follows.
	quorumTool(t, jars, `Removed KRaft controller 3001|VoterNotFound`, "--bootstrap-controller", ours, "remove-controller", "--controller-id", "3001", "--controller-directory-id", own[1])
	quorumTool(t, jars, `(?s)LeaderId: +3002.*CurrentVoters: +\[{"id": 3002.*CurrentObservers: .*3001`, "--bootstrap-controller", real, "describe", "--status")
	stop()
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "ERROR") || strings.Contains(line, "UNSUPPORTED_VERSION") {
			t.Errorf("the real controller says: %s", line)
		}
	}
}
