package metalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kbench/kafka"
)

const (
	epochCheckpointName   = "leader-epoch-checkpoint"
	partitionMetadataName = "partition.metadata"
)

// writeSidecars writes the two small files that Kafka's tools expect beside the
// segments. Neither is read back: what they say is in the segments.
func (l *Log) writeSidecars() error {
	path := filepath.Join(l.cfg.Dir, partitionMetadataName)
	_, err := l.cfg.FS.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text := fmt.Sprintf("version: 0\ntopic_id: %s", kafka.MetadataTopicID)
		err = replace(l.cfg.FS, path, []byte(text), !l.cfg.NoSync)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return l.writeEpochCheckpoint(l.epochs)
}

// writeEpochCheckpoint writes leader-epoch-checkpoint: version 0, the number of
// epochs, and a line of epoch and start offset for each. Kafka writes it whenever
// an epoch begins or goes.
func (l *Log) writeEpochCheckpoint(epochs []EpochStart) error {
	text := fmt.Appendf(nil, "0\n%d\n", len(epochs))
	for _, e := range epochs {
		text = fmt.Appendf(text, "%d %d\n", e.Epoch, e.Start)
	}
	path := filepath.Join(l.cfg.Dir, epochCheckpointName)
	if err := replace(l.cfg.FS, path, text, !l.cfg.NoSync); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
