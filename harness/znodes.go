package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kbench/internal/zkhistory"
	"kbench/kafka/ibp"
	"kbench/results"
)

// maxJournal bounds the transaction logs that are read, in bytes: more take
// minutes and gigabytes of a run folder. The znodes of some 500,000 partitions
// that all fail over a few times are less.
const maxJournal = 2 << 30

// journaled is a node of a store whose transaction log is on this machine.
type journaled interface {
	DataDir() string
}

// history gives what a cluster's store was written, and false where its
// transaction logs cannot be read here.
func (s *store) history() (zkhistory.Source, bool) {
	var dirs []string
	for _, n := range s.nodes {
		j, ok := n.(journaled)
		if !ok {
			return nil, false
		}
		dirs = append(dirs, j.DataDir())
	}
	switch {
	case len(dirs) == 0:
		return nil, false
	case s.description == EmbeddedStore:
		return zkhistory.Embedded(dirs[0]), sizeOf(dirs[0]) <= maxJournal
	}
	return zkhistory.ZooKeeper(dirs...), sizeOf(dirs[0]) <= maxJournal
}

// sizeOf adds up the files below a directory.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // files may go meanwhile
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// judgeZnodes judges every write of the cluster's znodes, whoever its controller
// is, and keeps them in the run folder, so that they can be judged again.
func (run *cellRun) judgeZnodes() error {
	source, ok := run.cluster.store.history()
	if !ok {
		return nil
	}
	protocol, err := ibp.Parse(run.spec.Config.ZK.Protocol)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(run.w.Dir(), run.stem()+zkhistory.FileSuffix))
	if err != nil {
		return fmt.Errorf("keep the history of znodes: %w", err)
	}
	r, err := zkhistory.Store(f, source, zkhistory.Rules{NoRecovery: !protocol.LeaderRecovery()})
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	run.out.Checks = append(run.out.Checks, results.Check{Name: r.Name, OK: r.OK(), Looked: r.Looked, Faults: r.Faults, More: r.More})
	return nil
}
