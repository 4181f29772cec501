package zkcontroller

import (
	"context"
	"errors"
	"fmt"

	"kbench/zkcontroller/machine"
	"kbench/zkcontroller/zk"
)

// readReassign reads what a tool asks for. Data that cannot be read counts as
// no partition, so that it is removed: Kafka leaves it, and no further
// reassignment can then be asked for in this way.
func (s *store) readReassign(ctx context.Context, b *machine.ReadReassign) error {
	s.session.Watch(zk.ReassignPath)
	e := s.session.Do(ctx, zk.Exists(zk.ReassignPath))
	if e.Err != nil || !e.Exists {
		return e.Err
	}
	r := s.session.Do(ctx, zk.Get(zk.ReassignPath))
	if errors.Is(r.Err, zk.ErrNoNode) {
		return nil
	}
	if r.Err != nil {
		return r.Err
	}
	b.Found = true
	rs, err := zk.DecodeReassignments(r.Data)
	if err != nil {
		return nil
	}
	for _, x := range rs {
		b.Targets = append(b.Targets, machine.ReassignTarget(x))
	}
	return nil
}

func (s *store) writeReassign(ctx context.Context, b *machine.WriteReassign) error {
	if len(b.Targets) == 0 {
		return s.remove(ctx, 1, func(int) string { return zk.ReassignPath })
	}
	rs := make([]zk.Reassignment, len(b.Targets))
	for i, t := range b.Targets {
		rs[i] = zk.Reassignment(t)
	}
	r := s.session.Do(ctx, zk.Set(zk.ReassignPath, zk.EncodeReassignments(rs), zk.AnyVersion).Fenced(s.fence))
	if errors.Is(r.Err, zk.ErrNoNode) { // somebody removed it meanwhile, which cancels nothing
		return nil
	}
	if r.Err != nil {
		return fmt.Errorf("write %s: %w", zk.ReassignPath, r.Err)
	}
	return nil
}
