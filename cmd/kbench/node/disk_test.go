package node

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"kbench/internal/diskfault"
	"kbench/internal/nodeconfig"
	"kbench/kraftcontroller/metalog"
)

// A fault of a log directory meets that number of every broker and no other file
// of the node.
func TestLogDirDisks(t *testing.T) {
	root := t.TempDir()
	cfg := &nodeconfig.Config{DataDir: root, Brokers: []nodeconfig.Broker{
		{ID: 1, LogDirs: []string{"1/a"}},
		{ID: 2, LogDirs: []string{"2/a", filepath.Join(root, "2/b")}},
	}}
	p := &process{cfg: cfg, disk: diskfault.New(func(diskfault.Bite) {}), dirs: newLogDirDisks(cfg.Brokers)}
	fails := func(path string, layer metalog.FS) bool {
		t.Helper()
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		err := metalog.WriteAtomic(layer, filepath.Join(path, "file"), []byte("x"))
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		return err != nil
	}
	for _, failed := range []int{0, 1, 2, 0} {
		f := nodeconfig.DiskFault{Seq: 1, LogDir: failed}
		p.disk.Set(f)
		p.dirs.set(f)
		for _, b := range cfg.Brokers {
			dirs := p.logDirs(b)
			if len(dirs) != len(b.LogDirs) {
				t.Fatalf("broker %d has %d directories", b.ID, len(dirs))
			}
			for i, d := range dirs {
				if filepath.Dir(filepath.Dir(d.Path)) != root {
					t.Errorf("directory %s is not in %s", d.Path, root)
				}
				if got := fails(d.Path, d.FS); got != (i+1 == failed) {
					t.Errorf("directory %d fails: broker %d, directory %d: %v", failed, b.ID, i+1, got)
				}
			}
		}
		if fails(root, p.metalogFS()) {
			t.Errorf("directory %d fails: the node's own log does too", failed)
		}
	}
}
