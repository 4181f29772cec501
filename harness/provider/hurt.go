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
