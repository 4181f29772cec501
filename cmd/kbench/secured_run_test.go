package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kbench/results"
)

// securedSpec has every kind of client: probes, admin requests, producers of
// kbench and franz-go, and a broker that leaves and comes back.
const securedSpec = `name: secured
targets: [zk, kraft]
trials: 1
retries: 2
provider: process
cluster: {partitions: 20, partitionsPerTopic: 5, store: embedded, timeouts: matched, security: sasl+tls}
workloads:
  - {kind: controlled-shutdown, probe: {rate: 50/s}}
  - {kind: data-interference, rate: 5/s, duration: 2s, produce: {rate: 100/s, client: franz-go}}
variants:
  - {name: tls, set: {security: tls}}
`

// TestSecuredRun measures both targets behind TLS, SCRAM and ACLs, and by
// certificates alone: it is valid, says so, and leaves no secret.
func TestSecuredRun(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts clusters")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := runSpec(t, ctx, dir, securedSpec)
	want := map[string][]string{
		"zk.base":    {"sasl+tls", "SASL_SSL", "SCRAM-SHA-512", "sessions with ZooKeeper are plain"},
		"kraft.base": {"sasl+tls", "SASL_SSL", "SCRAM-SHA-512"},
		"zk.tls":     {"tls", "speak SSL", "certificates on both sides"},
		"kraft.tls":  {"tls", "speak SSL", "certificates on both sides"},
	}
	for _, c := range r.Manifest.Cells {
		words := want[c.ID]
		delete(want, c.ID)
		if len(words) == 0 || c.Verdict != results.Valid || c.Config["cluster.security"] != words[0] {
			t.Errorf("%s is %s with security %q: %v", c.ID, c.Verdict, c.Config["cluster.security"], c.Reasons)
		}
		for _, w := range words {
			if !strings.Contains(strings.Join(c.Notes, "\n"), w) {
				t.Errorf("%s does not tell of %q: %q", c.ID, w, c.Notes)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("cells are missing: %v", want)
	}
	if !slices.ContainsFunc(r.Manifest.Differences, func(c results.Contrast) bool { return c.What == "security" }) {
		t.Errorf("what differs lacks security: %v", r.Manifest.Differences)
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("data of nodes, and keys among it, are left: %v", err)
	}
	secretless(t, r.Dir)
}

const securedPushSpec = `name: secured-push
targets: [raft-push]
trials: 1
retries: 2
provider: process
cluster: {partitions: 20, partitionsPerTopic: 5, timeouts: matched, security: tls}
workloads:
  - {kind: controller-failover, how: kill, probe: {rate: 50/s}}
`

// TestSecuredPush measures a quorum whose voters show each other certificates.
func TestSecuredPush(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short mode: starts a cluster")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := runSpec(t, ctx, t.TempDir(), securedPushSpec)
	for _, c := range r.Manifest.Cells {
		if c.Verdict != results.Valid || !strings.Contains(strings.Join(c.Notes, "\n"), "speak SSL") {
			t.Errorf("%s is %s, %v: %q", c.ID, c.Verdict, c.Reasons, c.Notes)
		}
	}
	checkFigures(t, r, "recovery.controller.first-admin")
	secretless(t, r.Dir)
}

// secretless looks for keys and passwords in every file below a directory.
func secretless(t *testing.T, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, secret := range []string{"PRIVATE KEY", `"password"`} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds %s", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
