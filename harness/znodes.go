package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kbench/harness/provider"
	"kbench/internal/zkhistory"
	"kbench/kafka/ibp"
)

// maxJournal bounds the logs of a store or of a voter that are read, in bytes:
// more take minutes and gigabytes of a run folder. The znodes of some 500,000
// partitions that all fail over a few times are less, records even more so.
const maxJournal = 2 << 30

// journaled is a node whose data are on this machine.
type journaled interface {
	DataDir() string
}

// history gives what a cluster's store was written; where its transaction logs
// are not read, why says so.
func (s *store) history() (source zkhistory.Source, why string) {
	var dirs []string
	for _, n := range s.nodes {
		j, ok := provider.As[journaled](n)
		if !ok {
			return nil, "the transaction logs of " + s.description + " are not on this machine's file system"
		}
		dirs = append(dirs, j.DataDir())
	}
	if n := sizeOf(dirs[0]); n > maxJournal {
		return nil, fmt.Sprintf("the transaction logs have %d MiB, more than %d", n>>20, maxJournal>>20)
	}
	if s.description == EmbeddedStore {
		return zkhistory.Embedded(dirs[0]), ""
	}
	return zkhistory.ZooKeeper(dirs...), ""
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
func (run *cellRun) judgeZnodes(ctx context.Context) error {
	if len(run.cluster.store.nodes) == 0 {
		return nil
	}
	source, why := run.cluster.store.history()
	if source == nil {
		run.unjudged(zkhistory.ResultName, why)
		return nil
	}
	protocol, err := ibp.Parse(run.spec.Config.ZK.Protocol)
	if err != nil {
		return err
	}
	traced, err := run.cluster.Events(ctx)
	if err != nil {
		return fmt.Errorf("keep the history of znodes: %w", err)
	}
	f, err := os.Create(filepath.Join(run.w.Dir(), run.stem()+zkhistory.FileSuffix))
	if err != nil {
		return fmt.Errorf("keep the history of znodes: %w", err)
	}
	r, err := zkhistory.Store(f, source, zkhistory.Rules{NoRecovery: !protocol.LeaderRecovery()}, traced)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	run.checked(r)
	return nil
}
