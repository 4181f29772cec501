package onelog

import (
	"flag"
	"fmt"
	"testing"

	"kbench/internal/sim/plant"
)

const sourceDir = "../../../kraftcontroller/metalog"

// plantedBugs are mistakes that a log is written with.
var plantedBugs = []plant.Bug{
	{
		Name:       "snapshot-off-a-batch-boundary",
		Edits:      []plant.Edit{{"snapshot.go", "case h.EndOffset != id.EndOffset:", "case h.EndOffset < id.EndOffset:"}},
		Invariants: []string{"SnapshotOnBoundary"},
	},
	{
		Name:       "snapshot-of-another-epoch",
		Edits:      []plant.Edit{{"snapshot.go", "case h.Epoch != id.Epoch:", "case h.Epoch > id.Epoch:"}},
		Invariants: []string{"SnapshotOnBoundary"},
	},
	{
		Name:       "snapshot-is-not-synced",
		Edits:      []plant.Edit{{"snapshot.go", "\tif err := s.log.syncFile(s.file); err != nil {\n\t\treturn s.fail(syncing, err)\n\t}\n\terr := s.file.Close()\n", "\terr := s.file.Close()\n"}},
		Invariants: []string{"SnapshotCovers", "Opens"},
	},
	{
		Name:       "log-goes-on-without-its-snapshot",
		Edits:      []plant.Edit{{"snapshot.go", "return l.DropPrefix(id.EndOffset)", "return l.DropPrefix(id.EndOffset + 8)"}},
		Invariants: []string{"SnapshotCovers"},
	},
	{
		Name:       "new-file-without-a-name",
		Edits:      []plant.Edit{{"append.go", "\tif err == nil && dirDirty {\n\t\terr = l.syncDir()\n\t}\n", "\t_ = dirDirty\n"}},
		Invariants: []string{"AckedDurable", "Opens", "Prefix"},
	},
	{
		Name:       "full-file-is-not-synced",
		Edits:      []plant.Edit{{"append.go", "\tif err := l.syncFile(active.file); err != nil {\n\t\treturn nil, err\n\t}\n", ""}},
		Invariants: []string{"AckedDurable", "Opens", "Prefix"},
	},
	{
		Name:       "torn-batch-is-believed",
		Edits:      []plant.Edit{{"recovery.go", "return h, h.Verify(body), nil", "_ = body\n\treturn h, nil, nil"}},
		Invariants: []string{"ReadsWhatWasWritten", "Prefix", "Opens"},
	},
	{
		Name:       "failed-fsync-is-forgotten",
		Edits:      []plant.Edit{{"append.go", "return l.fail(fmt.Errorf(\"flush metadata log: %w\", err))", "return fmt.Errorf(\"flush metadata log: %w\", err)"}},
		Invariants: []string{"FailureIsFinal"},
	},
	{
		Name:       "failed-fsync-of-a-snapshot-is-forgotten",
		Edits:      []plant.Edit{{"snapshot.go", "return s.log.fail(err)", "return err"}},
		Invariants: []string{"FailureIsFinal"},
	},
	{
		Name:       "cut-before-the-next-file-is-gone-for-good",
		Edits:      []plant.Edit{{"log.go", "l.removeIndexes(s), l.syncDir())", "l.removeIndexes(s))"}},
		Invariants: []string{"Opens"},
	},
	{
		Name:       "truncated-epochs-are-still-told",
		Edits:      []plant.Edit{{"append.go", "\tif err := l.tellEpochs(); err != nil {\n\t\treturn err\n\t}\n\tfor n :=", "\tfor n :="}},
		Invariants: []string{"Opens"},
	},
}

// TestPlantedBugsApply keeps the planted bugs up with the source. That they are
// found is what TestTeeth shows, which builds every one (tag teeth).
func TestPlantedBugsApply(t *testing.T) { plant.Check(t, sourceDir, plantedBugs) }

var huntFlag = flag.Int("hunt", 0, "simulate up to so many seeds until the first violation and print it as TestTeeth reads it")

// TestHunt is what TestTeeth runs in the binaries that it builds.
func TestHunt(t *testing.T) {
	if *huntFlag == 0 {
		t.Skip("runs in the binaries of TestTeeth only")
	}
	for i := range *huntFlag {
		seed := *firstFlag + uint64(i)
		if v := Run(Options{Seed: seed, Events: events}).Violation; v != nil {
			fmt.Printf("HUNT %d %s %s\n", seed, v.Invariant, v)
			return
		}
	}
	fmt.Println("HUNT none")
}
