package report

import (
	"strings"
	"testing"
)

// What is not known of a node, such as the heap and the data of a JVM in a
// container, is no zero.
func TestResourcesThatAreNotKnown(t *testing.T) {
	rep := &Report{Resources: []NodeUse{{Cell: "zk.base", Node: "zookeeper-1", PeakRSS: 1 << 20}}}
	row := rep.resourceSection().Parts[0].Fold.Parts[0].Table.Rows[0].Cells
	if got := strings.Join(row[6:], " "); got != "– – 0 B –" {
		t.Errorf("heap, goroutines, written and data are %q", got)
	}
}
