package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kbench/internal/authority"
	"kbench/internal/heldport/heldtest"
	"kbench/kafka/wire"
)

// The users that a quorum is formatted with log in at its secured listener.
func TestFormattedUsersLogIn(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a node")
	}
	dir, port := t.TempDir(), heldtest.Port(t)
	ca, err := authority.New(filepath.Join(dir, "tls"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ca.Issue("node", authority.Subject{Name: "node", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("127.0.0.1:%d", port)
	var stdout, stderr bytes.Buffer
	if code := run([]string{
		"node", "format", "--cluster-id", formatCluster, "--node-id", "3001", "--data-dir", filepath.Join(dir, "n", "metadata"),
		"--standalone", at, "--add-scram", "SCRAM-SHA-256=[name=ann,password=pencil]",
	}, &stdout, &stderr); code != 0 {
		t.Fatalf("format: exit %d: %s", code, &stderr)
	}
	startNode(t, dir, "c", fmt.Sprintf(`{"name": "c", "role": "controller", "mode": "kraft", "clusterId": %q, "dataDir": "n",
		"quorum": {"nodeId": 3001, "host": "127.0.0.1", "port": %d},
		"security": {"listeners": {"CONTROLLER": {"protocol": "SASL_SSL", "mechanisms": ["SCRAM-SHA-256"]}},
			"tls": {"certificate": %q, "key": %q, "ca": %q}, "sasl": {"username": "admin", "password": "admin-secret"},
			"authorizer": true, "superUsers": ["User:admin"]}}`,
		formatCluster, port, keys.Certificate, keys.Key, ca.File), "active controller")
	for user, password := range map[string]string{"ann": "pencil", "admin": "admin-secret"} {
		id := wire.Identity{TLS: ca.Trust(), SASL: scram.Auth{User: user, Pass: password}.AsSha256Mechanism()}
		var last error
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			var c *wire.Conn
			c, last = wire.Dial(ctx, at, wire.DialOptions{}.With(id))
			cancel()
			if last == nil {
				c.Close()
				break
			}
		}
		if last != nil {
			t.Errorf("%s: %v", user, last)
		}
	}
}
