package docker

import (
	"context"
	"fmt"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
)

var _ provider.Disked = (*Node)(nil)

// diskFile is where a node reads the faults of its disk.
const diskFile = "/etc/kbench/disk.json"

// SetDisk implements provider.Disked. One that has exited finds it when it is
// started again.
func (n *Node) SetDisk(ctx context.Context, f nodeconfig.DiskFault) error {
	if !n.disked {
		return fmt.Errorf("%s has no layer over its disk", n.name)
	}
	if err := n.copyTo(ctx, []inFile{{path: diskFile, data: f.JSON()}}); err != nil {
		return fmt.Errorf("faults of the disk of %s: %w", n.name, err)
	}
	if !n.Running() {
		return nil
	}
	_, err := n.Signal(ctx, provider.Reread)
	return err
}
