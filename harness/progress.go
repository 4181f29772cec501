package harness

import (
	"time"

	"kbench/harness/spec"
	"kbench/kafka"
	"kbench/results"
	"kbench/workloads"
)

// Progress is where a run is. It is a copy: its slices and pointers belong to
// who gets it.
type Progress struct {
	Cell, Cells int    // from 1, repeats counted
	ID          string // of the cell
	Target      string
	Variant     string
	Partitions  int
	Phase       string // up, populate, workload, verify, down, or the kind of a workload that begins
	Work        workloads.Progress
	Elapsed     time.Duration // of the cell

	// Controller is the active one as the last health gate found it.
	Controller Controller
	// Faults are those that were made and not undone yet, oldest first.
	Faults []ActiveFault
	// Headline sums up the workload under way; N is 0 before its first value.
	Headline Headline
	// Valid and Invalid count the trials of the cell that are over.
	Valid, Invalid int
	// Trial is the trial whose end this update tells of, nil in all others.
	Trial *workloads.Trial
}

// Controller is an active controller.
type Controller struct {
	ID    kafka.BrokerID // 0 while none is known
	Epoch int32          // controller epoch (zk) or leader epoch of the metadata log (kraft); -1 while not known
}

// ActiveFault is a fault that a node is under.
type ActiveFault struct {
	Node  kafka.BrokerID
	Fault workloads.Fault
	Since time.Time
}

// Headline is the headline metric of a workload so far, from values that are
// not all judged yet: a trial under way may still turn out to be invalid.
type Headline struct {
	Metric string // with its phase: controlled-shutdown.moved
	Unit   results.Unit
	N      int64
	// P50, P99 and Max are in Unit, the percentiles within three digits; P99 is
	// NaN where N does not support it.
	P50, P99, Max float64
}

// newProgress is the start of a cell.
func newProgress(c spec.Cell, n, total int) Progress {
	return Progress{
		Cell: n, Cells: total, ID: c.ID, Target: string(c.Target), Variant: c.Variant,
		Partitions: c.Config.Cluster.Partitions, Controller: Controller{Epoch: -1},
	}
}
