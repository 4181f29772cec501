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

// Empty implements provider.Emptied: the node finds itself configured for a
// directory that was never used, since none but the node reaches the one that was.
func (n *Node) Empty(ctx context.Context) error {
	if n.Running() || n.configure == nil {
		return fmt.Errorf("%s runs, or keeps no data that could be lost", n.name)
	}
	n.emptied++
	files, err := n.configure(ctx, fmt.Sprintf("%s-%d", n.dataDir, n.emptied))
	if err != nil {
		return err
	}
	return n.copyTo(ctx, files)
}

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
