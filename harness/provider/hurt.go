package provider

import (
	"context"

	"kbench/internal/nodeconfig"
)

// Limited is a Node whose processor time can be bounded.
type Limited interface {
	Node
	// LimitCPU bounds the node's processor time to percent of one processor, over
	// periods of 100 ms; 0 undoes it. Its error says what the system refused.
	LimitCPU(ctx context.Context, percent int) error
	// CPUPeriods are the periods in which the node ran under its bound, and those
	// in which it was made to wait, as the kernel counts them.
	CPUPeriods(ctx context.Context) (periods, throttled int64, err error)
}

// Disked is a Node with a file layer in which faults can be injected.
type Disked interface {
	Node
	// SetDisk makes f all that is wrong with the node's disk; the zero value is
	// nothing. The node's trace tells what came of it.
	SetDisk(ctx context.Context, f nodeconfig.DiskFault) error
}

// Emptied is a Node whose disk can be replaced.
type Emptied interface {
	Node
	// Empty leaves a node that has exited nothing of its data, so that its next
	// start is that of a new machine with its id: formatted where real Kafka has
	// to be. It is an error where the node runs.
	Empty(ctx context.Context) error
}

// Described is a Node that says what it runs from, for notes.
type Described interface {
	Node
	Description() string
}

// As finds what a node can beside a Node's methods, through what is put around
// it.
func As[T any](n Node) (T, bool) {
	for {
		if t, ok := n.(T); ok {
			return t, true
		}
		around, ok := n.(interface{ Unwrap() Node })
		if !ok {
			var none T
			return none, false
		}
		n = around.Unwrap()
	}
}
