package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kbench/kraftcontroller/metalog"
)

// TestDirectoryThatCannotBeHad: a controller and `node format` refuse a directory
// with the same exit code, by a text that names what is in the way and what to do.
func TestDirectoryThatCannotBeHad(t *testing.T) {
	meta := filepath.Join("data", "metadata", "meta.properties")
	write := func(name, text string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	const beginAnew = ": restore the file, or remove the whole directory and begin it anew"
	for name, c := range map[string]struct {
		prepare func(*testing.T)
		code    int
		want    []string
	}{
		"another cluster": {write(meta, "cluster.id=other\nnode.id=1001\nversion=1\n"), exitUsage, []string{"is formatted for another node", "or remove this one"}},
		"another node":    {write(meta, "cluster.id="+formatCluster+"\nnode.id=7\nversion=1\n"), exitUsage, []string{"is formatted for another node", "or remove this one"}},
		"in use": {func(t *testing.T) {
			d, err := metalog.OpenDirectory(metalog.OS(), filepath.Dir(meta), formatCluster, 1001)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
		}, exitUsage, []string{"already in use by another process: end that process", ".lock"}},
		"a file in its way": {write("data/metadata", ""), exitUsage, []string{"data/metadata: not a directory: a file is where"}},
		"read-only": {func(t *testing.T) {
			smallDisk(t, "data", 1<<20)
			if err := unix.Mount("kbench-test", "data", "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
		}, exitUsage, []string{"data/metadata: read-only file system: mount it writable"}},
		"a full disk": {func(t *testing.T) {
			smallDisk(t, "data", 64<<10)
			write("data/metadata/.lock", "")(t)
			fill(t, "data/filler")
		}, exitInvalid, []string{"no space left on device: free some space on its disk"}},
		"an empty meta.properties": {write(meta, ""), exitInvalid, []string{meta + ": the file is empty" + beginAnew}},
		"one that was cut short":   {write(meta, "#\ncluster.id="+formatCluster+"\nnode.id=10"), exitInvalid, []string{meta + ": no version is in it: the file was cut short" + beginAnew}},
		"a log without meta.properties": {
			write("data/metadata/__cluster_metadata-0/00000000000000000000.log", ""), exitInvalid,
			[]string{"meta.properties is missing, but data/metadata/__cluster_metadata-0 holds 00000000000000000000.log of a log: restore the file, or remove the directory"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			c.prepare(t)
			code, text := runNodeFile(t, `{"name": "n", "role": "controller", "mode": "kraft", "clusterId": "`+formatCluster+`", "dataDir": "data",
				"quorum": {"nodeId": 1001, "voters": [{"id": 1001, "host": "127.0.0.1", "port": 4711}]}}`)
			var out, errs bytes.Buffer
			format := run([]string{"node", "format", "--cluster-id", formatCluster, "--node-id", "1001", "--data-dir", "data/metadata"}, &out, &errs)
			for what, got := range map[string]struct {
				code int
				text string
			}{"node": {code, text}, "node format": {format, errs.String()}} {
				if got.code != c.code {
					t.Errorf("%s: exit %d, want %d", what, got.code, c.code)
				}
				for _, want := range c.want {
					if !strings.Contains(got.text, want) {
						t.Errorf("%s says %q, without %q", what, got.text, want)
					}
				}
			}
		})
	}
}
