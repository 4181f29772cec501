package raftclient

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kbench/kraftcontroller/metalog"
)

// stopOne stops a node of a quorum of n that has committed a record, and gives its
// configuration and where its log is.
func stopOne(t *testing.T, n int) (cfg Config, dir string) {
	t.Helper()
	q := newQuorum(t, n, nil)
	q.put("a")
	one := q.nodes[1]
	one.kill()
	return one.cfg, filepath.Join(one.cfg.Dir, metalog.PartitionDir)
}

// TestLostLogIsRefused: a voter whose log is gone does not come back empty, with a
// vote that counts.
func TestLostLogIsRefused(t *testing.T) {
	for name, lose := range map[string]func(string) error{"removed": os.Remove, "emptied": func(name string) error { return os.Truncate(name, 0) }} {
		t.Run(name, func(t *testing.T) {
			cfg, dir := stopOne(t, 3)
			if err := lose(filepath.Join(dir, "00000000000000000000.log")); err != nil {
				t.Fatal(err)
			}
			if _, err := New(cfg); !errors.Is(err, metalog.ErrLost) {
				t.Errorf("New gives %v", err)
			}
		})
	}
}

// TestMissingQuorumState: a voter that has records and no quorum-state is refused,
// unless nobody else votes.
func TestMissingQuorumState(t *testing.T) {
	cfg, dir := stopOne(t, 3)
	file := filepath.Join(dir, "quorum-state")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), file+" is missing, but the log beside it ends at offset ") {
		t.Errorf("New gives %v", err)
	}
	cfg, dir = stopOne(t, 1)
	if err := os.Remove(filepath.Join(dir, "quorum-state")); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "level=WARN msg=\"quorum-state is missing: the node may have voted and not know it") {
		t.Errorf("the log says %q", log.String())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestDamagedSnapshotIsRefused: the file is named, and the cure.
func TestDamagedSnapshotIsRefused(t *testing.T) {
	cfg, dir := stopOne(t, 3)
	file := filepath.Join(dir, metalog.SnapshotID{EndOffset: 1, Epoch: 1}.FileName())
	if err := os.WriteFile(file, []byte("what no program wrote, and long enough to be a batch of some kind, were it one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); !errors.Is(err, metalog.ErrCorrupt) || !strings.Contains(err.Error(), "snapshot "+file+" at byte 0: ") || !strings.HasSuffix(err.Error(), ": "+metalog.StartAnew) {
		t.Errorf("New gives %v", err)
	}
}
