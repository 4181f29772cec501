package provider

import (
	"context"

	"kbench/harness/netfault/agent"
)

// Networked is a Node in whose network faults can be made: that of a provider
// after Separate.
type Networked interface {
	Node
	// Agent is what makes faults in the node's network and looks what passes.
	// It is started by the first call, belongs to the provider, and stays until
	// the node's network ends.
	Agent(ctx context.Context) (*agent.Client, error)
}
