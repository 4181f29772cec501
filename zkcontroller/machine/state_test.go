package machine

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The README has a row for each legal transition, and for no other.
func TestReadmeListsTransitions(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	check := func(kind string, from, to fmt.Stringer, legal bool) {
		if row := fmt.Sprintf("| %s %v -> %v | ", kind, from, to); strings.Contains(string(data), row) != legal {
			t.Errorf("legal %v: %s", legal, row)
		}
	}
	for from := PartitionNew; from <= PartitionNonExistent; from++ {
		for to := PartitionNew; to <= PartitionNonExistent; to++ {
			check("partition", from, to, from.mayBecome(to))
		}
	}
	for from := ReplicaNew; from <= ReplicaNonExistent; from++ {
		for to := ReplicaNew; to <= ReplicaNonExistent; to++ {
			check("replica", from, to, from.mayBecome(to))
		}
	}
}
