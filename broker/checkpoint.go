package broker

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"kbench/broker/replica"
	"kbench/kraftcontroller/metalog"
)

// checkpointName is the file with the high watermarks of a log directory. This
// broker writes it, as Kafka does, and so finds that a directory fails; it does
// not read it, since its logs begin empty after a restart.
const checkpointName = "replication-offset-checkpoint"

// runCheckpoints writes the checkpoint of every directory that works until ctx
// ends. A directory in which that fails is offline from then on.
func (b *Broker) runCheckpoints(ctx context.Context) {
	t := time.NewTicker(b.cfg.CheckpointInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		marks := b.replicas.Checkpoints()
		for i := range b.dirs.dirs {
			d := &b.dirs.dirs[i]
			if b.dirs.idOf(i+1).IsZero() || b.dirs.isOffline(i+1) { // not opened yet, or failed
				continue
			}
			if err := metalog.WriteAtomic(d.FS, filepath.Join(d.Path, checkpointName), encodeCheckpoint(marks[i])); err != nil {
				b.failDir(ctx, i+1, fmt.Errorf("write %s: %w", checkpointName, err))
			}
		}
	}
}

// encodeCheckpoint gives a checkpoint file, version 0: the number of entries, and
// one a line.
func encodeCheckpoint(marks []replica.Checkpoint) []byte {
	out := fmt.Appendf(nil, "0\n%d\n", len(marks))
	for _, m := range marks {
		out = fmt.Appendf(out, "%s %d %d\n", m.Topic, m.Partition, m.Offset)
	}
	return out
}
