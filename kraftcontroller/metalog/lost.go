package metalog

import (
	"errors"
	"fmt"
	"path/filepath"

	"kbench/kafka"
)

// ErrLost says that records are gone that were durable once: a voter without them
// would vote for a leader that lacks them too, and acknowledge them no more.
var ErrLost = errors.New("records of the metadata log are lost")

// checkNothingLost refuses a log whose directory says that it held more than is
// found, before anything there is changed. What a crash takes is never durable,
// and nothing else in the directory tells of it:
//
//   - leader-epoch-checkpoint names an epoch when its first record is durable, and
//     forgets it before a truncation takes that record away;
//   - every other file but the snapshot of formatting is written when the first
//     segment has its name, and a segment goes without a next one only where a
//     snapshot has taken its place.
//
// Within the last epoch a loss that leaves its first record cannot be told from a
// torn end. A log without fsync loses what a crash has it lose, and nobody counts
// on it.
func (l *Log) checkNothingLost(names []string) error {
	if l.cfg.NoSync {
		return nil
	}
	reach := l.end()
	latest, hasSnapshot := l.latestSnapshot()
	if hasSnapshot {
		reach = max(reach, latest.EndOffset)
	}
	if n := len(l.told); n > 0 && (l.told[n-1].Start >= reach || len(l.segments) == 0) {
		last := l.told[n-1]
		return l.lost(epochCheckpointName, fmt.Sprintf("has epoch %d from offset %d", last.Epoch, last.Start), reach)
	}
	if len(l.segments) > 0 || reach > 0 {
		return nil
	}
	for _, name := range names {
		if name == epochCheckpointName || name == partitionMetadataName || name == quorumStateName {
			return l.lost(name, "is that of a log that was begun", reach)
		}
	}
	return nil
}

func (l *Log) lost(file, says string, reach kafka.Offset) error {
	found := fmt.Sprintf("records and snapshots end at offset %d", reach)
	if len(l.segments) == 0 {
		found = "there is no log file"
		if reach > 0 {
			found += fmt.Sprintf(", and the snapshots end at offset %d", reach)
		}
	}
	return fmt.Errorf("%w: %s %s, but %s: %s", ErrLost, filepath.Join(l.cfg.Dir, file), says, found, StartAnew)
}
