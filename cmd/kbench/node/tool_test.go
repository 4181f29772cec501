package node

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kbench/harness/kafka"
)

// needKafka finds the jars that `make kafka` puts in bin, or skips with the
// reason.
func needKafka(t *testing.T, version string) kafka.Installation {
	t.Helper()
	if os.Getenv("KBENCH_KAFKA") == "" {
		root, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "kafka"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("KBENCH_KAFKA", root)
	}
	inst, err := kafka.Find(version)
	switch {
	case err == nil:
	case os.Getenv("KBENCH_REQUIRE_KAFKA") != "":
		t.Fatal(err)
	default:
		t.Skip("SKIPPED: ", err)
	}
	return inst
}

// tools has Kafka's own tool, with a properties file as its users write one, make
// a topic as ann and fail as bob.
func (r *rig) tools(version string) {
	inst := needKafka(r.t, version)
	run := func(user, topic string) (string, error) {
		file := filepath.Join(r.dir, user+".properties")
		text := "security.protocol=SASL_SSL\nssl.truststore.type=PEM\nssl.truststore.location=" + r.ca.File + "\n" +
			"sasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required " +
			`username="` + user + `" password="` + user + "-secret\";\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(r.t.Context(), patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, inst.Java, "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(inst.Libs, "*"), "org.apache.kafka.tools.TopicCommand",
			"--bootstrap-server", r.seed, "--command-config", file, "--create", "--topic", topic, "--partitions", "2", "--replication-factor", "2").CombinedOutput()
		return string(out), err
	}
	if out, err := run("ann", "orders-by-tool"); err != nil || !strings.Contains(out, "Created topic orders-by-tool") {
		r.t.Errorf("ann: %v: %s", err, out)
	}
	if out, err := run("bob", "orders-of-bob"); err == nil || !strings.Contains(out, "Authorization failed") {
		r.t.Errorf("bob: %v: %s", err, out)
	}
}
