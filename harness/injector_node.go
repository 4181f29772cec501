package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/workloads"
)

// disk makes the disk of every subject slow, failing or full. The node's own
// trace tells when its log met the fault, and when an fsync passed again.
func (in *injector) disk(ctx context.Context, f workloads.TimedFault, on []subject) (made, error) {
	sent := trace.Now()
	fault := nodeconfig.DiskFault{
		Seq: sent, FsyncDelay: nodeconfig.Duration(f.Delay),
		FsyncError: f.Fault == workloads.FaultFsyncError, Full: f.Fault == workloads.FaultDiskFull,
	}
	for _, s := range on {
		if _, ok := provider.As[provider.Disked](s.proc); !ok {
			return made{}, fmt.Errorf("%s has no layer over its disk; name a controller of kraft, or the embedded store", s.proc.Name())
		}
	}
	heal := func(ctx context.Context) (int64, error) { return in.healDisk(ctx, on) }
	err := each(on, func(s subject) error {
		d, _ := provider.As[provider.Disked](s.proc)
		if err := d.SetDisk(ctx, fault); err != nil {
			return err
		}
		return awaitTrace(ctx, s.proc, trace.DiskFault, fault.Seq, "its log meets the fault")
	})
	if err != nil {
		back, cancel := undoing(ctx)
		defer cancel()
		_, herr := heal(back)
		return made{}, errors.Join(err, herr)
	}
	return made{sentNs: sent, end: heal}, nil
}

// healDisk takes every fault back, starts what has ended of one, and waits until
// an fsync passed.
func (in *injector) healDisk(ctx context.Context, on []subject) (int64, error) {
	now := trace.Now()
	return now, each(on, func(s subject) error {
		d, ok := provider.As[provider.Disked](s.proc)
		if !ok {
			return nil
		}
		// Looked at first: an engine tells of an exit a moment after it.
		ended := in.ended(ctx, s)
		if err := d.SetDisk(ctx, nodeconfig.DiskFault{Seq: now}); err != nil {
			if ended = ended || in.ended(ctx, s); !ended {
				return err
			}
		}
		if ended || !s.proc.Running() {
			if _, err := in.startAgain(ctx, []subject{s}); err != nil {
				return err
			}
		}
		return awaitTrace(ctx, s.proc, trace.DiskHealed, now, "an fsync of its log passes")
	})
}

// exitWithin bounds the time from a node's last answer until its exit is seen.
const exitWithin = 10 * time.Second

// ended gives a node that fails the moment that it takes to exit.
func (in *injector) ended(ctx context.Context, s subject) bool {
	if s.answers(ctx) == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, exitWithin)
	defer cancel()
	_, _, _ = s.proc.Wait(ctx)
	return !s.proc.Running()
}

// traceWithin bounds the wait for a node's trace to tell something: an idle
// quorum writes twice a second.
const traceWithin = 20 * time.Second

func awaitTrace(ctx context.Context, proc provider.Node, kind trace.Kind, seq int64, what string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, traceWithin, fmt.Errorf("not within %v", traceWithin))
	defer cancel()
	_, err := tells(ctx, proc, what, func(e trace.Event) bool { return e.Kind == kind && e.N == seq })
	return err
}

// tells waits until a node's trace has an event that is meant and gives the first.
func tells(ctx context.Context, proc provider.Node, what string, meant func(trace.Event) bool) (told trace.Event, err error) {
	err = poll(ctx, what, func(ctx context.Context) error {
		r, err := proc.Trace(ctx)
		if err != nil {
			return err
		}
		events, err := trace.Read(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		i := slices.IndexFunc(events, meant)
		if i < 0 {
			return errors.New("its trace does not tell of it")
		}
		told = events[i]
		return nil
	})
	return told, err
}

// limitCPU bounds the processor time of every subject; the kernel's counts tell
// whether the bound is in force.
func (in *injector) limitCPU(ctx context.Context, f workloads.TimedFault, on []subject) (made, error) {
	sent := trace.Now()
	limited := func(s subject) (provider.Limited, error) {
		l, ok := provider.As[provider.Limited](s.proc)
		if !ok {
			return nil, errors.New("its processor time cannot be bounded here")
		}
		return l, nil
	}
	heal := func(ctx context.Context) (int64, error) {
		now := trace.Now()
		return now, each(on, func(s subject) error {
			l, err := limited(s)
			if err != nil {
				return nil
			}
			if err := l.LimitCPU(ctx, 0); err != nil {
				return err
			}
			return awaitPeriods(ctx, l, false)
		})
	}
	err := each(on, func(s subject) error {
		l, err := limited(s)
		if err != nil {
			return err
		}
		if err := l.LimitCPU(ctx, f.CPUPercent); err != nil {
			return err
		}
		return awaitPeriods(ctx, l, true)
	})
	if err != nil {
		back, cancel := undoing(ctx)
		defer cancel()
		_, herr := heal(back)
		return made{}, errors.Join(err, herr)
	}
	return made{sentNs: sent, end: heal}, nil
}

// periodsWithin bounds the wait for the kernel to count periods under a quota: it
// does so while the node does anything.
const periodsWithin = 20 * time.Second

// awaitPeriods waits until the kernel counts periods under a quota, or until it
// has counted none for some.
func awaitPeriods(ctx context.Context, l provider.Limited, want bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, periodsWithin, fmt.Errorf("not within %v", periodsWithin))
	defer cancel()
	first, _, err := l.CPUPeriods(ctx)
	if err != nil {
		if !want { // a group that is gone counts nothing
			return nil
		}
		return err
	}
	what := "the kernel counts periods under its quota"
	if !want {
		what = "the kernel counts none any more"
	}
	return poll(ctx, what, func(ctx context.Context) error {
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		next, _, err := l.CPUPeriods(ctx)
		if err != nil {
			return err
		}
		counted := next > first
		first = next
		if counted != want {
			return fmt.Errorf("%d periods", next)
		}
		return nil
	})
}

// expire has the session of every subject expire while it runs on: it is cut off
// from ZooKeeper until its registration is gone, and back when another is there.
func (in *injector) expire(ctx context.Context, _ workloads.TimedFault, on []subject) (made, error) {
	conn, _, err := zk.Connect(in.c.store.servers, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		return made{}, err
	}
	path := func(s subject) string { return fmt.Sprintf("/brokers/ids/%d", s.idOf()) }
	owners := map[string]int64{}
	for _, s := range on {
		there, stat, err := conn.Exists(path(s))
		if err != nil || !there {
			conn.Close()
			return made{}, errors.Join(fmt.Errorf("%s has no registration %s", s.proc.Name(), path(s)), err)
		}
		owners[s.proc.Name()] = stat.EphemeralOwner
	}
	m, err := in.cut(ctx, workloads.TimedFault{Fault: workloads.FaultCut}, on)
	if err != nil {
		conn.Close()
		return made{}, err
	}
	gone := each(on, func(s subject) error {
		return poll(ctx, "its session has expired", func(context.Context) error {
			there, stat, err := conn.Exists(path(s))
			if err == nil && there && stat.EphemeralOwner == owners[s.proc.Name()] {
				err = errors.New("its registration is still there")
			}
			return err
		})
	})
	end := func(ctx context.Context) (int64, error) {
		defer conn.Close()
		now, err := m.end(ctx)
		if err != nil {
			return now, err
		}
		return now, each(on, func(s subject) error {
			return poll(ctx, "it has a session again", func(context.Context) error {
				there, stat, err := conn.Exists(path(s))
				if err == nil && (!there || stat.EphemeralOwner == owners[s.proc.Name()]) {
					err = errors.New("it has not registered")
				}
				return err
			})
		})
	}
	if gone != nil { // a session that went on is followed by none
		defer conn.Close()
		ctx, cancel := undoing(ctx)
		defer cancel()
		_, eerr := m.end(ctx)
		return made{}, errors.Join(gone, eerr)
	}
	return made{sentNs: m.sentNs, end: end}, nil
}

// silent drops what the client of ZooKeeper says.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}
