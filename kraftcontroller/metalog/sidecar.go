package metalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"kbench/kafka"
)

const (
	epochCheckpointName   = "leader-epoch-checkpoint"
	partitionMetadataName = "partition.metadata"
)

// writePartitionMetadata writes the file by which Kafka's tools know the topic. It
// is not read back.
func (l *Log) writePartitionMetadata() error {
	path := filepath.Join(l.cfg.Dir, partitionMetadataName)
	_, err := l.cfg.FS.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text := fmt.Sprintf("version: 0\ntopic_id: %s", kafka.MetadataTopicID)
		err = replace(l.cfg.FS, path, []byte(text), !l.cfg.NoSync)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// tellEpochs brings leader-epoch-checkpoint up to date. It names an epoch once the
// first record of it is durable, and no longer than the log holds it, so that
// checkNothingLost can count on it. Kafka writes it a little sooner, before the
// record.
func (l *Log) tellEpochs() error {
	durable := l.synced
	if l.cfg.NoSync {
		durable = l.end()
	}
	n := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Start >= durable })
	if slices.Equal(l.told, l.epochs[:n]) {
		return nil
	}
	return l.writeEpochCheckpoint(l.epochs[:n])
}

// writeEpochCheckpoint writes leader-epoch-checkpoint: version 0, the number of
// epochs, and a line of epoch and start offset for each.
func (l *Log) writeEpochCheckpoint(epochs []EpochStart) error {
	text := fmt.Appendf(nil, "0\n%d\n", len(epochs))
	for _, e := range epochs {
		text = fmt.Appendf(text, "%d %d\n", e.Epoch, e.Start)
	}
	path := filepath.Join(l.cfg.Dir, epochCheckpointName)
	if err := replace(l.cfg.FS, path, text, !l.cfg.NoSync); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	l.told = slices.Clone(epochs)
	return nil
}

// readEpochCheckpoint gives what the file says; false where it is not there or
// cannot be understood, which is no error: the log itself has it all.
func (l *Log) readEpochCheckpoint() ([]EpochStart, bool, error) {
	b, err := l.cfg.FS.ReadFile(filepath.Join(l.cfg.Dir, epochCheckpointName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	version, rest, _ := strings.Cut(string(b), "\n")
	count, rest, _ := strings.Cut(rest, "\n")
	if version != "0" {
		return nil, false, nil
	}
	var epochs []EpochStart
	for line := range strings.Lines(rest) {
		var e EpochStart
		if n, err := fmt.Sscanf(line, "%d %d\n", &e.Epoch, &e.Start); n != 2 || err != nil {
			return nil, false, nil
		}
		epochs = append(epochs, e)
	}
	if count != strconv.Itoa(len(epochs)) {
		return nil, false, nil
	}
	return epochs, true, nil
}
