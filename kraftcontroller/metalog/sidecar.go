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
	if _, err := l.cfg.FS.ReadFile(path); err == nil || !errors.Is(err, os.ErrNotExist) {
		if err != nil {
			return err
		}
		return l.WriteEpochCheckpoint()
	}
	text := fmt.Sprintf("version: 0\ntopic_id: %s", kafka.MetadataTopicID)
	if err := WriteAtomic(l.cfg.FS, path, []byte(text)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return l.WriteEpochCheckpoint()
}

// WriteEpochCheckpoint writes leader-epoch-checkpoint as the epochs are now:
// version 0, their number, and a line of epoch and start offset for each.
func (l *Log) WriteEpochCheckpoint() error {
	epochs := l.Epochs()
	text := fmt.Appendf(nil, "0\n%d\n", len(epochs))
	for _, e := range epochs {
		text = fmt.Appendf(text, "%d %d\n", e.Epoch, e.Start)
	}
	path := filepath.Join(l.cfg.Dir, epochCheckpointName)
	if err := WriteAtomic(l.cfg.FS, path, text); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
