package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"kbench/harness/kafka"
	"kbench/harness/provider"
	"kbench/harness/spec"
	"kbench/internal/authority"
	"kbench/internal/heldport/heldtest"
	"kbench/results"
)

// startSecuredKafka starts one node of Apache Kafka, broker and controller, whose
// clients need TLS, a password and rights.
func startSecuredKafka(t *testing.T) (dir, bootstrap string, ca *authority.CA) {
	t.Helper()
	needKafka(t, spec.KafkaKRaft)
	inst, err := kafka.Find(spec.KafkaKRaftVersion)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if ca, err = authority.New(dir); err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(authority.Subject{Name: "broker", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "broker.pem")
	if err := os.WriteFile(store, append(pair.Key, pair.Certificate...), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := heldtest.Ports(t, 2)
	bootstrap = fmt.Sprintf("127.0.0.1:%d", ports[0])
	const security = "org.apache.kafka.common.security."
	p := kafka.Properties{
		{Key: "process.roles", Value: "broker,controller"},
		{Key: "node.id", Value: "1"},
		{Key: "controller.quorum.voters", Value: fmt.Sprintf("1@127.0.0.1:%d", ports[1])},
		{Key: "controller.listener.names", Value: "CONTROLLER"},
		{Key: "listeners", Value: fmt.Sprintf("SASL_SSL://%s,CONTROLLER://127.0.0.1:%d", bootstrap, ports[1])},
		{Key: "listener.security.protocol.map", Value: "CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL"},
		{Key: "inter.broker.listener.name", Value: "SASL_SSL"},
		{Key: "sasl.mechanism.inter.broker.protocol", Value: "PLAIN"},
		{Key: "sasl.enabled.mechanisms", Value: "PLAIN,SCRAM-SHA-512"},
		{Key: "listener.name.sasl_ssl.plain.sasl.jaas.config", Value: security + `plain.PlainLoginModule required username="admin" password="admin-secret" user_admin="admin-secret";`},
		{Key: "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config", Value: security + "scram.ScramLoginModule required;"},
		{Key: "ssl.keystore.type", Value: "PEM"},
		{Key: "ssl.keystore.location", Value: store},
		{Key: "ssl.truststore.type", Value: "PEM"},
		{Key: "ssl.truststore.location", Value: ca.File},
		{Key: "authorizer.class.name", Value: "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
		{Key: "super.users", Value: "User:admin;User:ANONYMOUS"},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := kafka.Start(ctx, kafka.Config{
		Installation: inst, Dir: filepath.Join(dir, "kafka"),
		Kafka: provider.Kafka{Name: "kafka", Version: spec.KafkaKRaftVersion, Properties: p, ClusterID: "QaQaQaQaQaQaQaQaQaQaQQ", Heap: "512m", JVM: []string{"-XX:TieredStopAtLevel=1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = s.Signal(context.Background(), provider.Kill)
		end, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, _, _ = s.Wait(end)
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "kafka", "server.log"))
			t.Logf("log of Kafka:\n%s", log)
		}
	})
	return dir, bootstrap, ca
}

// grant makes a user of SCRAM with the rights that docs/attach.md names, and no
// others.
func grant(t *testing.T, bootstrap string, ca *authority.CA) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DialTLSConfig(ca.Trust()), kgo.SASL(plain.Auth{User: "admin", Pass: "admin-secret"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	rights := []*kadm.ACLBuilder{
		kadm.NewACLs().Clusters().Operations(kadm.OpDescribe).Allow("User:kbench").AllowHosts("*"),
		kadm.NewACLs().Topics("kbench-attach.").ResourcePatternType(kadm.ACLPatternPrefixed).
			Operations(kadm.OpCreate, kadm.OpDescribe, kadm.OpDelete, kadm.OpWrite).Allow("User:kbench").AllowHosts("*"),
	}
	var last error
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		made, err := admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: "kbench", Mechanism: kadm.ScramSha512, Iterations: 4096, Password: "hush"}})
		if last = err; err == nil && made.Ok() {
			break
		}
	}
	for _, r := range rights {
		made, err := admin.CreateACLs(t.Context(), r)
		if last != nil || err != nil {
			t.Fatal(last, err)
		}
		for _, one := range made {
			if one.Err != nil {
				t.Fatal(one.Err)
			}
		}
	}
}

// TestAttachSecuredKafka measures a real Kafka behind TLS, passwords and ACLs.
func TestAttachSecuredKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a JVM")
	}
	dir, bootstrap, ca := startSecuredKafka(t)
	grant(t, bootstrap, ca)
	for name, c := range map[string]struct {
		login string
		code  int
		says  string
	}{
		"plain":          {fmt.Sprintf(loginPlain, "admin-secret"), 0, "VALID"},
		"scram":          {strings.ReplaceAll(fmt.Sprintf(loginScram, "hush"), "admin", "kbench"), 0, "VALID"},
		"wrong password": {fmt.Sprintf(loginPlain, "guess"), 3, "SASL_AUTHENTICATION_FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "security.protocol=SASL_SSL\n" + c.login + fmt.Sprintf(trustPEM, ca.File)
			if err := os.WriteFile(filepath.Join(dir, "client.properties"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := runKbench(ctx, os.Args[0], dir, "run", "--bootstrap", bootstrap, "--command-config", "client.properties", "--out", "out", "--data-dir", "data",
				"--workloads", "create-topics,propagation", "--trials", "1", "--partitions", "10", "--set", "cluster.replication=1",
				"--set", "workloads.create-topics.replication=1", "--set", "workloads.create-topics.partitions=10", "--set", "workloads.propagation.duration=2s")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.says) {
				t.Fatalf("%v, want exit %d and %q:\n%s", err, c.code, c.says, out)
			}
			if c.code != 0 {
				return
			}
			r, err := results.Open(filepath.Join(dir, "out", "latest"))
			if err != nil {
				t.Fatal(err)
			}
			if cell := r.Manifest.Cells[0]; cell.Config["cluster.security"] != "sasl+tls" {
				t.Errorf("security %q", cell.Config["cluster.security"])
			}
		})
	}
}
