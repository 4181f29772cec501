package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/harness/provider"
	"kbench/internal/nodeconfig"
	"kbench/internal/trace"
	"kbench/kafka"
	"kbench/workloads"
)

// dirFailsWithin bounds the wait until a broker finds that a log directory failed:
// it writes there every 5 s.
const dirFailsWithin = 30 * time.Second

// failLogDir makes every fsync in the first log directory of the brokers of every
// subject fail. They find out by themselves and go on without the replicas there,
// until they are started again.
func (in *injector) failLogDir(ctx context.Context, _ workloads.TimedFault, on []subject) (made, error) {
	for _, s := range on {
		_, disked := provider.As[provider.Disked](s.proc)
		if !disked || s.node == nil || !s.node.worker {
			return made{}, fmt.Errorf("%s has no log directories under which there is a layer; name a broker of kbench's", s.proc.Name())
		}
	}
	if err := each(on, func(s subject) error { return in.awaitLogDirs(ctx, s, 0) }); err != nil {
		return made{}, fmt.Errorf("before the fault: %w", err)
	}
	sent := trace.Now()
	heal := func(ctx context.Context) (int64, error) { return in.healLogDir(ctx, on) }
	err := each(on, func(s subject) error {
		d, _ := provider.As[provider.Disked](s.proc)
		if err := d.SetDisk(ctx, nodeconfig.DiskFault{Seq: sent, LogDir: 1}); err != nil {
			return err
		}
		return in.awaitLogDirs(ctx, s, 1)
	})
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), biteWithin)
		defer cancel()
		_, herr := heal(ctx)
		return made{}, errors.Join(err, herr)
	}
	return made{sentNs: sent, end: heal}, nil
}

// healLogDir takes the fault back, and stops and starts the brokers that met it: a
// directory that failed stays so for as long as a broker runs.
func (in *injector) healLogDir(ctx context.Context, on []subject) (int64, error) {
	now := trace.Now()
	err := each(on, func(s subject) error {
		d, _ := provider.As[provider.Disked](s.proc)
		return d.SetDisk(ctx, nodeconfig.DiskFault{Seq: now})
	})
	if err != nil {
		return now, err
	}
	var met []subject
	for _, s := range on {
		if in.countLogDirs(ctx, s, 0) != nil {
			met = append(met, s)
		}
	}
	if len(met) > 0 {
		stopped, err := in.restart(ctx, workloads.TimedFault{}, met)
		if err != nil {
			return now, err
		}
		if _, err := stopped.end(ctx); err != nil {
			return now, err
		}
	}
	return now, each(on, func(s subject) error { return in.awaitLogDirs(ctx, s, 0) })
}

// awaitLogDirs waits until every broker of a process says that so many of its log
// directories have failed, and others have not.
func (in *injector) awaitLogDirs(ctx context.Context, s subject, failed int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, dirFailsWithin, fmt.Errorf("not within %v", dirFailsWithin))
	defer cancel()
	return poll(ctx, fmt.Sprintf("%d of its log directories have failed", failed), func(ctx context.Context) error {
		return in.countLogDirs(ctx, s, failed)
	})
}

// countLogDirs is awaitLogDirs for this moment.
func (in *injector) countLogDirs(ctx context.Context, s subject, failed int) error {
	if !s.proc.Running() {
		return final{errors.New("it has exited")}
	}
	for _, n := range in.c.nodes {
		if n.proc != s.proc {
			continue
		}
		bad, all, err := in.logDirs(ctx, n)
		switch {
		case err != nil:
			return fmt.Errorf("ask broker %d for its log directories: %w", n.id, err)
		case all < 2:
			return final{fmt.Errorf("broker %d has %d log directory, and would end with it", n.id, all)}
		case bad != failed:
			return fmt.Errorf("%d of %d of broker %d have", bad, all, n.id)
		}
	}
	return nil
}

// logDirs counts the log directories of a broker that have failed, and all.
func (in *injector) logDirs(ctx context.Context, n *node) (failed, all int, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := dial(ctx, workloads.Node{ID: n.id, Addr: n.addr, As: in.c.clients})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close() }()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version, req.Topics = 4, []kmsg.DescribeLogDirsRequestTopic{} // nil asks for all replicas
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return 0, 0, err
	}
	got := resp.(*kmsg.DescribeLogDirsResponse)
	for _, d := range got.Dirs {
		if kafka.ErrorCode(d.ErrorCode) == kafka.KafkaStorageError {
			failed++
		}
	}
	return failed, len(got.Dirs), kafka.ErrorCode(got.ErrorCode).Err()
}
