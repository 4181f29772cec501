package interop

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kbench/harness/kafka"
)

// Kafka's command-line tools, by the class that its scripts run.
const (
	kafkaTopics            = "org.apache.kafka.tools.TopicCommand"
	kafkaConfigs           = "kafka.admin.ConfigCommand"
	kafkaClientMetrics     = "org.apache.kafka.tools.ClientMetricsCommand"
	kafkaACLs              = "kafka.admin.AclCommand"
	kafkaReassign          = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
	kafkaLeaderElection    = "org.apache.kafka.tools.LeaderElectionCommand"
	kafkaBrokerAPIVersions = "kafka.admin.BrokerApiVersionsCommand"
	kafkaCluster           = "org.apache.kafka.tools.ClusterTool"
	kafkaFeatures          = "org.apache.kafka.tools.FeatureCommand"
	kafkaGetOffsets        = "org.apache.kafka.tools.GetOffsetShell"
	consoleProducer        = "kafka.tools.ConsoleProducer"
	consoleConsumer        = "org.apache.kafka.tools.consumer.ConsoleConsumer"
	kafkaMetadataQuorum    = "org.apache.kafka.tools.MetadataQuorumCommand"
	kafkaDumpLog           = "org.apache.kafka.tools.DumpLogSegments"
	kafkaMetadataShell     = "org.apache.kafka.shell.MetadataShell"
	kafkaStorage           = "kafka.tools.StorageTool"
)

// moved are the tools that have another class in Kafka 4.
var moved = map[string]string{
	kafkaConfigs:           "org.apache.kafka.tools.ConfigCommand",
	kafkaACLs:              "org.apache.kafka.tools.AclCommand",
	kafkaBrokerAPIVersions: "org.apache.kafka.tools.BrokerApiVersionsCommand",
	consoleProducer:        "org.apache.kafka.tools.ConsoleProducer",
}

// toolTimeout bounds one tool.
const toolTimeout = 2 * time.Minute

// maxPrinted bounds what a tool may print, in bytes.
const maxPrinted = 8 << 20

// tools is one JVM that runs Kafka's tools, one at a time (testdata/Tools.java).
type tools struct {
	kafka4 bool
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
}

// startTools starts the JVM, which compiles its source first. It ends with its
// test: clients that a tool left behind would tell of brokers that are gone among
// what the tools of the next one print.
func startTools(t *testing.T, inst kafka.Installation) *tools {
	t.Helper()
	x := &tools{kafka4: !strings.HasPrefix(inst.Version, "3."), cmd: exec.Command(inst.Java, slices.Concat([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
	}, logging(t, shared, "tools", toolsLog1, toolsLog2), []string{
		"-cp", filepath.Join(inst.Libs, "*"), filepath.Join("testdata", "Tools.java"),
	})...)}
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	x.cmd.Stderr = os.Stderr
	in, err := x.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	x.in, x.out = in, bufio.NewReader(out)
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.close)
	return x
}

// close ends the JVM.
func (x *tools) close() {
	_ = x.cmd.Process.Kill()
	_ = x.cmd.Wait()
}

// run runs a tool with what it reads and gives what it printed and its exit
// code.
func (x *tools) run(stdin string, words ...string) (string, int, error) {
	if class := moved[words[0]]; x.kafka4 && class != "" {
		words = append([]string{class}, words[1:]...)
	}
	request := text(nil, stdin)
	request = binary.BigEndian.AppendUint32(request, uint32(len(words)))
	for _, w := range words {
		request = text(request, w)
	}
	late := time.AfterFunc(toolTimeout, func() { _ = x.cmd.Process.Kill() })
	defer late.Stop()
	if _, err := x.in.Write(request); err != nil {
		return "", 0, fmt.Errorf("tell the JVM of the tools to run %s: %w", words[0], err)
	}
	var head [8]byte
	if _, err := io.ReadFull(x.out, head[:]); err != nil {
		return "", 0, fmt.Errorf("%s gave no answer within %v: %w", words[0], toolTimeout, err)
	}
	size := binary.BigEndian.Uint32(head[4:])
	if size > maxPrinted {
		return "", 0, fmt.Errorf("%s printed %d bytes, over %d", words[0], size, maxPrinted)
	}
	said := make([]byte, size)
	_, err := io.ReadFull(x.out, said)
	return string(said), int(int32(binary.BigEndian.Uint32(head[:4]))), err
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// tool runs one of Kafka's tools against a broker of the cluster. It must exit
// 0. It gives what was printed.
func (c *cluster) tool(t *testing.T, class string, at broker, words ...string) string {
	t.Helper()
	return c.toolReads(t, "", class, at, words...)
}

func (c *cluster) toolReads(t *testing.T, stdin, class string, at broker, words ...string) string {
	t.Helper()
	words = append([]string{class, "--bootstrap-server", c.addr(at)}, words...)
	said, code, err := c.tools.run(stdin, words...)
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 {
		t.Fatalf("%s\nexit %d:\n%s", strings.Join(words, " "), code, said)
	}
	return said
}

// wants fails unless what a tool printed has each of the parts.
func wants(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(said, p) {
			t.Fatalf("%q is not in\n%s", p, said)
		}
	}
}
