package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/harness/attach"
	"kbench/internal/authority"
	"kbench/internal/heldport/heldtest"
	"kbench/kafka/wire"
	"kbench/results"
)

// startSecured is startStrangers with a listener that wants TLS and a password.
func startSecured(t *testing.T) (dir, bootstrap string) {
	t.Helper()
	dir = t.TempDir()
	ca, err := authority.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ca.Issue("node", authority.Subject{Name: "node", Hosts: []string{"127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := authority.New(filepath.Join(dir, "foreign")); err != nil {
		t.Fatal(err)
	}
	ports := heldtest.Ports(t, 3)
	const listener = `{"protocol": "SASL_SSL", "mechanisms": ["SCRAM-SHA-512", "PLAIN"]}`
	common := fmt.Sprintf(`"clusterId": "QaQaQaQaQaQaQaQaQaQaQQ", "mode": "kraft",
		"timers": {"fetchTimeout": "2s", "brokerSession": "6s", "brokerHeartbeat": "500ms"},
		"quorum": {"nodeId": %%d, "voters": [{"id": 1001, "host": "127.0.0.1", "port": %d}]},
		"security": {%%s "tls": {"certificate": "node.pem", "key": "node-key.pem", "ca": "ca.pem"},
			"sasl": {"username": "admin", "password": "admin-secret"}, "authorizer": true, "superUsers": ["User:admin"]}`, ports[0])
	startNode(t, dir, "c", fmt.Sprintf(`{"name": "c", "role": "controller", "dataDir": "c", `+common+`}`, 1001, `"listeners": {"CONTROLLER": `+listener+`},`), "serving")
	for id := 1; id <= 2; id++ {
		startNode(t, dir, fmt.Sprintf("b%d", id), fmt.Sprintf(`{"name": "b%d", "role": "broker", "dataDir": "b%d", `+common+`,
			"brokers": [{"id": %d, "host": "127.0.0.1", "port": %d}]}`, id, id, 0,
			`"interBroker": "SASL_SSL", "listeners": {"SASL_SSL": `+listener+`, "CONTROLLER": `+listener+`},`, id, ports[id]), "msg=registered")
	}
	as := &wire.Identity{TLS: ca.Trust(), SASL: scram.Auth{User: "admin", Pass: "admin-secret"}.AsSha512Mechanism()}
	for _, port := range ports[1:] {
		awaitBrokers(t, attach.Access{Bootstrap: []string{fmt.Sprintf("127.0.0.1:%d", port)}, As: as}, 2)
	}
	return dir, fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", ports[1], ports[2])
}

// awaitBrokers waits until a broker knows so many: a registered one is fenced
// first.
func awaitBrokers(t *testing.T, there attach.Access, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		found, err := there.Find(t.Context())
		if err == nil && len(found.Brokers) == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v knows %d brokers of %d after a minute: %v", there.Bootstrap, len(found.Brokers), n, err)
		}
	}
}

const (
	loginScram = `sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="%s";
`
	loginPlain = `sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="%s";
`
	trustPEM = "ssl.truststore.type=PEM\nssl.truststore.location=%s\n"
)

// TestAttachSecured measures a cluster behind TLS and SASL as a file of Kafka's
// clients says, and tells at once why it is not let in.
func TestAttachSecured(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts nodes")
	}
	dir, bootstrap := startSecured(t)
	for name, c := range map[string]struct {
		file string
		code int
		says string
	}{
		"scram":            {"security.protocol=SASL_SSL\n" + fmt.Sprintf(loginScram+trustPEM, "admin-secret", "ca.pem") + "request.timeout.ms=1\n", 0, "kbench takes nothing of request.timeout.ms"},
		"plain":            {"security.protocol=SASL_SSL\n" + fmt.Sprintf(loginPlain+trustPEM, "admin-secret", "ca.pem"), 0, "attach"},
		"wrong password":   {"security.protocol=SASL_SSL\n" + fmt.Sprintf(loginScram+trustPEM, "guess", "ca.pem"), 3, "SASL_AUTHENTICATION_FAILED"},
		"foreign CA":       {"security.protocol=SASL_SSL\n" + fmt.Sprintf(loginScram+trustPEM, "admin-secret", "foreign/ca.pem"), 3, "unknown authority"},
		"no TLS":           {"security.protocol=SASL_PLAINTEXT\n" + fmt.Sprintf(loginScram, "admin-secret"), 3, "the listener may want TLS or SASL"},
		"a store of Java":  {"security.protocol=SASL_SSL\nssl.truststore.location=t.jks\n" + fmt.Sprintf(loginScram, "admin-secret"), 2, "client.properties: ssl.truststore.type is missing, and Kafka's default is JKS"},
		"another protocol": {"\n\nsecurity.protocol=TLS\n", 2, `client.properties:3: security.protocol is "TLS"; write PLAINTEXT`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "client.properties"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := runKbench(ctx, os.Args[0], dir, "run", "--bootstrap", bootstrap, "--command-config", "client.properties", "--out", "out", "--data-dir", "data",
				"--workloads", "create-topics", "--trials", "1", "--set", "cluster.replication=2", "--set", "workloads.create-topics.replication=2", "--partitions", "10", "--set", "workloads.create-topics.partitions=10")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != c.code || !bytes.Contains(out, []byte(c.says)) {
				t.Fatalf("%v, want exit %d and %q:\n%s", err, c.code, c.says, out)
			}
			if c.code != 0 {
				return
			}
			r, err := results.Open(filepath.Join(dir, "out", "latest"))
			if err != nil {
				t.Fatal(err)
			}
			if cell := r.Manifest.Cells[0]; cell.Config["cluster.security"] != "sasl+tls" || !strings.Contains(strings.Join(cell.Notes, "\n"), "SASL_SSL by ") {
				t.Errorf("security %q, notes %q", cell.Config["cluster.security"], cell.Notes)
			}
			secretless(t, r.Dir)
		})
	}
	t.Run("clean", func(t *testing.T) {
		file := filepath.Join(dir, "clean.properties")
		for password, want := range map[string]string{"admin-secret": "", "guess": "SASL_AUTHENTICATION_FAILED"} {
			if err := os.WriteFile(file, []byte("security.protocol=SASL_SSL\n"+fmt.Sprintf(loginScram+trustPEM, password, "ca.pem")), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			out, err := runKbench(ctx, os.Args[0], dir, "clean", "--bootstrap", bootstrap, "--command-config", file, "--out", "out", "--data-dir", "data").CombinedOutput()
			cancel()
			if (err == nil) != (want == "") || !bytes.Contains(out, []byte(want)) {
				t.Errorf("with password %s: %v, %s", password, err, out)
			}
		}
	})
}
