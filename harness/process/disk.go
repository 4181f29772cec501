package process

import (
	"context"
	"errors"
	"fmt"
	"os"

	"kbench/harness/child"
	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
)

var (
	_ provider.Disked  = (*Node)(nil)
	_ provider.Emptied = (*Node)(nil)
)

// Empty implements provider.Emptied.
func (n *Node) Empty(context.Context) error {
	if n.Running() {
		return fmt.Errorf("remove the data of %s: %w", n.Name(), child.ErrRunning)
	}
	return os.RemoveAll(n.DataDir())
}

// SetDisk implements provider.Disked. One that has exited finds it when it is
// started again.
func (n *Node) SetDisk(ctx context.Context, f nodeconfig.DiskFault) error {
	if n.disk == "" {
		return fmt.Errorf("%s has no layer over its disk", n.Name())
	}
	next := n.disk + ".next"
	err := os.WriteFile(next, f.JSON(), 0o644)
	if err = errors.Join(err, os.Rename(next, n.disk)); err != nil {
		return fmt.Errorf("faults of the disk of %s: %w", n.Name(), err)
	}
	if !n.Running() {
		return nil
	}
	_, err = n.Signal(ctx, provider.Reread)
	return err
}
